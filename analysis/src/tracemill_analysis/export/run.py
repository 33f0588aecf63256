"""Writes an export: process by process, to a file that appears when it is whole."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from tracemill_schema.errors import StoreError, UsageError
from tracemill_schema.vocab import Completeness

from tracemill_analysis.export.chrome import ChromeProcess
from tracemill_analysis.export.perfetto import PerfettoProcess
from tracemill_analysis.export.selection import Selection
from tracemill_analysis.export.source import open_process
from tracemill_analysis.findings.tables import Row
from tracemill_analysis.importers.base import Progress, no_progress
from tracemill_analysis.manifest import read_manifest
from tracemill_analysis.store import Store, scratch_folder


@dataclass(frozen=True)
class Exported:
    """What was written: the files, and events by table; ``flows`` are arrows launch → run."""

    paths: tuple[Path, ...]
    counts: dict[str, int]


def export_job(
    store: Store,
    job: str,
    selection: Selection,
    path: Path,
    fmt: str = "perfetto",
    progress: Progress = no_progress,
) -> Exported:
    """Export a job's events; memory does not grow with their number.

    ``perfetto`` writes one file with all processes. ``chrome`` writes one file per process: to
    ``path``, or into the folder ``path`` if there are several. A name that ends in ``.gz`` is
    compressed. Raises StoreError if tables cannot be read or the file not written.
    """
    if fmt not in _WRITERS:
        raise UsageError(f"format {fmt!r}: take one of {', '.join(_WRITERS)}")
    row = read_manifest(store, job).job
    marks = " [SIMULATED]" * bool(row["simulated"])
    marks += " [PARTIAL]" * (row["completeness"] != Completeness.COMPLETE)
    counts: Counter[str] = Counter()
    paths = _WRITERS[fmt](_Work(store, job, selection, marks, counts, progress), path)
    if not sum(counts.values()):
        for written in paths:
            written.unlink()
        raise UsageError(f"job {job}: no event lies in the chosen window and ranks")
    return Exported(tuple(paths), dict(sorted(counts.items())))


@dataclass(frozen=True)
class _Work:
    store: Store
    job: str
    selection: Selection
    marks: str
    counts: Counter[str]
    progress: Progress

    def label(self, process: Row) -> str:
        """Name a process for people."""
        rank = f"rank {process['rank']}" if process["rank"] is not None else "process"
        pid = f", pid {process['pid']}" if process["pid"] is not None else ""
        return f"{rank} on {process['node']}{pid}{self.marks}"

    def each(self) -> Iterator[tuple[int, Row]]:
        """Yield the processes with their number, from 1."""
        total = len(self.selection.processes)
        for number, process in enumerate(self.selection.processes, 1):
            self.progress(self.label(process), (number - 1) / total)
            yield number, process
        self.progress("done", 1.0)

    def write(self, process: Row, writer: PerfettoProcess | ChromeProcess) -> None:
        """Write one process's events."""
        window = self.selection.window(process)
        with (
            scratch_folder() as folder,
            open_process(self.store, self.job, process["process_id"], folder, *window) as events,
        ):
            writer.write(events)


def _perfetto(work: _Work, path: Path) -> list[Path]:
    with _new_file(path) as output:
        for number, process in work.each():
            label = work.label(process)
            writer = PerfettoProcess(output, work.job, process, number, label, work.counts)
            work.write(process, writer)
    return [path]


def _chrome(work: _Work, path: Path) -> list[Path]:
    several = len(work.selection.processes) > 1
    if several and path.is_file():
        raise UsageError(f"{path}: several ranks are written into a folder, this is a file")
    written = []
    for _, process in work.each():
        target = path / _file_name(process) if several else path
        with _new_file(target, make_folder=several) as output:
            work.write(process, ChromeProcess(output, process, work.label(process), work.counts))
        written.append(target)
    return written


def _file_name(process: Row) -> str:
    if process["rank"] is None:
        return f"process_{process['process_id']}.json"
    return f"rank_{process['rank']}.json"


_WRITERS: dict[str, Callable[[_Work, Path], list[Path]]] = {
    "perfetto": _perfetto,
    "chrome": _chrome,
}
EXPORT_FORMATS = tuple(_WRITERS)


@contextmanager
def _new_file(path: Path, *, make_folder: bool = False) -> Iterator[BinaryIO]:
    """Open a file that gets its name when the block ends without an error."""
    try:
        if make_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise StoreError(f"{path}: is a folder, a file name is needed")
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".tracemill-")
    except OSError as error:
        raise StoreError(f"{path}: cannot write the export: {error.strerror}") from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as plain:
            if path.suffix == ".gz":
                # No time in the header: the same events give the same bytes.
                with gzip.GzipFile("", "wb", 6, plain, mtime=0) as packed:
                    yield cast(BinaryIO, packed)
            else:
                yield cast(BinaryIO, plain)
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        raise StoreError(f"{path}: cannot write the export: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)
