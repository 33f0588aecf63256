"""GPU idle time that no other finding explains: does the GPU wait for launches?"""

from __future__ import annotations

from tracemill_analysis.findings.base import Finding, abstain, severity_of
from tracemill_analysis.findings.ledger import Budget, Claim, Ledger
from tracemill_analysis.findings.tables import JobTables, Lane, Row, Window
from tracemill_analysis.units import duration, percent

RULE = "launch_bound"
MIN_SHARE = 0.10
SHORT_QUEUE_NS = 50_000
"""A median latency from launch to run up to this means that hardly anything queues."""


def evaluate(tables: JobTables, ledger: Ledger) -> list[Finding]:
    """Report the idle time left over if it is 10 % of the GPUs' windows (all GPU events)."""
    if not tables.has_gpu:
        return [abstain(RULE, "GPU events are needed")]
    latencies = {
        Lane(row["process_id"], row["device"]): row
        for row in tables.rows("launch_latency")
        if row["launches"] > 0
    }
    if not latencies:
        return [abstain(RULE, "launch calls linked to their kernels are needed")]
    rows = tables.gpu_windows
    window_ns = sum(row["window_ns"] for row in rows)
    lanes = {Lane(row["process_id"], row["device"]): row for row in rows}
    left = sum(ledger.left(lane, Budget.IDLE) for lane in lanes)
    if window_ns == 0 or left < MIN_SHARE * window_ns:
        return []
    claim = Claim()
    for lane, row in lanes.items():
        window = Window(row["window_start_ns"], row["window_end_ns"])
        claim.add(lane, ledger.claim(lane, window, None, Budget.IDLE))
    if not claim.granted or claim.total_ns < MIN_SHARE / 2 * window_ns:
        return []
    return [_finding(tables, claim, lanes, latencies, window_ns)]


def _finding(
    tables: JobTables,
    claim: Claim,
    lanes: dict[Lane, Row],
    latencies: dict[Lane, Row],
    window_ns: int,
) -> Finding:
    idle = sum(row["idle_ns"] for row in lanes.values())
    weight = sum(row["launches"] for row in latencies.values())
    short = sum(r["launches"] for r in latencies.values() if r["p50_ns"] <= SHORT_QUEUE_NS)
    typical = min(latencies.values(), key=lambda row: (-row["launches"], row["p50_ns"]))["p50_ns"]
    waits_for_host = short >= weight / 2
    what = f"GPUs are idle {percent(idle / window_ns)} of their time"
    rest = f"; {percent(claim.total_ns / window_ns)} no other finding explains"
    if waits_for_host:
        title = (
            f"{what} and wait for launches: half of the runs begin within {duration(typical)} of "
            f"their launch call, so hardly anything queues{rest}"
        )
        advice = (
            "The host does not launch fast enough. Take Python and synchronisation (.item(), "
            "print, logging of losses) out of the step, fuse small kernels, use CUDA graphs, or "
            "make the batch larger."
        )
    else:
        title = (
            f"{what} although launches queue ahead (median {duration(typical)} from launch to run)"
            f"{rest}"
        )
        advice = (
            "Look at the gaps in the timeline: synchronisation, dependencies between streams, "
            "copies, or work outside the recorded steps."
        )
    return Finding(
        RULE,
        severity_of(claim.total_ns / tables.observed_ns),
        title,
        advice,
        claim.at_stake_ns,
        claim.gpu_hours,
        0.7 if waits_for_host else 0.4,
        evidence=[_evidence(row, latencies.get(lane), claim, lane) for lane, row in lanes.items()][
            :50
        ],
    )


def _evidence(row: Row, latency: Row | None, claim: Claim, lane: Lane) -> dict[str, object]:
    return {
        "table": "time_breakdown",
        "rank": row["rank"],
        "process_id": row["process_id"],
        "device": row["device"],
        "window_ns": row["window_ns"],
        "idle_ns": row["idle_ns"],
        "unexplained_ns": claim.granted.get(lane, 0),
        "launch_to_run_p50_ns": latency["p50_ns"] if latency else None,
        "launches": latency["launches"] if latency else 0,
    }
