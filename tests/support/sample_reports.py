"""Two hand-made profiles that use every panel of a report: one without and one with GPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tracemill_analysis.findings import JobTables, evaluate
from tracemill_analysis.report import Report, build_report
from tracemill_analysis.store import LocalStore

from tests.support.aggregates import (
    MS,
    US,
    distribution,
    gpu_window,
    job_row,
    job_with,
    processes,
    series,
    steps,
)
from tests.support.tables import JOB, Row

SCRIPT = "<script>alert('x')</script>"
LONG = f"void at::native::{'x' * 5000}::end<float>(int)"


def report_of(store: LocalStore, row: Row) -> Report:
    """The report of the job in a store."""
    return build_report(store, JOB, evaluate(JobTables(store, JOB)), row)


def cpu_report(folder: Path) -> Report:
    """40 steps of 51 ms; step 23 takes 412 ms in Backward; input is slow before 30 to 33."""
    lengths, gaps = [51 * MS] * 40, [7_500 * US] * 40
    lengths[0], lengths[23] = 300 * MS, 412 * MS
    gaps[30:34] = [150 * MS] * 4
    rows = steps(lengths, gaps_ns=gaps, gap_inputs_ns=gaps)
    slow = rows[23]["start_ns"]
    store = job_with(
        folder,
        processes=processes(end_ns=3_500 * MS),
        step_summary=rows,
        annotation_summary=[
            series(
                "step", 40, 51 * MS, longest_ns=412 * MS, slowest_start_ns=slow, slowest_step=23
            ),
            series(
                "Backward", 40, 25 * MS, longest_ns=386 * MS, slowest_start_ns=slow + MS,
                slowest_step=23, share_of_capture=0.42,
            ),
            series("Forward", 40, 15 * MS, share_of_capture=0.2),
        ],
        cpu_summary=[
            _metric("cpu_utilization", "0..1", 0.62, 0.98),
            _metric("memory_used_bytes", "bytes", 6e9, 7e9),
            _metric("memory_total_bytes", "bytes", 1.6e10, 1.6e10),
            {**_metric("process_cpu_ns", "ns/s", 1.9e9, 2e9), "process_id": 0, "rank": 0},
            {**_metric("process_threads", "threads", 12, 14), "process_id": 0, "rank": 0},
        ],
        utilization=[
            {"node": "n0", "resource": "cpu", "index": -1, "bin_start_ns": i * 10 * MS,
             "bin_ns": 10 * MS, "utilization": 0.4 + i * 37 % 11 / 20}
            for i in range(350)
        ],
    )  # fmt: skip
    facts = {"steps": 40, "dur_ns": 3_500 * MS, "framework": "PyTorch 2.13.0"}
    return report_of(store, job_row(**facts))


def _metric(name: str, unit: str, mean: float, most: float) -> Row:
    return {
        "node": "n0", "metric": name, "unit": unit, "index": -1, "samples": 300, "mean": mean,
        "min": 0.0, "max": most, "p95": most,
    }  # fmt: skip


_KERNELS = (
    ("volta_sgemm_128x64_nn", "compute", "FP32", 900, 300 * US),
    (SCRIPT, "compute", "other", 5000, 4 * US),
    (LONG, "compute", "FP32", 300, 80 * US),
    ("ncclDevKernel_AllReduce_Sum_f16_RING_LL", "communication", "other", 80, 900 * US),
    *((f"elementwise_kernel<{i}>", "compute", "FP32", 900 - i, 3 * US) for i in range(25)),
)


def gpu_report(folder: Path) -> Report:
    """Two V100 ranks, simulated and partial, with names that try to be HTML."""
    store = job_with(folder, **_gpu_tables())
    row = job_row(
        steps=12, dur_ns=1_400 * MS, gpus=2, ranks=2, processes=2, framework="PyTorch",
        device_name="Tesla V100-SXM2-32GB", simulated=True, completeness="partial",
        source="kineto",
    )  # fmt: skip
    return report_of(store, row)


def _gpu_tables() -> dict[str, list[Row]]:
    lengths = [100 * MS] * 12
    slower = [*lengths[:6], 230 * MS, *lengths[7:]]
    gpu: dict[str, Any] = {"gpu_busy_ns": 60 * MS, "exposed_comm_ns": 9 * MS}
    ranks: list[Row] = [{"process_id": p, "rank": p, "node": "n0", "device": 0} for p in (0, 1)]
    return {
        "processes": _gpu_processes(),
        "step_summary": steps(lengths, gaps_ns=[MS] * 12, **gpu)
        + steps(slower, gaps_ns=[MS] * 12, process_id=1, **gpu),
        "time_breakdown": [
            gpu_window(600 * MS, 150 * MS, 50 * MS, 400 * MS, overlap=30 * MS),
            gpu_window(800 * MS, 20 * MS, 50 * MS, 300 * MS, overlap=30 * MS, process_id=1),
            gpu_window(600 * MS, 150 * MS, 50 * MS, 300 * MS, window_kind="steps"),
        ],
        "kernel_summary": [
            {**r, "name": n, "category": c, "precision": p, **distribution(k, e, longest_ns=2 * e)}
            for r in ranks
            for n, c, p, k, e in _KERNELS
        ],
        "launch_summary": [
            {**r, "name": n, **distribution(k, 6 * US)} for r in ranks for n, _, _, k, _ in _KERNELS
        ],
        "launch_latency": [
            {**r, "launches": 9000, "min_ns": 4 * US, "p50_ns": 12 * US, "p95_ns": 90 * US,
             "max_ns": 3 * MS, "mean_ns": 2e4, "after_call_p50_ns": 7 * US, "negative": r["rank"]}
            for r in ranks
        ],
        "activity_summary": [
            {**r, "activity": a, "count": 9, "total_ns": b, "busy_ns": b}
            for r in ranks
            for a, b in (("kernel", 750 * MS), ("memcpy", 50 * MS), ("idle", 400 * MS))
        ],
        "memory_op_summary": [
            {**r, "kind": k, "src_kind": s, "dst_kind": d, "count": 40, "bytes": 1 << 30,
             "sized": 40, "total_ns": 40 * MS, "busy_ns": 40 * MS, "bandwidth_bytes_per_s": b}
            for r in ranks
            for k, s, d, b in (("HtoD", "pageable", "device", 2e10), ("memset", None, None, None))
        ],
        "precision_summary": [
            {**r, "precision": p, "count": 9, "total_ns": t * MS, "tensor_core_ns": c * MS}
            for r in ranks
            for p, t, c in (("FP32", 300, 0), ("FP16", 100, 90))
        ],
        "utilization": [
            {**{k: v for k, v in r.items() if k != "device"}, "resource": "gpu", "index": 0,
             "bin_start_ns": i * 10 * MS, "bin_ns": 10 * MS, "utilization": (i * 37 % 11) / 11}
            for r in ranks
            for i in range(120)
        ],
        "collective_summary": [
            {**r, "process_group": "default", "operation": "all_reduce", "bytes": 5 << 20,
             **distribution(80, 900 * US)}
            for r in ranks
        ],
        "annotation_summary": [series(SCRIPT, 12, MS, process_id=r["rank"]) for r in ranks],
        "drops": [
            {"process_id": 1, "rank": 1, "source_file": "rank<b>1.json", "reason": "ring_full",
             "events": 12, "lost": True, "example": "block 3"},
            {"process_id": 0, "rank": 0, "source_file": "a.json", "reason": "unlinked",
             "events": 120, "lost": False, "example": None},
        ],
    }  # fmt: skip


def _gpu_processes() -> list[Row]:
    shared = {"device_name": "Tesla V100-SXM2-32GB", "devices": "0", "end_ns": 1_400 * MS}
    first, second = processes(2, source_file="rank<b>1.json", **shared)
    return [first, {**second, "complete": False, "events_dropped": 12}]
