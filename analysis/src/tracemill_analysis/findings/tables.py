"""The tables rules and report read: profile and aggregate tables of one job, as plain rows."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

from tracemill_schema.columns import Role
from tracemill_schema.errors import StoreError
from tracemill_schema.tables import TABLE_BY_NAME
from tracemill_schema.vocab import WindowKind

from tracemill_analysis.parquet import read_table
from tracemill_analysis.store import Store

Row = dict[str, Any]

HOST_DEVICE = -1
"""Device of the lane of a process in a job without GPUs."""


class Lane(NamedTuple):
    """What time is counted on: a GPU of a process, or the process itself in a job without GPUs."""

    process_id: int
    device: int


class Window(NamedTuple):
    """A half-open span of time in nanoseconds."""

    start_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        """Length, never negative."""
        return max(0, self.end_ns - self.start_ns)


class JobTables:
    """Reads the small tables of a job, each at most once. Event tables are refused."""

    def __init__(self, store: Store, job: str) -> None:
        self._store = store
        self.job = job
        self._rows: dict[str, list[Row]] = {}

    def rows(self, name: str) -> list[Row]:
        """Return all rows of a table; empty if the job has none. Do not change them."""
        if name not in self._rows:
            table = TABLE_BY_NAME[name]
            if table.role is Role.EVENT:
                raise ValueError(f"{name} is an event table; rules read aggregates only")
            try:
                self._rows[name] = read_table(self._store, table, self.job).to_pylist()
            except (OSError, ValueError, KeyError) as error:
                raise StoreError(
                    f"table {name} of job {self.job}: cannot be read ({error}); process the job "
                    "again"
                ) from error
        return self._rows[name]

    @cached_property
    def gpu_windows(self) -> list[Row]:
        """Rows of ``time_breakdown`` over every GPU event: one per GPU of a process."""
        return [r for r in self.rows("time_breakdown") if r["window_kind"] == WindowKind.ALL_GPU]

    @property
    def has_gpu(self) -> bool:
        """True if any GPU event was recorded."""
        return bool(self.gpu_windows)

    @cached_property
    def lanes(self) -> list[Lane]:
        """All lanes of the job, sorted."""
        if self.has_gpu:
            return sorted({Lane(r["process_id"], r["device"]) for r in self.gpu_windows})
        found = {r["process_id"] for r in self.rows("processes")}
        found |= {r["process_id"] for r in self.rows("step_summary")}
        return sorted(Lane(process_id, HOST_DEVICE) for process_id in found)

    def lanes_of(self, process_id: int) -> list[Lane]:
        """Return the lanes of a process; none for a helper process of a job with GPUs."""
        return self._lanes_by_process.get(process_id, [])

    @cached_property
    def _lanes_by_process(self) -> dict[int, list[Lane]]:
        found: dict[int, list[Lane]] = {}
        for lane in self.lanes:
            found.setdefault(lane.process_id, []).append(lane)
        return found

    @cached_property
    def steps(self) -> dict[int, list[Row]]:
        """Rows of ``step_summary`` by process, in order of occurrence."""
        found: dict[int, list[Row]] = {}
        for row in self.rows("step_summary"):
            found.setdefault(row["process_id"], []).append(row)
        return {
            process_id: sorted(rows, key=lambda r: r["occurrence"])
            for process_id, rows in sorted(found.items())
        }

    @cached_property
    def _observed(self) -> dict[Lane, Window]:
        spans: dict[Lane, list[tuple[int, int]]] = {lane: [] for lane in self.lanes}
        for row in self.gpu_windows:
            lane = Lane(row["process_id"], row["device"])
            spans[lane].append((row["window_start_ns"], row["window_end_ns"]))
        for lane, found in spans.items():
            for row in self.steps.get(lane.process_id, ()):
                found.append((row["start_ns"], row["start_ns"] + row["dur_ns"]))
        for row in self.rows("processes"):
            for lane in self.lanes_of(row["process_id"]):
                if not spans[lane] and row["start_ns"] is not None and row["end_ns"] is not None:
                    spans[lane].append((row["start_ns"], row["end_ns"]))
        return {
            lane: Window(min(s for s, _ in found), max(e for _, e in found))
            for lane, found in spans.items()
            if found
        }

    def observed(self, lane: Lane) -> Window:
        """Return the time a lane is judged over: from its first to its last step or GPU event.

        A process with neither is judged over all that was recorded of it.
        """
        return self._observed.get(lane, Window(0, 0))

    @cached_property
    def observed_ns(self) -> int:
        """Sum of the observed time of all lanes: the denominator of severities."""
        return sum(window.length_ns for window in self._observed.values())

    def rank_of(self, process_id: int) -> int | None:
        """Return the rank of a process; None for a helper process."""
        return self._ranks.get(process_id)

    @cached_property
    def _ranks(self) -> dict[int, int | None]:
        return {r["process_id"]: r["rank"] for r in self.rows("processes")}

    def step_label(self, step: int) -> str:
        """Return the name of a step as the training script or framework gave it."""
        series = {r["series"] for r in self.rows("annotation_summary")}
        framework = any(name.startswith("ProfilerStep") for name in series)
        return f"ProfilerStep#{step}" if framework else f"step_{step}"
