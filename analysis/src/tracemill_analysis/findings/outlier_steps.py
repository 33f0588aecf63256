"""Steps that took far longer than the others of their rank, without counting waits for input."""

from __future__ import annotations

from dataclasses import dataclass

from tracemill_analysis.findings.base import Finding, abstain, severity_of
from tracemill_analysis.findings.ledger import Budget, Claim, Ledger
from tracemill_analysis.findings.stats import median, outlier_threshold
from tracemill_analysis.findings.steps import (
    MIN_STEPS,
    Phase,
    judged_steps,
    name_ranks,
    phase_that_grew,
    work_ns,
)
from tracemill_analysis.findings.tables import JobTables, Row, Window
from tracemill_analysis.units import duration, factor

RULE = "outlier_steps"
SIGMAS = 6.0
FACTOR = 1.5
NAMED = 3


@dataclass(frozen=True)
class _Outlier:
    row: Row
    median_ns: int
    excess_ns: int
    phase: Phase | None


def evaluate(tables: JobTables, ledger: Ledger) -> list[Finding]:
    """Name the steps beyond median + 6 robust sigmas and 1.5 times the median of their rank."""
    if not any(len(judged_steps(rows)) >= MIN_STEPS for rows in tables.steps.values()):
        return [abstain(RULE, f"at least {MIN_STEPS + 1} annotated steps per rank are needed")]
    found = [outlier for rows in tables.steps.values() for outlier in _outliers(tables, rows)]
    if not found:
        return []
    claim = Claim()
    for outlier in found:
        _claim(tables, ledger, claim, outlier)
    if not claim.granted:
        return []
    by_step: dict[int, list[_Outlier]] = {}
    for outlier in found:
        by_step.setdefault(outlier.row["step"], []).append(outlier)
    ranked = sorted(by_step.items(), key=lambda item: -max(o.excess_ns for o in item[1]))
    return [
        Finding(
            RULE,
            severity_of(claim.total_ns / tables.observed_ns),
            _title(tables, ranked),
            "Open the timeline at this step and compare it with its neighbours. Usual causes: "
            "checkpointing, evaluation, memory allocation or garbage collection, recompilation for "
            "a new shape, another process on the machine.",
            claim.at_stake_ns,
            claim.gpu_hours,
            0.9,
            evidence=[_evidence(o) for _, group in ranked for o in group][:50],
        )
    ]


def _outliers(tables: JobTables, rows: list[Row]) -> list[_Outlier]:
    judged = judged_steps(rows)
    if len(judged) < MIN_STEPS:
        return []
    work = [work_ns(row) for row in judged]
    limit = outlier_threshold(work, SIGMAS, FACTOR)
    middle = median(row["dur_ns"] for row in judged)
    return [
        _Outlier(
            row, middle, value - median(work), phase_that_grew(tables, row, value - median(work))
        )
        for row, value in zip(judged, work, strict=True)
        if value > limit
    ]


def _claim(tables: JobTables, ledger: Ledger, claim: Claim, outlier: _Outlier) -> None:
    """Claim the excess; the part the GPU was not busy in comes out of the idle budget."""
    row = outlier.row
    window = Window(row["start_ns"], row["start_ns"] + row["dur_ns"])
    quiet = max(0, row["dur_ns"] - (row["gpu_busy_ns"] or 0))
    for lane in tables.lanes_of(row["process_id"]):
        granted = ledger.claim(lane, window, outlier.excess_ns)
        ledger.charge(lane, Budget.IDLE, min(granted, quiet))
        claim.add(lane, granted)


def _title(tables: JobTables, ranked: list[tuple[int, list[_Outlier]]]) -> str:
    parts = []
    for number, (step, group) in enumerate(ranked[:NAMED]):
        worst = max(group, key=lambda o: o.excess_ns)
        took = worst.row["dur_ns"]
        ratio = factor(took / worst.median_ns) if worst.median_ns else "far more than"
        ranks = name_ranks(tables, sorted(o.row["process_id"] for o in group))
        text = f"{tables.step_label(step)} took {duration(took)}{ranks}, {ratio} the median"
        if number == 0:
            text += f" of {duration(worst.median_ns)}"
        if worst.phase is not None:
            text += (
                f"; {worst.phase.series} in it took {duration(worst.phase.dur_ns)} "
                f"instead of {duration(worst.phase.median_ns)}"
            )
        parts.append(text)
    more = len(ranked) - NAMED
    if more > 0:
        parts.append(f"{more} more steps stand out")
    return "; ".join(parts)


def _evidence(outlier: _Outlier) -> dict[str, object]:
    row = outlier.row
    evidence: dict[str, object] = {
        "table": "step_summary",
        "rank": row["rank"],
        "process_id": row["process_id"],
        "step": row["step"],
        "start_ns": row["start_ns"],
        "dur_ns": row["dur_ns"],
        "input_ns": row["input_ns"],
        "median_dur_ns": outlier.median_ns,
        "excess_ns": outlier.excess_ns,
    }
    if outlier.phase is not None:
        evidence |= {
            "phase": outlier.phase.series,
            "phase_dur_ns": outlier.phase.dur_ns,
            "phase_median_ns": outlier.phase.median_ns,
        }
    return evidence
