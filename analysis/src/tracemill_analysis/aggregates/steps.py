"""Training steps: which annotations they are, which events belong to them, ``step_summary``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tracemill_analysis import intervals as iv
from tracemill_analysis.aggregates.gpu import GpuEvents
from tracemill_analysis.aggregates.ranges import Ranges
from tracemill_analysis.aggregates.source import Process
from tracemill_analysis.events.series import STEP_SERIES
from tracemill_analysis.intervals import EMPTY, Int64s, Intervals


@dataclass(frozen=True)
class Step:
    """One step annotation; ``start`` and ``end`` in ns, ``number`` as in its name."""

    thread: int
    start: int
    end: int
    number: int


def find_steps(ranges: Ranges) -> list[Step]:
    """Return a process's steps by start.

    Only the first of ``STEP_SERIES`` that has any counts, so that a loop with marks of its own
    under a profiler's is not counted twice; a step inside another of the same thread is left out
    for the same reason. A step without a number takes its place in the order.
    """
    for series in STEP_SERIES:
        found = ranges.of_series(series)
        if len(found):
            break
    else:
        return []
    order = np.lexsort(
        (ranges.index[found], ranges.thread[found], -ranges.end[found], ranges.start[found])
    )
    steps: list[Step] = []
    open_until: dict[int, int] = {}
    for at in found[order].tolist():
        thread, start, end = int(ranges.thread[at]), int(ranges.start[at]), int(ranges.end[at])
        if end <= open_until.get(thread, start - 1):
            continue
        open_until[thread] = end
        number = int(ranges.index[at]) if ranges.has_index[at] else len(steps)
        steps.append(Step(thread, start, end, number))
    return steps


def assign_steps(steps: list[Step], thread: Int64s, time: Int64s) -> Int64s:
    """Return for each (thread, time in ns) the position of the step it falls in, -1 if in none.

    A step of the same thread goes before one of another thread (a backward pass runs on its own).
    """
    result = np.full(len(time), -1, np.int64)
    by_thread: dict[int, list[int]] = {}
    for position, step in enumerate(steps):
        by_thread.setdefault(step.thread, []).append(position)
    found = {}
    for one, positions in sorted(by_thread.items()):
        starts = np.array([steps[i].start for i in positions], np.int64)
        ends = np.array([steps[i].end for i in positions], np.int64)
        place = np.searchsorted(starts, time, side="right") - 1
        inside = (place >= 0) & (time < ends[place])
        found[one] = np.where(inside, np.array(positions, np.int64)[place], -1)
        own = inside & (thread == one)
        result[own] = found[one][own]
    for candidates in found.values():
        result = np.where(result < 0, candidates, result)
    return result


def step_summary(
    process: Process, steps: list[Step], events: GpuEvents, inputs: dict[int, Intervals]
) -> list[dict[str, Any]]:
    """Return one row per step. ``inputs`` is the input time of each thread."""
    position = assign_steps(steps, events.thread, events.launch)
    order = np.argsort(position, kind="stable")
    edges = np.searchsorted(position[order], np.arange(len(steps) + 1))
    rows = []
    previous_end: dict[int, int] = {}
    for at, step in enumerate(steps):
        before = previous_end.get(step.thread)
        previous_end[step.thread] = step.end
        waits = inputs.get(step.thread, EMPTY)
        own = events.take(order[edges[at] : edges[at + 1]])
        rows.append(
            {
                **process.where,
                "thread": step.thread,
                "occurrence": at,
                "step": step.number,
                "start_ns": step.start,
                "dur_ns": step.end - step.start,
                "gap_before_ns": None if before is None else step.start - before,
                "input_ns": _within(waits, step.start, step.end),
                "gap_input_ns": None if before is None else _within(waits, before, step.start),
                "gpu_events": len(own),
                **_gpu_columns(own, recorded=len(events) > 0),
            }
        )
    return rows


def _within(intervals: Intervals, start: int, end: int) -> int:
    """Covered time within ``[start, end)`` in ns; 0 if the end is not after the start."""
    if end <= start:
        return 0
    before = iv.covered_before(intervals, np.array([start, end], np.int64))
    return int(before[1] - before[0])


def _gpu_columns(events: GpuEvents, *, recorded: bool) -> dict[str, int | None]:
    """GPU columns of a step; all null if the process has no GPU events at all."""
    if not recorded:
        return dict.fromkeys(
            ("gpu_busy_ns", "gpu_span_ns", "compute_ns", "comm_ns", "exposed_comm_ns")
            + ("mem_ns", "idle_ns")
        )
    parts = events.parts
    span = int(events.end.max() - events.start.min()) if len(events) else 0
    return {
        "gpu_busy_ns": parts.busy_ns,
        "gpu_span_ns": span,
        "compute_ns": parts.compute_ns,
        "comm_ns": parts.comm_ns,
        "exposed_comm_ns": parts.exposed_comm_ns,
        "mem_ns": parts.mem_ns,
        "idle_ns": span - parts.busy_ns,
    }
