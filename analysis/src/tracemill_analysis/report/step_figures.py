"""Figures about training steps: distribution, course over time, the slowest ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracemill_analysis.findings.steps import gap_ns, judged_steps, names_input
from tracemill_analysis.findings.tables import JobTables, Row

MAX_POINTS = 240
MAX_SLOWEST = 10
TARGET_BINS = 30
BEYOND_FACTOR = 4
"""Values more than this many times (p95 - min) above the minimum count as beyond."""


@dataclass(frozen=True)
class Histogram:
    """Counts of values in ``[edges_ns[i], edges_ns[i + 1])``, and of those beyond the last edge.

    A few very long values would squeeze all others into one bin; they are counted as ``beyond``.
    """

    edges_ns: list[int]
    counts: list[int]
    beyond: int = 0


@dataclass(frozen=True)
class Steps:
    """Statistics leave the first step of each rank out where it has others."""

    count: int
    ranks: int
    left_out: int
    min_ns: int
    p50_ns: int
    p95_ns: int
    max_ns: int
    mean_ns: float
    input_named: bool
    histogram: Histogram
    course: list[Row]
    """One point per step, or per run of steps where there are too many: its slowest step."""
    steps_per_point: int
    slowest: list[Row]


def step_figures(tables: JobTables) -> Steps | None:
    """Compute the figures; None for a job without steps."""
    by_process = {p: judged_steps(rows) or rows for p, rows in tables.steps.items() if rows}
    judged = [row for rows in by_process.values() for row in rows]
    if not judged:
        return None
    everything = [row for rows in tables.steps.values() for row in rows]
    lengths = sorted(row["dur_ns"] for row in judged)
    course, per_point = _course(everything)
    slowest = sorted(judged, key=lambda r: (-r["dur_ns"], r["process_id"], r["occurrence"]))
    return Steps(
        count=len(everything),
        ranks=len(by_process),
        left_out=len(everything) - len(judged),
        min_ns=lengths[0],
        p50_ns=_quantile(lengths, 50),
        p95_ns=_quantile(lengths, 95),
        max_ns=lengths[-1],
        mean_ns=sum(lengths) / len(lengths),
        input_named=names_input(everything),
        histogram=histogram(lengths),
        course=course,
        steps_per_point=per_point,
        slowest=[_slow(row) for row in slowest[:MAX_SLOWEST]],
    )


def _quantile(ordered: Sequence[int], per_cent: int) -> int:
    """Return an observed value: the smallest with at least that share at or below it."""
    return ordered[max(0, -(-len(ordered) * per_cent // 100) - 1)]


def nice_width(span: int, target: int) -> int:
    """Return 1, 2 or 5 times a power of ten so that ``span`` takes at most ``target`` of them."""
    width = 1
    while True:
        for factor in (1, 2, 5):
            if span <= width * factor * target:
                return width * factor
        width *= 10


def histogram(values: Sequence[int]) -> Histogram:
    """Count integer values in bins of a round width."""
    ordered = sorted(values)
    low, high = ordered[0], ordered[-1]
    limit = low + max(BEYOND_FACTOR * (_quantile(ordered, 95) - low), low // 2)
    if high > limit:
        high = max(value for value in ordered if value <= limit)
    width = nice_width(max(1, high - low, low // 20), TARGET_BINS)
    first = low // width * width
    bins = max(1, (high - first) // width + 1)
    counts = [0] * bins
    beyond = 0
    for value in values:
        if value > high:
            beyond += 1
        else:
            counts[(value - first) // width] += 1
    return Histogram([first + width * i for i in range(bins + 1)], counts, beyond)


def _course(rows: Sequence[Row]) -> tuple[list[Row], int]:
    """Return the slowest rank of each step, thinned to the slowest of runs of steps."""
    slowest: dict[int, Row] = {}
    for row in rows:
        best = slowest.get(row["occurrence"])
        if best is None or _period(row) > _period(best):
            slowest[row["occurrence"]] = row
    ordered = [slowest[occurrence] for occurrence in sorted(slowest)]
    per_point = -(-len(ordered) // MAX_POINTS)
    runs = [ordered[i : i + per_point] for i in range(0, len(ordered), per_point)]
    return [_point(max(run, key=_period)) for run in runs], per_point


def _period(row: Row) -> int:
    return int(row["dur_ns"]) + gap_ns(row)


def _point(row: Row) -> Row:
    return {
        "step": row["step"],
        "occurrence": row["occurrence"],
        "rank": row["rank"],
        "start_ns": row["start_ns"],
        "dur_ns": row["dur_ns"],
        "gap_before_ns": gap_ns(row),
        "input_ns": row["input_ns"],
        "gap_input_ns": row["gap_input_ns"] or 0,
    }


def _slow(row: Row) -> Row:
    columns = ("gpu_busy_ns", "exposed_comm_ns", "idle_ns")
    return {**_point(row), **{name: row[name] for name in columns}}
