"""The first step, which pays for warm-up: said, but not held against the run."""

from __future__ import annotations

from tracemill_schema.vocab import Severity

from tracemill_analysis.findings.base import Finding
from tracemill_analysis.findings.ledger import Budget, Claim, Ledger
from tracemill_analysis.findings.outlier_steps import FACTOR, SIGMAS
from tracemill_analysis.findings.stats import median, outlier_threshold
from tracemill_analysis.findings.steps import MIN_STEPS, judged_steps, name_ranks, work_ns
from tracemill_analysis.findings.tables import JobTables, Row, Window
from tracemill_analysis.units import duration, factor

RULE = "warm_up"


def evaluate(tables: JobTables, ledger: Ledger) -> list[Finding]:
    """Tell how much longer the first recorded step took; severity info."""
    claim = Claim()
    slow: list[tuple[Row, int]] = []
    for rows in tables.steps.values():
        judged = judged_steps(rows)
        if len(judged) < MIN_STEPS or rows[0]["occurrence"] != 0:
            continue
        work = [work_ns(row) for row in judged]
        first, middle = rows[0], median(work)
        if work_ns(first) <= outlier_threshold(work, SIGMAS, FACTOR) or middle == 0:
            continue
        slow.append((first, median(row["dur_ns"] for row in judged)))
        window = Window(first["start_ns"], first["start_ns"] + first["dur_ns"])
        for lane in tables.lanes_of(first["process_id"]):
            granted = ledger.claim(lane, window, work_ns(first) - middle)
            ledger.charge(
                lane, Budget.IDLE, min(granted, window.length_ns - (first["gpu_busy_ns"] or 0))
            )
            claim.add(lane, granted)
    if not slow:
        return []
    first, middle = max(slow, key=lambda item: item[0]["dur_ns"])
    ranks = name_ranks(tables, [row["process_id"] for row, _ in slow])
    return [
        Finding(
            RULE,
            Severity.INFO,
            f"The first recorded step, {tables.step_label(first['step'])}, took "
            f"{duration(first['dur_ns'])}{ranks}, {factor(first['dur_ns'] / middle)} the median of "
            f"{duration(middle)}: warm-up",
            "Nothing to do in a long run. For comparisons between runs leave the first step out.",
            claim.at_stake_ns,
            claim.gpu_hours,
            0.8,
            evidence=[
                {
                    "table": "step_summary",
                    "rank": row["rank"],
                    "process_id": row["process_id"],
                    "step": row["step"],
                    "start_ns": row["start_ns"],
                    "dur_ns": row["dur_ns"],
                    "median_dur_ns": typical,
                }
                for row, typical in slow
            ],
        )
    ]
