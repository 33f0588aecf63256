"""Many kernels so short that launching them costs more than running them."""

from __future__ import annotations

from tracemill_analysis.findings.base import Finding, abstain, severity_of
from tracemill_analysis.findings.ledger import Budget, Claim, Ledger
from tracemill_analysis.findings.tables import JobTables, Lane, Window
from tracemill_analysis.units import duration, integer, percent

RULE = "small_kernels"
SMALL_NS = 10_000
MIN_SHARE_OF_RUNS = 0.5
MIN_SHARE = 0.01


def evaluate(tables: JobTables, ledger: Ledger) -> list[Finding]:
    """Report if half of the kernel runs are of kernels with a median of 10 µs or less.

    At stake is the host time of their launch calls, each taken for its kernel's median (a first
    call may load a module for a tenth of a second), as far as the GPU was idle that long.
    """
    if not tables.has_gpu:
        return [abstain(RULE, "GPU events are needed")]
    kernels = tables.rows("kernel_summary")
    launches = tables.rows("launch_summary")
    if not launches:
        return [abstain(RULE, "launch calls linked to their kernels are needed")]
    small = [row for row in kernels if row["p50_ns"] <= SMALL_NS]
    runs = sum(row["count"] for row in small)
    all_runs = sum(row["count"] for row in kernels)
    if all_runs == 0 or runs < MIN_SHARE_OF_RUNS * all_runs:
        return []
    names = {(row["process_id"], row["device"], row["name"]) for row in small}
    launch_ns: dict[Lane, int] = {}
    for row in launches:
        if (row["process_id"], row["device"], row["name"]) in names:
            lane = Lane(row["process_id"], row["device"])
            launch_ns[lane] = launch_ns.get(lane, 0) + row["count"] * row["p50_ns"]
    claim = Claim()
    for row in tables.gpu_windows:
        lane = Lane(row["process_id"], row["device"])
        window = Window(row["window_start_ns"], row["window_end_ns"])
        claim.add(lane, ledger.claim(lane, window, launch_ns.get(lane, 0), Budget.IDLE))
    if not claim.granted or claim.total_ns < MIN_SHARE * tables.observed_ns:
        return []
    top = sorted(small, key=lambda row: (-row["count"], row["name"]))[:10]
    columns = ("rank", "process_id", "device", "name", "count", "total_ns", "p50_ns")
    gpu_ns = sum(row["total_ns"] for row in small)
    return [
        Finding(
            RULE,
            severity_of(claim.total_ns / tables.observed_ns),
            f"{integer(runs)} of {integer(all_runs)} kernel runs ({percent(runs / all_runs)}) are "
            f"of kernels with a median of {SMALL_NS // 1000} µs or less: {duration(gpu_ns)} on the "
            f"GPU, {duration(sum(launch_ns.values()))} of host time to launch them",
            "Fuse element-wise work (torch.compile, XLA, fused optimizers), capture the step in a "
            "CUDA graph, or make the batch larger.",
            claim.at_stake_ns,
            claim.gpu_hours,
            0.7,
            evidence=[
                {"table": "kernel_summary", **{name: row[name] for name in columns}} for row in top
            ],
        )
    ]
