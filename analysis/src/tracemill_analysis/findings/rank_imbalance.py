"""Ranks that have more to compute than others, so that the others wait."""

from __future__ import annotations

from tracemill_analysis.findings.base import Finding, abstain, severity_of
from tracemill_analysis.findings.ledger import Budget, Claim, Ledger
from tracemill_analysis.findings.stats import median
from tracemill_analysis.findings.steps import MIN_STEPS, judged_steps
from tracemill_analysis.findings.tables import JobTables, Lane, Row, Window
from tracemill_analysis.units import duration, percent

RULE = "rank_imbalance"
MIN_EXCESS = 0.10
MIN_SHARE = 0.01


def evaluate(tables: JobTables, ledger: Ledger) -> list[Finding]:
    """Compare compute time of GPUs between ranks, or median step times in a job without GPUs."""
    ranks = {row["rank"] for row in tables.rows("processes") if row["rank"] is not None}
    if len(ranks) < 2:
        return []
    if tables.has_gpu:
        return _gpu(tables, ledger)
    return _host(tables)


def _gpu(tables: JobTables, ledger: Ledger) -> list[Finding]:
    rows = [row for row in tables.gpu_windows if row["rank"] is not None]
    if len({row["rank"] for row in rows}) < 2:
        return [abstain(RULE, "GPU events of at least two ranks are needed")]
    mean = sum(row["compute_ns"] for row in rows) / len(rows)
    slowest = max(rows, key=lambda row: (row["compute_ns"], -row["rank"]))
    if mean == 0 or slowest["compute_ns"] / mean - 1 < MIN_EXCESS:
        return []
    claim = Claim()
    for row in rows:
        window = Window(row["window_start_ns"], row["window_end_ns"])
        lane = Lane(row["process_id"], row["device"])
        waits = slowest["compute_ns"] - row["compute_ns"]
        claim.add(lane, ledger.claim(lane, window, waits, Budget.COMMUNICATION))
    if not claim.granted or claim.total_ns < MIN_SHARE * tables.observed_ns:
        return []
    excess = slowest["compute_ns"] / mean - 1
    return [
        Finding(
            RULE,
            severity_of(claim.total_ns / tables.observed_ns),
            f"Rank {slowest['rank']} computes {duration(slowest['compute_ns'])}, {percent(excess)} "
            f"more than the mean of {duration(mean)}; the others wait for it in collectives",
            "Even out the work: sequence lengths, expert or pipeline placement, table sharding. If "
            "the work is equal, compare clocks, temperature and neighbours of that GPU.",
            claim.at_stake_ns,
            claim.gpu_hours,
            0.6,
            evidence=[_gpu_evidence(row) for row in rows][:50],
        )
    ]


def _gpu_evidence(row: Row) -> dict[str, object]:
    columns = ("rank", "device", "window_ns", "busy_ns", "compute_ns", "exposed_comm_ns")
    return {"table": "time_breakdown", **{name: row[name] for name in columns}}


def _host(tables: JobTables) -> list[Finding]:
    medians = {
        rows[0]["rank"]: median(row["dur_ns"] for row in judged_steps(rows))
        for rows in tables.steps.values()
        if rows[0]["rank"] is not None and len(judged_steps(rows)) >= MIN_STEPS
    }
    if len(medians) < 2:
        return [
            abstain(RULE, f"GPU events or {MIN_STEPS + 1} annotated steps of two ranks are needed")
        ]
    mean = sum(medians.values()) / len(medians)
    rank, slowest = max(medians.items(), key=lambda item: (item[1], -item[0]))
    if mean == 0 or slowest / mean - 1 < MIN_EXCESS:
        return []
    return [
        Finding(
            RULE,
            severity_of(0.0),
            f"Rank {rank} takes {duration(slowest)} for a step (median), "
            f"{percent(slowest / mean - 1)} more than the mean of the ranks' medians, "
            f"{duration(mean)}",
            "Even out the work between the ranks, or look for what else runs on that machine. What "
            "it costs cannot be told without collectives.",
            confidence=0.5,
            evidence=[
                {"table": "step_summary", "rank": r, "median_dur_ns": value}
                for r, value in sorted(medians.items())
            ][:50],
        )
    ]
