"""Where the command line writes: results to stdout, progress and remarks to stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from tracemill_analysis.importers.base import Progress as ProgressCallback
from tracemill_analysis.importers.base import no_progress

stderr = Console(stderr=True, highlight=False, markup=False)


def remark(text: str) -> None:
    """Write one line to stderr, unwrapped, so that scripts can read it."""
    print(f"tracemill: {text}", file=sys.stderr, flush=True)


@contextmanager
def progress_bar(title: str) -> Iterator[ProgressCallback]:
    """Show a progress bar on stderr while the block runs; nothing when stderr is no terminal."""
    if not sys.stderr.isatty():
        yield no_progress
        return
    columns = (
        TextColumn(title, markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[what]}", markup=False),
    )
    with Progress(*columns, console=stderr, transient=True) as bar:
        task = bar.add_task(title, total=None, what="")

        def report(text: str, fraction: float) -> None:
            total = None if fraction < 0 else 1.0
            bar.update(task, total=total, completed=max(fraction, 0.0), what=text[-48:])

        yield report
