"""Third step: from the converted processes to the tables of the whole job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tracemill_schema import layout
from tracemill_schema.errors import InputError
from tracemill_schema.tables import TABLE_BY_NAME, events
from tracemill_schema.vocab import DropReason, RunStatus

from tracemill_analysis import aggregates
from tracemill_analysis.aggregates.alignment import align_nodes
from tracemill_analysis.aggregates.source import open_source
from tracemill_analysis.importers.base import (
    DropCounter,
    ProcessResult,
    Progress,
    no_progress,
)
from tracemill_analysis.parquet import write_rows
from tracemill_analysis.pipeline.convert import ItemResult
from tracemill_analysis.pipeline.plan import Plan, Rejected, nothing_read
from tracemill_analysis.store import Store


@dataclass(frozen=True)
class JobFacts:
    """What the tables do not tell of a job.

    ``facts``: status, partial, simulated, instance_types. ``inputs``: see ``Manifest``.
    """

    facts: dict[str, Any]
    inputs: list[dict[str, Any]]

    @property
    def rejected(self) -> tuple[Rejected, ...]:
        """The inputs left out, and why."""
        return tuple((i["name"], i["error"]) for i in self.inputs if "error" in i)


def assemble(
    store: Store, plan: Plan, results: Sequence[ItemResult], progress: Progress = no_progress
) -> None:
    """Write the tables ``processes``, ``drops`` and all aggregates of a job.

    ``results`` has one entry per item of the plan. What an earlier run left in the store and this
    one has not is removed. Raises InputError if no process could be read.
    """
    processes = _processes(results)
    left_out = [*plan.rejected, *_errors(results)]
    _remove_left_overs(store, plan.job, {process.item.process_id for process in processes})
    if not processes:
        raise InputError(nothing_read(left_out))
    _write_profile(store, plan.job, processes, left_out)
    aggregates.build(store, plan.job, progress)


def job_facts(plan: Plan, results: Sequence[ItemResult]) -> JobFacts:
    """Put together what the tables do not tell of a job."""
    processes = _processes(results)
    left_out = [*plan.rejected, *_errors(results)]
    types = {process.instance_type for process in processes} | set(plan.run.instance_types)
    facts = {
        "status": str(_status(plan, processes)),
        "partial": bool(left_out),
        "simulated": any(process.simulated for process in processes),
        "instance_types": sorted(name for name in types if name),
    }
    inputs = [*_inputs(results), *({"name": name, "error": error} for name, error in left_out)]
    return JobFacts(facts, inputs)


def _processes(results: Iterable[ItemResult]) -> list[ProcessResult]:
    return [result.process for result in results if result.process is not None]


def _errors(results: Iterable[ItemResult]) -> list[Rejected]:
    return [(r.item.source_name, r.error) for r in results if r.error is not None]


def _inputs(results: Iterable[ItemResult]) -> list[dict[str, Any]]:
    return [
        {
            "name": result.item.source_name,
            "process_id": result.item.process_id,
            "bytes": result.size_bytes,
            "sha256": result.sha256,
        }
        for result in results
        if result.sha256 is not None
    ]


def _remove_left_overs(store: Store, job: str, process_ids: set[int]) -> None:
    parts = {layout.process_part(process_id) for process_id in process_ids}
    for table in events.TABLES:
        for info in store.list_objects(layout.table_prefix(table.name, job)):
            name = info.key.rpartition("/")[2].removesuffix(".parquet")
            if name not in parts:
                store.delete(info.key)
    for name in ("processes", "drops", "findings", "jobs"):
        store.delete_prefix(layout.table_prefix(name, job))


def _write_profile(
    store: Store, job: str, results: Sequence[ProcessResult], rejected: Sequence[Rejected]
) -> None:
    processes = [_process_row(result) for result in results]
    drops = [row for result in results for row in _drop_rows(result)]
    for name, error in rejected:
        unreadable = DropCounter()
        unreadable.add(DropReason.UNREADABLE_FILE, 1, error)
        drops += _rows_of(unreadable, name, None, None)
    table = TABLE_BY_NAME["processes"]
    write_rows(store, table, job, layout.WHOLE_JOB_PART, processes)
    if aligned := _aligned(store, job, processes):
        write_rows(store, table, job, layout.WHOLE_JOB_PART, aligned)
    if drops:
        write_rows(store, TABLE_BY_NAME["drops"], job, layout.WHOLE_JOB_PART, drops)


def _aligned(
    store: Store, job: str, processes: Sequence[dict[str, Any]]
) -> list[dict[str, Any]] | None:
    """Return the rows with the alignment of their nodes; None if nodes cannot be compared."""
    if len({row["node"] for row in processes}) < 2:
        return None
    with open_source(store, job) as source:
        nodes = align_nodes(source)
    if not nodes:
        return None
    return [
        {
            **row,
            "alignment_ns": nodes[row["node"]].shift_ns,
            "alignment_residual_ns": nodes[row["node"]].residual_ns,
        }
        if row["node"] in nodes
        else row
        for row in processes
    ]


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
        "alignment_ns": None,
        "alignment_residual_ns": None,
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
            "events": count,
            "lost": reason.loses_event,
            "example": drops.examples.get(reason),
        }
        for reason, count in sorted(drops.counts.items())
    ]


def _status(plan: Plan, results: Sequence[ProcessResult]) -> RunStatus:
    """Status of the run: as known from elsewhere, else from its processes.

    A process that still writes makes the job InProgress.
    """
    if plan.run.status is not None:
        return plan.run.status
    if any(result.failed for result in results):
        return RunStatus.FAILED
    unfinished = {result.item.process_id for result in results if not result.finished}
    if unfinished & set(plan.recent):
        return RunStatus.IN_PROGRESS
    return RunStatus.STOPPED if unfinished else RunStatus.COMPLETED
