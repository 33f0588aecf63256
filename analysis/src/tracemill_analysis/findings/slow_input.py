"""A phase of consecutive steps that waited far longer than the others before they could begin.

The wait is input where the recording names input ranges; in one that names none, the gap between
steps is taken for input and the finding says so. Where input is named, gaps that are something
else (evaluation, checkpoints) are found by the same rule and called what they are: time between
steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tracemill_analysis.findings.base import Finding, severity_of
from tracemill_analysis.findings.ledger import Budget, Claim, Ledger
from tracemill_analysis.findings.stats import median, outlier_threshold
from tracemill_analysis.findings.steps import (
    MIN_STEPS,
    gap_ns,
    judged_steps,
    name_ranks,
    name_steps,
    names_input,
    wait_ns,
    wait_window,
)
from tracemill_analysis.findings.tables import JobTables, Row
from tracemill_analysis.units import duration, factor

RULE = "slow_input"
SIGMAS = 6.0
FACTOR = 3.0
MIN_SHARE_OF_STEP = 0.10
"""A wait has to exceed the median wait by this share of a step to be worth a word."""


@dataclass(frozen=True)
class _Phase:
    rows: tuple[Row, ...]
    waits_ns: tuple[int, ...]
    median_wait_ns: int
    kind: str
    """``input``: named as input; ``gap``: no input is named; ``other``: named, and not input."""

    @property
    def excess_ns(self) -> int:
        return sum(wait - self.median_wait_ns for wait in self.waits_ns)

    @property
    def key(self) -> tuple[int, int, str]:
        return self.rows[0]["step"], self.rows[-1]["step"], self.kind


def evaluate(tables: JobTables, ledger: Ledger) -> list[Finding]:
    """Name each phase; the same steps on several ranks are one finding.

    Abstaining is left to ``input_bound``, which needs less.
    """
    groups: dict[tuple[int, int, str], list[_Phase]] = {}
    for rows in tables.steps.values():
        for phase in _input_phases(rows) + _other_phases(rows):
            groups.setdefault(phase.key, []).append(phase)
    findings = []
    for group in groups.values():
        claim = Claim()
        for phase in group:
            _claim(tables, ledger, claim, phase)
        if claim.granted:
            findings.append(_finding(tables, claim, group))
    return findings


def excess_waits(rows: Sequence[Row]) -> dict[int, int]:
    """Return the input this rule holds against the steps of a rank, by occurrence, in ns."""
    return {
        row["occurrence"]: wait - phase.median_wait_ns
        for phase in _input_phases(rows)
        for row, wait in zip(phase.rows, phase.waits_ns, strict=True)
    }


def _input_phases(rows: Sequence[Row]) -> list[_Phase]:
    named = names_input(rows)
    return _phases(rows, lambda row: wait_ns(row, named), "input" if named else "gap")


def _other_phases(rows: Sequence[Row]) -> list[_Phase]:
    if not names_input(rows):
        return []
    return _phases(rows, lambda row: gap_ns(row) - int(row["gap_input_ns"] or 0), "other")


def _phases(rows: Sequence[Row], measure: Callable[[Row], int], kind: str) -> list[_Phase]:
    judged = judged_steps(rows)
    if len(judged) < MIN_STEPS:
        return []
    waits = [measure(row) for row in judged]
    middle = median(waits)
    period = median(row["dur_ns"] + gap_ns(row) for row in judged)
    limit = max(outlier_threshold(waits, SIGMAS, FACTOR), middle + MIN_SHARE_OF_STEP * period)
    phases: list[list[int]] = []
    for position, wait in enumerate(waits):
        if wait <= limit:
            continue
        if phases and phases[-1][-1] == position - 1:
            phases[-1].append(position)
        else:
            phases.append([position])
    return [
        _Phase(tuple(judged[i] for i in found), tuple(waits[i] for i in found), middle, kind)
        for found in phases
    ]


def _claim(tables: JobTables, ledger: Ledger, claim: Claim, phase: _Phase) -> None:
    for row, wait in zip(phase.rows, phase.waits_ns, strict=True):
        for lane in tables.lanes_of(row["process_id"]):
            excess = wait - phase.median_wait_ns
            claim.add(lane, ledger.claim(lane, wait_window(row), excess, Budget.IDLE))


def _finding(tables: JobTables, claim: Claim, group: list[_Phase]) -> Finding:
    worst = max(group, key=lambda phase: phase.excess_ns)
    ranks = name_ranks(tables, [phase.rows[0]["process_id"] for phase in group])
    return Finding(
        RULE,
        severity_of(claim.total_ns / tables.observed_ns),
        _title(tables, worst, ranks),
        _ADVICE[worst.kind],
        claim.at_stake_ns,
        claim.gpu_hours,
        _CONFIDENCE[worst.kind],
        evidence=[
            {
                "table": "step_summary",
                "rank": row["rank"],
                "process_id": row["process_id"],
                "step": row["step"],
                "start_ns": row["start_ns"],
                "gap_before_ns": row["gap_before_ns"],
                "gap_input_ns": row["gap_input_ns"],
                "input_ns": row["input_ns"],
                "wait_ns": wait,
                "median_wait_ns": phase.median_wait_ns,
            }
            for phase in group
            for row, wait in zip(phase.rows, phase.waits_ns, strict=True)
        ][:50],
    )


_CONFIDENCE = {"input": 0.9, "gap": 0.6, "other": 0.8}
_ADVICE = {
    "input": "Look at what the input pipeline did then: a new shard or file, a cold cache, slow "
    "storage. More loader workers and prefetching hide short stalls.",
    "gap": "If the loop fetches its batch between the steps, look at what the input pipeline did "
    "then: a new shard or file, a cold cache, slow storage. Otherwise it is an evaluation, a "
    "checkpoint or logging. A range named input around the fetch would tell.",
    "other": "Input ranges do not cover this time: an evaluation, a checkpoint, logging or garbage "
    "collection between the steps. Annotate it to see which.",
}


def _title(tables: JobTables, phase: _Phase, ranks: str) -> str:
    mean = sum(phase.waits_ns) / len(phase.waits_ns)
    steps = name_steps(tables, [row["step"] for row in phase.rows])
    amount = f"{len(phase.rows)} x {duration(mean)}" if len(phase.rows) > 1 else duration(mean)
    if phase.median_wait_ns:
        times = factor(mean / phase.median_wait_ns)
        usual = f"{times} the median of {duration(phase.median_wait_ns)}"
    else:
        usual = "other steps did not wait"
    if phase.kind == "other":
        return f"Before {steps}, {amount} passed between steps without input{ranks}, {usual}"
    title = f"Before {steps} the job waited {amount} for input{ranks}, {usual}"
    return title if phase.kind == "input" else f"{title}, taking the gap between steps for input"
