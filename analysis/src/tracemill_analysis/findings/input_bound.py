"""A run that waits for input all along."""

from __future__ import annotations

from dataclasses import dataclass

from tracemill_analysis.findings.base import Finding, abstain, severity_of
from tracemill_analysis.findings.ledger import Budget, Claim, Ledger
from tracemill_analysis.findings.slow_input import excess_waits
from tracemill_analysis.findings.steps import (
    gap_ns,
    judged_steps,
    names_input,
    wait_ns,
    wait_window,
)
from tracemill_analysis.findings.tables import JobTables, Row
from tracemill_analysis.units import duration, percent

RULE = "input_bound"
MIN_SHARE = 0.10
MIN_STEPS = 3


@dataclass(frozen=True)
class _Rank:
    process_id: int
    rows: list[Row]
    waits_ns: list[int]
    """Wait of each step, without what ``slow_input`` holds against it."""
    named: bool

    @classmethod
    def of(cls, process_id: int, rows: list[Row]) -> _Rank:
        judged = judged_steps(rows) if len(rows) > MIN_STEPS else rows
        named, phases = names_input(rows), excess_waits(rows)
        waits = [wait_ns(row, named) - phases.get(row["occurrence"], 0) for row in judged]
        return cls(process_id, judged, waits, named)

    @property
    def waited_ns(self) -> int:
        return sum(self.waits_ns)

    @property
    def span_ns(self) -> int:
        """Steps and the gaps before them."""
        return sum(row["dur_ns"] + gap_ns(row) for row in self.rows)


def evaluate(tables: JobTables, ledger: Ledger) -> list[Finding]:
    """Report if waits before and in steps take 10 % of the time from first to last step.

    What ``slow_input`` reports as a phase is not counted again.

    On a GPU only time in which it was idle is at stake: a wait behind which the GPU still works
    costs nothing.
    """
    if not any(len(rows) >= MIN_STEPS for rows in tables.steps.values()):
        return [abstain(RULE, f"at least {MIN_STEPS} annotated steps per rank are needed")]
    ranks = [_Rank.of(process_id, rows) for process_id, rows in tables.steps.items()]
    waited, span = sum(r.waited_ns for r in ranks), sum(r.span_ns for r in ranks)
    if span == 0 or waited / span < MIN_SHARE:
        return []
    claim = Claim()
    for rank in ranks:
        for lane in tables.lanes_of(rank.process_id):
            for row, wait in zip(rank.rows, rank.waits_ns, strict=True):
                claim.add(lane, ledger.claim(lane, wait_window(row), wait, Budget.IDLE))
    if not claim.granted or claim.total_ns < MIN_SHARE / 2 * tables.observed_ns:
        return []
    return [_finding(tables, claim, ranks)]


def _finding(tables: JobTables, claim: Claim, ranks: list[_Rank]) -> Finding:
    waited, span = sum(r.waited_ns for r in ranks), sum(r.span_ns for r in ranks)
    steps = sum(len(rank.rows) for rank in ranks)
    over = f", mean over {len(ranks)} ranks" if len(ranks) > 1 else ""
    named = any(rank.named for rank in ranks)
    guess = "" if named else ", taking the gaps between steps for input"
    phases = any(excess_waits(tables.steps[rank.process_id]) for rank in ranks)
    apart = " (slow phases counted apart)" if phases else ""
    return Finding(
        RULE,
        severity_of(claim.total_ns / tables.observed_ns),
        f"The job waits for input {percent(waited / span)} of the time: "
        f"{duration(waited / steps)} of {duration(span / steps)} per step{over}{apart}{guess}",
        "Load data ahead: more loader workers, prefetching, pinned memory, cheaper decoding, data "
        "nearer to the machine.",
        claim.at_stake_ns,
        claim.gpu_hours,
        0.9 if named else 0.5,
        evidence=[
            {
                "table": "step_summary",
                "rank": tables.rank_of(rank.process_id),
                "process_id": rank.process_id,
                "steps": len(rank.rows),
                "waited_ns": rank.waited_ns,
                "window_ns": rank.span_ns,
                "input_named": rank.named,
            }
            for rank in ranks
        ][:50],
    )
