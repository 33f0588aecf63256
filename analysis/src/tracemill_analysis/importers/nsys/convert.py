"""Turns one process of an Nsight Systems export into its event tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from tracemill_schema.vocab import DropReason

from tracemill_analysis.events import EventWriter
from tracemill_analysis.importers.base import (
    DropCounter,
    Found,
    ProcessResult,
    Progress,
    WorkItem,
    no_progress,
)
from tracemill_analysis.importers.clock import clock_name
from tracemill_analysis.importers.nsys.events import NsysEvents
from tracemill_analysis.importers.nsys.facts import device_name, stop_ns, unix_offset_ns
from tracemill_analysis.importers.nsys.metrics import write_metrics
from tracemill_analysis.importers.nsys.opening import (
    open_parquet_folder,
    open_sqlite,
    owners,
    processes,
)
from tracemill_analysis.importers.nsys.strings import Strings
from tracemill_analysis.importers.nsys.tables import Tables, pid_of
from tracemill_analysis.store import Store, scratch_folder

SQLITE_FORMAT = "nsys-sqlite"
PARQUET_FORMAT = "nsys-parquet"

Opener = Callable[[Sequence[Path], str, DropCounter], AbstractContextManager[Tables]]
_OPENERS: dict[str, Opener] = {SQLITE_FORMAT: open_sqlite, PARQUET_FORMAT: open_parquet_folder}


def probe(export_format: str, paths: Sequence[Path], name: str) -> list[Found]:
    """Return the processes of an export. InputError if it cannot be read or has none."""
    with _OPENERS[export_format](paths, name, DropCounter()) as tables:
        return processes(tables, name)


def convert(
    item: WorkItem, store: Store, job: str, progress: Progress = no_progress
) -> ProcessResult:
    """Write the event tables of the process ``item.part`` of an export.

    Tables are read row batch by row batch; memory does not grow with the file but for the ids of
    its texts. A table ends where it is damaged; that and rows without usable times are counted.
    Host, user, command line and environment, which exports contain, are not read.

    Raises InputError if the export cannot be opened.
    """
    drops = DropCounter()
    files = item.files(store)
    name = item.source_name
    process = item.part or 0
    with (
        _OPENERS[item.format](files, name, drops) as tables,
        scratch_folder() as folder,
        EventWriter(folder) as writer,
    ):
        # Rows that name no process go with the first one: they must be counted once.
        first = min(p for p in owners(tables) if p is not None) == process
        events = NsysEvents(
            tables, writer, drops, Strings(tables, writer.strings), process, takes_orphans=first
        )
        events.run(stop_ns(tables), lambda share: progress(name, share))
        offset_ns = unix_offset_ns(tables, events.first_ns)
        summary = writer.finish(store, job, item, drops, offset_ns)
        metrics = write_metrics(tables, store, job, item, drops, offset_ns) if first else None
        gpu = device_name(tables, process, summary.devices)
    starts = [summary.start_ns, *([metrics.start_ns] if metrics else [])]
    ends = [summary.end_ns, *([metrics.end_ns] if metrics else [])]
    start_ns = min((s for s in starts if s is not None), default=None)
    progress(name, 1.0)
    kept = events.kept - summary.duplicates + (metrics.kept if metrics else 0)
    return ProcessResult(
        item=item,
        # What was damaged never came as a row.
        events_read=events.read
        + (metrics.read if metrics else 0)
        + drops.counts.get(DropReason.DAMAGED, 0),
        events_kept=kept,
        drops=drops,
        start_ns=start_ns,
        end_ns=max((e for e in ends if e is not None), default=None),
        clock=clock_name(start_ns),
        devices=tuple(sorted(summary.devices)),
        clock_offset_ns=offset_ns,
        pid=pid_of(process),
        framework="PyTorch" if events.pytorch else None,
        device_name=gpu,
    )
