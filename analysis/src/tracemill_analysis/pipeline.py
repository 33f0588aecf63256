"""From inputs to a finished job: convert each process, aggregate, find, report, manifest.

Every step is a function of its inputs; a second run writes the same bytes. The manifest is removed
first and written last, so a job is never seen half made.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracemill_schema import layout
from tracemill_schema.errors import InputError, StoreError, TracemillError, UsageError
from tracemill_schema.tables import TABLE_BY_NAME, TABLES
from tracemill_schema.vocab import DropReason, RunStatus

from tracemill_analysis import aggregates
from tracemill_analysis.finish import finish_job
from tracemill_analysis.importers import discover as foreign
from tracemill_analysis.importers.base import (
    DropCounter,
    ProcessResult,
    Progress,
    WorkItem,
    no_progress,
)
from tracemill_analysis.importers.kineto import convert as kineto
from tracemill_analysis.importers.raw import convert as raw
from tracemill_analysis.importers.raw import discover as raw_discover
from tracemill_analysis.manifest import Manifest, list_tables, read_manifest, write_manifest
from tracemill_analysis.parquet import read_table, write_rows
from tracemill_analysis.store import Store

Rejected = tuple[str, str]
"""Name of an input that could not be read, and why."""

_CONVERTERS: dict[str, Callable[[WorkItem, Store, str, Progress], ProcessResult]] = {
    raw_discover.FORMAT: raw.convert,
    foreign.KINETO_FORMAT: kineto.convert,
}

_RUNNING_IF_WRITTEN_WITHIN_S = 5.0


@dataclass(frozen=True)
class JobOutcome:
    """What processing a job gave: its manifest, the inputs left out, the losses by reason."""

    manifest: Manifest
    rejected: tuple[Rejected, ...]
    drops: dict[str, int]

    @property
    def partial(self) -> bool:
        """True if something that was found could not be read."""
        return bool(self.manifest.job["completeness"] != "complete")


def import_traces(
    store: Store,
    job: str,
    paths: Sequence[Path],
    *,
    replace: bool = False,
    progress: Progress = no_progress,
) -> JobOutcome:
    """Import traces of others (files, or folders of them) as one job and process it.

    Raises InputError if nothing could be read, UsageError if the job exists with other inputs and
    ``replace`` is not set.
    """
    layout.check_name(job)
    found = foreign.discover(paths)
    if not found.items:
        raise InputError(_nothing_read(found.rejected))
    inputs = [_describe(item) for item in found.items]
    _check_replaceable(store, job, inputs, replace)
    return _process(store, job, found.items, found.rejected, inputs, progress)


def process_job(store: Store, job: str, progress: Progress = no_progress) -> JobOutcome:
    """Process the raw segments of a recorded job, or an imported job's event tables once more.

    Raises JobNotFoundError if the store has no such job, InputError if nothing could be read.
    """
    found = raw_discover.discover_raw(store, job)
    if found.items:
        inputs = [_describe(item) for item in found.items]
        return _process(store, job, found.items, found.rejected, inputs, progress)
    if found.rejected:
        raise InputError(_nothing_read(found.rejected))
    manifest = read_manifest(store, job)
    return _aggregate_again(store, manifest, progress)


def _process(
    store: Store,
    job: str,
    items: Sequence[WorkItem],
    rejected: Sequence[Rejected],
    inputs: list[dict[str, Any]],
    progress: Progress,
) -> JobOutcome:
    _clear(store, job)
    left_out = list(rejected)
    results: list[ProcessResult] = []
    for number, item in enumerate(items):
        step = _part_of(progress, number, len(items))
        try:
            results.append(_CONVERTERS[item.format](item, store, job, step))
        except TracemillError as error:
            left_out.append((item.source_name, str(error)))
        except Exception as error:  # one process must not cost the others
            text = f"{item.source_name}: cannot be converted ({type(error).__name__}: {error})"
            left_out.append((item.source_name, text))
    if not results:
        raise InputError(_nothing_read(left_out))
    _write_profile(store, job, results, left_out)
    aggregates.build(store, job, progress)
    inputs = inputs + [{"name": name, "error": error} for name, error in left_out]
    facts = {
        "status": str(_status(results)),
        "partial": bool(left_out),
        "simulated": any(result.simulated for result in results),
        "instance_types": sorted({r.instance_type for r in results if r.instance_type}),
    }
    return _finish(store, job, facts, inputs, tuple(left_out), progress)


def _finish(
    store: Store,
    job: str,
    facts: dict[str, Any],
    inputs: list[dict[str, Any]],
    rejected: tuple[Rejected, ...],
    progress: Progress,
) -> JobOutcome:
    progress("report", -1.0)
    job_row, verdict = finish_job(store, job, facts)
    tables = list_tables(store, job, [table.name for table in TABLES])
    manifest = Manifest(job, {**job_row, **facts}, inputs, tables, verdict=list(verdict))
    write_manifest(store, manifest)
    return JobOutcome(manifest, rejected, _drops(store, job))


def _aggregate_again(store: Store, manifest: Manifest, progress: Progress) -> JobOutcome:
    facts = {
        name: manifest.job[name] for name in ("status", "partial", "simulated", "instance_types")
    }
    aggregates.build(store, manifest.job_name, progress)
    rejected = tuple((i["name"], i["error"]) for i in manifest.inputs if "error" in i)
    return _finish(store, manifest.job_name, facts, manifest.inputs, rejected, progress)


def _clear(store: Store, job: str) -> None:
    store.delete_prefix(layout.job_prefix(job))
    for table in TABLES:
        store.delete_prefix(layout.table_prefix(table.name, job))


def _write_profile(
    store: Store, job: str, results: Sequence[ProcessResult], rejected: Sequence[Rejected]
) -> None:
    processes = [_process_row(result) for result in results]
    drops = [row for result in results for row in _drop_rows(result)]
    for name, error in rejected:
        unreadable = DropCounter()
        unreadable.add(DropReason.UNREADABLE_FILE, 1, error)
        drops += _rows_of(unreadable, name, None, None)
    write_rows(store, TABLE_BY_NAME["processes"], job, layout.WHOLE_JOB_PART, processes)
    if drops:
        write_rows(store, TABLE_BY_NAME["drops"], job, layout.WHOLE_JOB_PART, drops)


def _process_row(result: ProcessResult) -> dict[str, Any]:
    item = result.item
    return {
        "process_id": item.process_id,
        "node": item.node,
        "rank": item.rank,
        "rank_source": str(item.rank_source),
        "devices": ",".join(str(device) for device in result.devices),
        "source_format": item.format,
        "source_file": item.source_name,
        "events_dropped": result.drops.lost,
        "complete": result.complete,
        **{
            name: getattr(result, name)
            for name in (
                "local_rank", "world_size", "pid", "clock", "clock_offset_ns", "clock_spread_ns",
                "start_ns", "end_ns", "framework", "device_name", "end_reason", "events_read",
                "events_kept",
            )
        },
    }  # fmt: skip


def _drop_rows(result: ProcessResult) -> list[dict[str, Any]]:
    item = result.item
    return _rows_of(result.drops, item.source_name, item.process_id, item.rank)


def _rows_of(
    drops: DropCounter, source: str, process_id: int | None, rank: int | None
) -> list[dict[str, Any]]:
    return [
        {
            "process_id": process_id,
            "rank": rank,
            "source_file": source,
            "reason": str(reason),
            "events": events,
            "lost": reason.loses_event,
            "example": drops.examples.get(reason),
        }
        for reason, events in sorted(drops.counts.items())
    ]


def _drops(store: Store, job: str) -> dict[str, int]:
    totals: dict[str, int] = {}
    for row in read_table(store, TABLE_BY_NAME["drops"], job, ["reason", "events"]).to_pylist():
        totals[row["reason"]] = totals.get(row["reason"], 0) + row["events"]
    return totals


def _status(results: Sequence[ProcessResult]) -> RunStatus:
    """Status of the run from its processes; one that still writes makes the job InProgress."""
    if any(result.failed for result in results):
        return RunStatus.FAILED
    unfinished = [result for result in results if not result.finished]
    if any(_still_written(result.item) for result in unfinished):
        return RunStatus.IN_PROGRESS
    return RunStatus.STOPPED if unfinished else RunStatus.COMPLETED


def _still_written(item: WorkItem) -> bool:
    newest = max(path.stat().st_mtime for path in item.sources)
    return time.time() - newest < _RUNNING_IF_WRITTEN_WITHIN_S


def _describe(item: WorkItem) -> dict[str, Any]:
    digest = hashlib.sha256()
    size = 0
    for path in item.sources:
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
                size += len(chunk)
    return {
        "name": item.source_name,
        "process_id": item.process_id,
        "bytes": size,
        "sha256": digest.hexdigest(),
    }


def _check_replaceable(store: Store, job: str, inputs: list[dict[str, Any]], replace: bool) -> None:
    if replace or job not in store.job_names():
        return
    try:
        before = read_manifest(store, job).inputs
    except StoreError:
        before = []
    if {i.get("sha256") for i in before if "sha256" in i} != {i["sha256"] for i in inputs}:
        raise UsageError(
            f"job {job} exists in {store.address} with other inputs: take another --job name, or "
            "--replace to overwrite it"
        )


def _nothing_read(rejected: Sequence[Rejected]) -> str:
    if not rejected:
        return "nothing to import: no trace file found"
    first = rejected[0][1]
    more = f" (and {len(rejected) - 1} more)" if len(rejected) > 1 else ""
    return f"nothing could be read: {first}{more}"


def _part_of(progress: Progress, number: int, of: int) -> Progress:
    def report(text: str, fraction: float) -> None:
        progress(text, (number + max(fraction, 0.0)) / of)

    return report
