"""Where the command line writes: results to stdout, progress and remarks to stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from tracemill_analysis.importers.base import Progress as ProgressCallback
from tracemill_analysis.importers.base import no_progress
from tracemill_schema.errors import StoreError

stderr = Console(stderr=True, highlight=False, markup=False)


def remark(text: str) -> None:
    """Write one line to stderr, unwrapped, so that scripts can read it."""
    print(f"tracemill: {text}", file=sys.stderr, flush=True)


def write_result(content: bytes, output: str | None, what: str) -> None:
    """Write UTF-8 text to stdout, or to a file and say so; StoreError if the file cannot be."""
    if output is None:
        sys.stdout.write(content.decode())
        return
    path = Path(output).expanduser()
    try:
        path.write_bytes(content)
    except OSError as error:
        raise StoreError(f"{path}: cannot write the {what}: {error.strerror}") from error
    remark(f"{what} written to {path}")


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
