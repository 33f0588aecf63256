"""Matrix products and convolutions that do not use the tensor cores the GPU has."""

from __future__ import annotations

import re

from tracemill_schema.vocab import KernelCategory, Precision

from tracemill_analysis.classify import classify_kernel
from tracemill_analysis.findings.base import Finding, abstain, severity_of
from tracemill_analysis.findings.ledger import Budget, Claim, Ledger
from tracemill_analysis.findings.tables import JobTables, Lane, Row, Window
from tracemill_analysis.units import duration, percent

RULE = "low_tensor_core_share"
MIN_SHARE = 0.05
SPEED_UP = 2
"""Assumed gain of tensor cores on such kernels, on the low side; half of the time is at stake."""

_HARDWARE = re.compile(
    r"\b(V100|T4|T4G|TITAN (V|RTX)|RTX|A10G?|A16|A2|A30|A40|A100|A800|A6000|L4|L20|L40S?|H20|H100"
    r"|H800|H200|GH200|B100|B200|B300|GB200|GB300|MI\d{3}[AXP]?|Orin)\b",
    re.IGNORECASE,
)
_MATRIX = re.compile(
    r"gemm|conv|cudnn.*(fprop|dgrad|wgrad)|wgrad|dgrad|fprop|winograd|cutlass|Cijk_", re.I
)
_NOT_MATRIX = re.compile(
    r"convert|im2col|col2im|nchwToNhwc|nhwcToNchw|elementwise|splitKreduce", re.I
)
_ELIGIBLE = (Precision.FP32, Precision.FP16, Precision.BF16, Precision.TF32)


def evaluate(tables: JobTables, ledger: Ledger) -> list[Finding]:
    """Report if such kernels take 5 % of the GPUs' windows and the hardware could do better."""
    if not tables.has_gpu:
        return [abstain(RULE, "GPU events are needed")]
    models = {row["process_id"]: row["device_name"] for row in tables.rows("processes")}
    if not any(models.values()):
        return [abstain(RULE, "the model of the GPU is needed")]
    capable = {p for p, model in models.items() if model and _HARDWARE.search(model)}
    slow = [
        row
        for row in tables.rows("kernel_summary")
        if row["process_id"] in capable and _misses(row)
    ]
    if not slow:
        return []
    by_lane: dict[Lane, int] = {}
    for row in slow:
        lane = Lane(row["process_id"], row["device"])
        by_lane[lane] = by_lane.get(lane, 0) + row["total_ns"]
    claim, time_ns = Claim(), 0
    for row in tables.gpu_windows:
        lane = Lane(row["process_id"], row["device"])
        total = by_lane.get(lane, 0)
        window = Window(row["window_start_ns"], row["window_end_ns"])
        at_stake = min(total, row["compute_ns"]) // SPEED_UP
        claim.add(lane, ledger.claim(lane, window, at_stake, Budget.COMPUTE))
        time_ns += total
    window_ns = sum(row["window_ns"] for row in tables.gpu_windows)
    if time_ns < MIN_SHARE * window_ns or not claim.granted:
        return []
    return [_finding(tables, claim, slow, time_ns, sorted({m for m in models.values() if m}))]


def _misses(row: Row) -> bool:
    name = row["name"]
    return bool(
        row["category"] == KernelCategory.COMPUTE
        and row["precision"] in _ELIGIBLE
        and _MATRIX.search(name)
        and not _NOT_MATRIX.search(name)
        and not classify_kernel(name).tensor_core
    )


def _finding(
    tables: JobTables, claim: Claim, slow: list[Row], time_ns: int, models: list[str]
) -> Finding:
    compute = [r for r in tables.rows("kernel_summary") if r["category"] == KernelCategory.COMPUTE]
    kernel_ns = sum(row["total_ns"] for row in compute)
    by_precision: dict[str, int] = {}
    for row in slow:
        by_precision[row["precision"]] = by_precision.get(row["precision"], 0) + row["total_ns"]
    main = max(sorted(by_precision), key=lambda name: by_precision[name])
    top = sorted(slow, key=lambda row: (-row["total_ns"], row["name"]))[:10]
    columns = ("rank", "process_id", "device", "name", "precision", "count", "total_ns")
    return Finding(
        RULE,
        severity_of(claim.total_ns / tables.observed_ns),
        f"Matrix and convolution kernels without tensor cores, mostly {main}, take "
        f"{percent(time_ns / kernel_ns)} of compute kernel time: {duration(time_ns)} on "
        f"{', '.join(models)}",
        "Use mixed precision (BF16 or FP16 autocast), or allow TF32 on Ampere and later; keep "
        "sizes multiples of 8. At stake is half of that time: tensor cores are assumed to halve it "
        "at least. Judged by kernel names.",
        claim.at_stake_ns,
        claim.gpu_hours,
        0.6,
        evidence=[
            {"table": "kernel_summary", **{name: row[name] for name in columns}} for row in top
        ],
    )
