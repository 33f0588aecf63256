"""Step times of two jobs, and their steps laid side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracemill_analysis.compare.side import Side, ratio
from tracemill_analysis.findings.stats import median
from tracemill_analysis.findings.steps import gap_ns, judged_steps, names_input, wait_ns
from tracemill_analysis.findings.tables import JobTables, Row

MAX_PAIRS = 5_000
"""Pairs a comparison carries; of a longer job the first ones, the others are counted."""


@dataclass(frozen=True)
class StepTimes:
    """Step times of one job over all ranks, in ns. The first step of a rank that has others is left
    out. ``period`` is a step with the gap before it, ``wait`` its time waiting for input.
    """

    count: int
    ranks: int
    left_out: int
    min_ns: int
    p50_ns: int
    mean_ns: float
    max_ns: int
    period_p50_ns: int
    wait_p50_ns: int
    wait_is_input: bool


@dataclass(frozen=True)
class Steps:
    """Both jobs' step times. ``pairs`` are the aligned steps, one row each:

    ``a_step``, ``b_step`` (numbers), ``a_start_ns``, ``b_start_ns`` (first rank's start),
    ``a_dur_ns``, ``b_dur_ns`` (slowest rank's host time), ``a_rank``, ``b_rank`` (that rank),
    ``delta_ns`` (b - a). ``aligned_by`` is ``number`` or ``order``; None without steps in both.
    """

    a: StepTimes | None
    b: StepTimes | None
    p50_ratio: float | None
    period_p50_ratio: float | None
    aligned_by: str | None
    pairs: list[Row]
    pairs_left_out: int
    unpaired_a: int
    unpaired_b: int


def compare_steps(a: Side, b: Side) -> Steps:
    """Compare step times and align the steps by number, or by order where numbers do not fit."""
    times_a, times_b = step_times(a.tables), step_times(b.tables)
    both = times_a is not None and times_b is not None
    steps_a, steps_b = _slowest(a.tables), _slowest(b.tables)
    aligned_by, keys_a, keys_b = _alignment(steps_a, steps_b)
    shared = [key for key in keys_a if key in keys_b] if both else []
    pairs = [_pair(keys_a[key], keys_b[key]) for key in shared]
    return Steps(
        a=times_a,
        b=times_b,
        p50_ratio=ratio(times_a.p50_ns, times_b.p50_ns) if times_a and times_b else None,
        period_p50_ratio=(
            ratio(times_a.period_p50_ns, times_b.period_p50_ns) if times_a and times_b else None
        ),
        aligned_by=aligned_by if both else None,
        pairs=pairs[:MAX_PAIRS],
        pairs_left_out=max(0, len(pairs) - MAX_PAIRS),
        unpaired_a=len(steps_a) - len(pairs),
        unpaired_b=len(steps_b) - len(pairs),
    )


def step_times(tables: JobTables) -> StepTimes | None:
    """Return a job's step times; None without steps."""
    by_process = {p: judged_steps(rows) or rows for p, rows in tables.steps.items() if rows}
    judged = [row for rows in by_process.values() for row in rows]
    if not judged:
        return None
    named = {p: names_input(tables.steps[p]) for p in by_process}
    lengths = [row["dur_ns"] for row in judged]
    return StepTimes(
        count=sum(len(rows) for rows in tables.steps.values()),
        ranks=len(by_process),
        left_out=sum(len(tables.steps[p]) - len(rows) for p, rows in by_process.items()),
        min_ns=min(lengths),
        p50_ns=median(lengths),
        mean_ns=sum(lengths) / len(lengths),
        max_ns=max(lengths),
        period_p50_ns=median(row["dur_ns"] + gap_ns(row) for row in judged),
        wait_p50_ns=median(wait_ns(row, named[row["process_id"]]) for row in judged),
        wait_is_input=any(named.values()),
    )


def _slowest(tables: JobTables) -> list[Row]:
    """Return one row per step, in order: the rank that took longest, and the first rank's start."""
    by_occurrence: dict[int, list[Row]] = {}
    for rows in tables.steps.values():
        for row in rows:
            by_occurrence.setdefault(row["occurrence"], []).append(row)
    steps = []
    for _, ranks in sorted(by_occurrence.items()):
        slowest = max(ranks, key=lambda r: (r["dur_ns"], -r["process_id"]))
        steps.append({**slowest, "first_start_ns": min(r["start_ns"] for r in ranks)})
    return steps


def _alignment(a: Sequence[Row], b: Sequence[Row]) -> tuple[str, dict[int, Row], dict[int, Row]]:
    """Align by number if numbers are unique and most of the shorter job's are in the other too."""
    numbers_a = {row["step"]: row for row in a}
    numbers_b = {row["step"]: row for row in b}
    unique = len(numbers_a) == len(a) and len(numbers_b) == len(b)
    shared = len(numbers_a.keys() & numbers_b.keys())
    if unique and 2 * shared > min(len(a), len(b)):
        return "number", numbers_a, numbers_b
    return "order", dict(enumerate(a)), dict(enumerate(b))


def _pair(a: Row, b: Row) -> Row:
    return {
        "a_step": a["step"],
        "b_step": b["step"],
        "a_start_ns": a["first_start_ns"],
        "b_start_ns": b["first_start_ns"],
        "a_dur_ns": a["dur_ns"],
        "b_dur_ns": b["dur_ns"],
        "a_rank": a["rank"],
        "b_rank": b["rank"],
        "delta_ns": b["dur_ns"] - a["dur_ns"],
    }
