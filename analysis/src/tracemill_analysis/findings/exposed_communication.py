"""Communication that no computation hides."""

from __future__ import annotations

from tracemill_analysis.findings.base import Finding, abstain, severity_of
from tracemill_analysis.findings.ledger import Budget, Claim, Ledger
from tracemill_analysis.findings.tables import JobTables, Lane, Window
from tracemill_analysis.units import duration, percent

RULE = "exposed_communication"
MIN_SHARE = 0.05


def evaluate(tables: JobTables, ledger: Ledger) -> list[Finding]:
    """Report if exposed communication takes 5 % of the GPUs' windows (all GPU events)."""
    if not tables.has_gpu:
        return [abstain(RULE, "GPU events are needed")]
    rows = tables.gpu_windows
    exposed = sum(row["exposed_comm_ns"] for row in rows)
    communication = sum(row["comm_ns"] for row in rows)
    window = sum(row["window_ns"] for row in rows)
    if window == 0 or exposed < MIN_SHARE * window:
        return []
    claim = Claim()
    for row in rows:
        lane = Lane(row["process_id"], row["device"])
        span = Window(row["window_start_ns"], row["window_end_ns"])
        claim.add(lane, ledger.claim(lane, span, row["exposed_comm_ns"], Budget.COMMUNICATION))
    if not claim.granted:
        return []
    overlapped = sum(row["overlap_ns"] for row in rows) / communication
    gpus = f", sum over {len(rows)} GPUs" if len(rows) > 1 else ""
    columns = (
        "rank",
        "process_id",
        "device",
        "window_ns",
        "comm_ns",
        "overlap_ns",
        "exposed_comm_ns",
    )
    return [
        Finding(
            RULE,
            severity_of(claim.total_ns / tables.observed_ns),
            f"Communication without computation takes {percent(exposed / window)} of GPU time: "
            f"{duration(exposed)} of {duration(window)}{gpus}; {percent(overlapped)} of all "
            "communication is overlapped",
            "Overlap gradients with the backward pass (bucket size, no early synchronisation), use "
            "larger messages, fewer steps of synchronisation (gradient accumulation), and check "
            "that the fast network is used. Waiting for a slower rank counts as communication "
            "here.",
            claim.at_stake_ns,
            claim.gpu_hours,
            0.8,
            evidence=[
                {"table": "time_breakdown", **{name: row[name] for name in columns}} for row in rows
            ][:50],
        )
    ]
