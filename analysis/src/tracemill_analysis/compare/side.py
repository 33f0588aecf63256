"""One side of a comparison: a job's tables, and what its times are divided by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tracemill_schema.vocab import WindowKind

from tracemill_analysis.findings.tables import JobTables, Row
from tracemill_analysis.manifest import read_manifest
from tracemill_analysis.store import Store

_SHOWN = (
    "status", "completeness", "simulated", "source", "framework", "device_name", "instance_type",
    "nodes", "gpus", "ranks", "processes", "steps", "dur_ns", "gpu_events", "events_dropped",
)  # fmt: skip


@dataclass(frozen=True)
class Side:
    """A job that is compared. ``job`` holds the columns of ``jobs`` a reader needs to judge it."""

    name: str
    job: Row
    verdict: list[str]
    tables: JobTables

    @cached_property
    def rank_steps(self) -> int:
        """Steps summed over the ranks that have GPU events; over all ranks without any."""
        with_gpu = {row["process_id"] for row in self.tables.gpu_windows}
        return sum(
            len(rows)
            for process_id, rows in self.tables.steps.items()
            if not with_gpu or process_id in with_gpu
        )

    def windows(self, kind: WindowKind) -> list[Row]:
        """Rows of ``time_breakdown`` of one kind of window."""
        return [r for r in self.tables.rows("time_breakdown") if r["window_kind"] == kind]


def open_side(store: Store, job: str) -> Side:
    """Read a job's manifest; JobNotFoundError if the store has no such processed job."""
    manifest = read_manifest(store, job)
    shown = {column: manifest.job.get(column) for column in _SHOWN}
    return Side(job, shown, list(manifest.verdict), JobTables(store, job))


@dataclass(frozen=True)
class Basis:
    """What times and counts are divided by, so that jobs of different length can be compared.

    ``unit`` is ``step`` (of one rank) where both jobs have steps, else ``gpu`` (of the whole
    window) or ``process``; ``a`` and ``b`` are how many of them each job has.
    """

    unit: str
    a: int
    b: int


def common_basis(a: Side, b: Side) -> Basis:
    """Choose the unit both jobs can be divided by."""
    if a.rank_steps and b.rank_steps:
        return Basis("step", a.rank_steps, b.rank_steps)
    if a.tables.has_gpu and b.tables.has_gpu:
        return Basis("gpu", len(a.tables.gpu_windows), len(b.tables.gpu_windows))
    return Basis("process", _processes(a), _processes(b))


def _processes(side: Side) -> int:
    return max(1, len(side.tables.rows("processes")))


def per_unit(value: float, units: int) -> float:
    """Divide by the number of units; 0 of nothing."""
    return value / units if units else 0.0


def ratio(a: float, b: float) -> float | None:
    """Return b / a; None where a is 0."""
    return b / a if a else None
