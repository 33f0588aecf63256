"""Whole hand-made profiles for tests of the app: a GPU job, a CPU job, and jobs that are not whole.

The GPU job: 2 nodes with 2 ranks of 1 GPU each, 10 s from START_NS, 40 steps of 200 ms, step 23 of
rank 3 takes 900 ms. All figures are chosen so that sums can be done by hand.
"""

from __future__ import annotations

import json
from typing import Any

from tracemill_analysis.parquet import write_rows
from tracemill_analysis.store import LocalStore
from tracemill_schema import SCHEMA_VERSION, layout
from tracemill_schema.tables import TABLE_BY_NAME

from tests.support.aggregates import write_rows_to_store
from tests.support.tables import Row, row

MS = 1_000_000
SECOND = 1_000 * MS
START_NS = 1_790_000_000 * SECOND
NODES = ("algo-1", "algo-1", "algo-2", "algo-2")
BIN_NS = 100 * MS
STEPS = 40
SLOW_STEP, SLOW_RANK, SLOW_NS = 23, 3, 900 * MS

KERNELS: tuple[tuple[str, str, str, int, int], ...] = (
    # name, category, precision, runs per GPU, total time per GPU in ms
    ("sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32",
     "compute", "BF16", 400, 2_000),
    ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "communication", "other", 200, 1_500),
    ("flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64, 64, 4, bf16>>",
     "compute", "BF16", 400, 900),
    ("void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float>>",
     "compute", "FP32", 4_000, 500),
    *((f"elementwise_kernel_{n:02d}", "compute", "FP32", 100, 20 - n) for n in range(16)),
)  # fmt: skip
KERNEL_MS = 2_000 + 1_500 + 900 + 500 + sum(20 - n for n in range(16))
"""Kernel time of one GPU in ms: 5,100."""


def write_manifest(store: LocalStore, name: str, job: Row, **changes: Any) -> None:
    """Write a job's manifest; ``changes`` replace its top-level entries."""
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "job_name": name,
        "state": "processed",
        "job": job,
        "inputs": [],
        "tables": {},
        "verdict": [],
        **changes,
    }
    store.write_bytes(layout.manifest_key(name), json.dumps(manifest).encode())


def job_row(**values: Any) -> Row:
    """A row of the JOBS table."""
    defaults = {
        "status": "Completed",
        "completeness": "complete",
        "source": "tracemill",
        "start_ns": START_NS,
        "end_ns": START_NS + 10 * SECOND,
        "dur_ns": 10 * SECOND,
        "simulated": False,
        "nodes": 1,
        "schema_version": SCHEMA_VERSION,
    }
    return row("jobs", **{**defaults, **values})


def _distribution(count: int, total_ns: int, **values: Any) -> Row:
    mean = total_ns / count
    shape = {"min_ns": int(mean // 2), "max_ns": int(mean * 3), "p50_ns": int(mean)}
    tail = {"p95_ns": int(mean * 2), "p99_ns": int(mean * 2.5)}
    return {"count": count, "total_ns": total_ns, "mean_ns": mean, **shape, **tail, **values}


def _where(rank: int, *, device: bool = True) -> Row:
    place = {"process_id": rank, "rank": rank, "node": NODES[rank]}
    return {**place, "device": rank % 2} if device else place


def _gpu_tables(rank: int) -> dict[str, list[Row]]:
    where = _where(rank)
    window_ns = 8 * SECOND
    compute, comm, overlap, mem = 3_600 * MS, 1_500 * MS, 500 * MS, 400 * MS
    busy = compute + comm - overlap + mem
    breakdown = {
        **where, "window_start_ns": START_NS + SECOND,
        "window_end_ns": START_NS + SECOND + window_ns,
        "window_ns": window_ns, "busy_ns": busy, "idle_ns": window_ns - busy, "compute_ns": compute,
        "comm_ns": comm, "mem_ns": mem, "overlap_ns": overlap, "exposed_comm_ns": comm - overlap,
        "exposed_mem_ns": mem, "gpu_events": 7_000,
    }  # fmt: skip
    activity = {
        "kernel": (4_600, 7_000),
        "memcpy": (390, 240),
        "memset": (10, 40),
        "idle": (3_000, 0),
    }
    return {
        "time_breakdown": [
            {**breakdown, "window_kind": "all_gpu"},
            {**breakdown, "window_kind": "linked", "gpu_events": 6_900},
        ],
        "kernel_summary": [
            {**where, "name": name, "category": category, "precision": precision,
             **_distribution(runs, total_ms * MS),
             "share_of_kernel_time": total_ms / KERNEL_MS, "share_of_window": total_ms / 8_000}
            for name, category, precision, runs, total_ms in KERNELS
        ],
        "launch_summary": [
            {**where, "name": name, **_distribution(runs, runs * 8_000)}
            for name, _, _, runs, _ in KERNELS
        ],
        "launch_latency": [
            {**where, "launches": 6_600, "min_ns": 3_100, "p50_ns": 42_000, "p95_ns": 910_000,
             "max_ns": 4_200_000, "mean_ns": 120_000.0, "after_call_p50_ns": 35_000, "negative": 0}
        ],
        "activity_summary": [
            {**where, "activity": name, "count": count, "total_ns": ms * MS, "busy_ns": ms * MS,
             "share_of_window": ms / 8_000}
            for name, (ms, count) in activity.items()
        ],
        "memory_op_summary": [
            {**where, "kind": kind, "count": count, "bytes": size, "sized": count,
             "total_ns": ms * MS, "busy_ns": ms * MS, "bandwidth_bytes_per_s": size * 1_000 / ms}
            for kind, ms, count, size in (
                ("HtoD", 300, 200, 3 << 30), ("DtoH", 90, 40, 1 << 30), ("memset", 10, 40, 1 << 20))
        ],
        "precision_summary": [
            {**where, "precision": "BF16", "count": 800, "total_ns": 2_900 * MS,
             "tensor_core_ns": 2_000 * MS, "share_of_kernel_time": 2_900 / 3_600},
            {**where, "precision": "FP32", "count": 5_600, "total_ns": 700 * MS,
             "tensor_core_ns": 0,
             "share_of_kernel_time": 700 / 3_600},
        ],
        "collective_summary": [
            {**where, "process_group": "0", "operation": "all_reduce",
             **_distribution(200, 1_500 * MS), "bytes": 200 << 20}
        ],
        "idle_causes": [
            {**where, "cause": "input_wait", "idle_ns": 2 * SECOND, "gaps": 40,
             "longest_ns": 90 * MS, "share_of_idle": 2 / 3, "share_of_window": 0.25},
            {**where, "cause": "other", "idle_ns": SECOND, "gaps": 3,
             "longest_ns": 500 * MS, "share_of_idle": 1 / 3, "share_of_window": 0.125},
        ],
        "queue_depth": [
            {**where, "stream": stream, "bin_start_ns": START_NS + at * BIN_NS, "bin_ns": BIN_NS,
             "max_depth": 9, "mean_depth": 1.5}
            for stream in (7, 20) for at in (0, 2)
        ],
        "stragglers": [
            {"process_id": rank, "rank": rank, "node": NODES[rank], "collectives": 200,
             "last": 140 if rank == SLOW_RANK else 20,
             "last_wait_ns": SECOND if rank == SLOW_RANK else 10 * MS,
             "caused_wait_ns": 0, "suffered_wait_ns": rank * MS, "max_lateness_ns": 700 * MS,
             "end_offset_ns": 1_000, "clock_spread_ns": 500}
        ],
    }  # fmt: skip


def _step_rows(rank: int) -> list[Row]:
    rows, start = [], START_NS + SECOND
    for step in range(STEPS):
        slow = step == SLOW_STEP and rank == SLOW_RANK
        dur = SLOW_NS if slow else 200 * MS
        rows.append(
            {**_where(rank, device=False), "thread": 100 + rank, "occurrence": step, "step": step,
             "start_ns": start, "dur_ns": dur, "gap_before_ns": 0 if step else None,
             "input_ns": 20 * MS, "gpu_events": 170, "gpu_busy_ns": 120 * MS,
             "gpu_span_ns": dur - 10 * MS, "compute_ns": 90 * MS, "comm_ns": 37 * MS,
             "exposed_comm_ns": 25 * MS, "mem_ns": 10 * MS, "idle_ns": dur - 130 * MS}
        )  # fmt: skip
        start += dur
    return rows


def _gpu_bins(rank: int) -> list[Row]:
    """100 bins; in every tenth the GPU is idle, in the others busy for 20 ms times (rank + 1)."""
    return [
        {"node": NODES[rank], "process_id": rank, "rank": rank, "resource": "gpu",
         "index": rank % 2,
         "bin_start_ns": START_NS + n * BIN_NS, "bin_ns": BIN_NS,
         "busy_ns": busy, "utilization": busy / BIN_NS,
         "compute_ns": busy, "comm_ns": 0, "mem_ns": 0}
        for n in range(100)
        for busy in [0 if n % 10 == 0 else 20 * MS * (rank + 1)]
    ]  # fmt: skip


def _cpu_bins(node: str, share: float) -> list[Row]:
    return [
        {"node": node, "resource": "cpu", "index": core, "bin_start_ns": START_NS + n * BIN_NS,
         "bin_ns": BIN_NS, "utilization": share, "busy_ns": round(share * BIN_NS)}
        for core in (-1, 0, 1)
        for n in range(100)
    ]  # fmt: skip


def _annotation_tables(rank: int, series: dict[str, int]) -> dict[str, list[Row]]:
    """``series`` gives the length of each range in ms; there are STEPS of each."""
    summary, ranges = [], []
    for name, ms in series.items():
        summary.append(
            {**_where(rank, device=False), "series": name, **_distribution(STEPS, STEPS * ms * MS),
             "busy_ns": STEPS * ms * MS, "slowest_index": SLOW_STEP, "slowest_step": SLOW_STEP,
             "slowest_start_ns": START_NS, "share_of_capture": 0.1}
        )  # fmt: skip
        ranges += [
            row("annotations", process_id=rank, rank=rank, thread=100 + rank, name=f"{name}_{n}",
                series=name, index=n, start_ns=START_NS + SECOND + n * 200 * MS, dur_ns=ms * MS)
            for n in range(STEPS)
        ]  # fmt: skip
    return {"annotation_summary": summary, "annotations": ranges}


def _host_metrics(node: str, rank: int) -> list[Row]:
    figures = (
        ("cpu_utilization", "0..1", 0.45, 0.1, 0.97, 0.9),
        ("memory_used_bytes", "bytes", 48e9, 40e9, 52e9, 51e9),
        ("net_receive_bytes", "bytes/s", 1.2e8, 0.0, 9e8, 8e8),
    )
    return [
        {"node": node, "metric": metric, "unit": unit, "index": -1, "samples": 100,
         "mean": mean, "min": low, "max": high, "p95": p95}
        for metric, unit, mean, low, high, p95 in figures
    ] + [
        {"node": node, "process_id": rank, "rank": rank, "metric": "process_rss_bytes",
         "unit": "bytes", "index": -1, "samples": 100, "mean": 9e9, "min": 8e9, "max": 1e10,
         "p95": 9.9e9}
    ]  # fmt: skip


def _findings() -> list[Row]:
    return [
        {"position": 0, "rule": "input_bound", "severity": "high",
         "title": "The GPUs wait for input in 40 of 40 steps.",
         "advice": "Use more loader workers or decode on the GPU.", "at_stake_ns": 800 * MS,
         "gpu_hours": 0.000889, "confidence": 0.9, "abstained": False, "evidence": "[]"},
        {"position": 1, "rule": "outlier_steps", "severity": "medium",
         "title": "Step 23 of rank 3 took 4.5 times the median.",
         "advice": "Look at what the host did then.", "at_stake_ns": 700 * MS,
         "gpu_hours": 0.000778, "confidence": 0.8, "abstained": False, "evidence": "[]"},
        {"position": 2, "rule": "throttling", "severity": "info",
         "title": "Needs power samples.", "advice": "", "at_stake_ns": 0, "gpu_hours": 0.0,
         "confidence": 0.0, "abstained": True, "evidence": "[]"},
    ]  # fmt: skip


def _process(rank: int, node: str, **values: Any) -> Row:
    shared = {
        "node": node, "rank": rank, "rank_source": "content", "pid": 70 + rank, "clock": "unix",
        "clock_spread_ns": 180, "start_ns": START_NS, "end_ns": START_NS + 10 * SECOND,
        "source_format": "tracemill", "source_file": f"node={node}", "end_reason": "stop",
        "events_read": 7_010, "events_kept": 7_000, "events_dropped": 10,
    }  # fmt: skip
    return {"process_id": rank, **shared, **values}


def _write(store: LocalStore, name: str, tables: dict[str, list[Row]]) -> None:
    """Write tables; event tables that the app reads by part get one file per process."""
    annotations = tables.pop("annotations", [])
    write_rows_to_store(store, name, tables)
    for process_id in sorted({one["process_id"] for one in annotations}):
        of_process = [one for one in annotations if one["process_id"] == process_id]
        part = layout.process_part(process_id)
        write_rows(store, TABLE_BY_NAME["annotations"], name, part, of_process)


def _add(tables: dict[str, list[Row]], more: dict[str, list[Row]]) -> None:
    for name, rows in more.items():
        tables.setdefault(name, []).extend(rows)


def write_gpu_job(store: LocalStore, name: str = "gpu-job", **job: Any) -> None:
    """Write the GPU job described at the top of this module; ``job`` changes its JOBS row."""
    about = job_row(
        framework="PyTorch 2.13.0", device_name="NVIDIA A100-SXM4-40GB",
        instance_type="ml.p4d.24xlarge", nodes=2, gpus=4, ranks=4, processes=4, steps=STEPS,
        gpu_events=28_000, events_read=28_040, events_kept=28_000, events_dropped=40,
        gpu_utilization=0.625, cpu_utilization=0.45, findings=2,
        verdict="37.5 % of GPU time was idle; most of it waits for input.",
    )  # fmt: skip
    about.update(job)
    tables: dict[str, list[Row]] = {
        "jobs": [about],
        "findings": _findings(),
        "drops": [{"process_id": 3, "rank": 3, "source_file": "node=algo-2", "reason": "ring_full",
                   "events": 40, "lost": True, "example": "block 17"}],
    }  # fmt: skip
    for rank, node in enumerate(NODES):
        _add(tables, {"processes": [_process(rank, node, devices=str(rank % 2))]})
        _add(tables, _gpu_tables(rank))
        _add(tables, {"step_summary": _step_rows(rank), "utilization": _gpu_bins(rank)})
        _add(tables, _annotation_tables(rank, {"step": 200, "Forward": 60, "Backward": 110}))
    for number, node in enumerate(("algo-1", "algo-2")):
        _add(tables, {"utilization": _cpu_bins(node, 0.25 * (number + 1))})
        _add(tables, {"cpu_summary": _host_metrics(node, number * 2)})
    _write(store, name, tables)
    report = "<!doctype html><title>Report</title><h1>Report of the GPU job</h1>"
    for report_format, text in (("html", report), ("json", "{}"), ("txt", "Report\n")):
        store.write_bytes(layout.report_key(name, report_format), text.encode())
    write_manifest(store, name, about)


def write_cpu_job(
    store: LocalStore, name: str = "cpu-job", series: dict[str, int] | None = None, **job: Any
) -> None:
    """Write a job of one process without GPU activity; ``series`` are its annotations."""
    about = job_row(
        framework="NumPy 2.4.6", ranks=1, processes=1, steps=STEPS, cpu_utilization=0.25,
        verdict="One step was slow.",
    )  # fmt: skip
    about.update(job)
    tables: dict[str, list[Row]] = {"jobs": [about]}
    where = {"process_id": 0, "rank": 0, "node": "algo-1"}
    _add(tables, {"processes": [_process(0, "algo-1")]})
    steps = [
        {**one, "gpu_events": 0, **dict.fromkeys(_GPU_STEP_COLUMNS), **where}
        for one in _step_rows(SLOW_RANK)
    ]
    _add(tables, {"step_summary": steps})
    _add(
        tables,
        {"utilization": _cpu_bins("algo-1", 0.25), "cpu_summary": _host_metrics("algo-1", 0)},
    )
    _add(tables, _annotation_tables(0, series or {"step": 200, "Forward": 60}))
    _write(store, name, tables)
    write_manifest(store, name, about)


_GPU_STEP_COLUMNS = (
    "gpu_busy_ns", "gpu_span_ns", "compute_ns", "comm_ns", "exposed_comm_ns", "mem_ns", "idle_ns",
)  # fmt: skip


def write_recorded_job(store: LocalStore, name: str = "raw-job") -> None:
    """Write a job that has raw segments but was not processed."""
    key = layout.SegmentKey(name, "algo-1", 71, START_NS - 3_600 * SECOND, 1)
    store.write_bytes(layout.segment_key(key), b"raw")


def write_broken_job(store: LocalStore, name: str = "broken-job") -> None:
    """Write a job whose manifest is cut off."""
    store.write_bytes(layout.manifest_key(name), b'{"schema_version": 1, "job')


def write_newer_job(store: LocalStore, name: str = "newer-job") -> None:
    """Write a job of a schema version that does not exist yet."""
    write_manifest(store, name, job_row(), schema_version=SCHEMA_VERSION + 1)
