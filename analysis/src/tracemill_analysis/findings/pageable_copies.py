"""Copies between GPU and pageable host memory, which are slower and cannot overlap."""

from __future__ import annotations

from tracemill_analysis.findings.base import Finding, abstain, severity_of
from tracemill_analysis.findings.ledger import Budget, Claim, Ledger
from tracemill_analysis.findings.tables import JobTables, Lane, Window
from tracemill_analysis.units import duration, integer, percent, size

RULE = "pageable_copies"
MIN_SHARE = 0.005
PAGEABLE = "pageable"
_HOST_KINDS = ("HtoD", "DtoH")


def evaluate(tables: JobTables, ledger: Ledger) -> list[Finding]:
    """Report if pageable copies take 0.5 % of the GPUs' windows with nothing beside them."""
    if not tables.has_gpu:
        return [abstain(RULE, "GPU events are needed")]
    copies = [row for row in tables.rows("memory_op_summary") if row["kind"] in _HOST_KINDS]
    if copies and all(row["src_kind"] is None and row["dst_kind"] is None for row in copies):
        return [abstain(RULE, "the kind of host memory of the copies is needed")]
    pageable = [row for row in copies if PAGEABLE in (row["src_kind"], row["dst_kind"])]
    if not pageable:
        return []
    windows = {
        Lane(row["process_id"], row["device"]): Window(row["window_start_ns"], row["window_end_ns"])
        for row in tables.gpu_windows
    }
    claim = Claim()
    for row in pageable:
        lane = Lane(row["process_id"], row["device"])
        if lane in windows:
            claim.add(lane, ledger.claim(lane, windows[lane], row["busy_ns"], Budget.MEMORY))
    observed = sum(window.length_ns for window in windows.values())
    if not claim.granted or claim.total_ns < MIN_SHARE * observed:
        return []
    count = sum(row["count"] for row in pageable)
    total = sum(row["total_ns"] for row in pageable)
    moved = sum(row["bytes"] for row in pageable)
    amount = f", {size(moved)}" if any(row["sized"] for row in pageable) else ""
    columns = (
        "rank",
        "process_id",
        "device",
        "kind",
        "src_kind",
        "dst_kind",
        "count",
        "bytes",
        "total_ns",
    )
    return [
        Finding(
            RULE,
            severity_of(claim.total_ns / tables.observed_ns),
            f"{integer(count)} copies to or from pageable host memory take "
            f"{duration(total)}{amount}; {percent(claim.total_ns / observed)} of GPU time does "
            "nothing else",
            "Pin the host memory (pin_memory=True in the loader, page-locked buffers) and copy "
            "with non_blocking=True, so that copies run at full speed and beside computation.",
            claim.at_stake_ns,
            claim.gpu_hours,
            0.8,
            evidence=[
                {"table": "memory_op_summary", **{name: row[name] for name in columns}}
                for row in pageable
            ][:50],
        )
    ]
