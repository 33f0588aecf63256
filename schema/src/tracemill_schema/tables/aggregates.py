"""Aggregates: small tables computed from the event tables, for the dashboard, the report and SQL.

Times are integer nanoseconds. "busy" is always the length of a union of intervals, "total" a sum of
durations; every share names its denominator.
"""

from __future__ import annotations

from tracemill_schema.columns import Column, Role, Table, double, int32, int64, string
from tracemill_schema.tables import waits


def _where(*, device: bool = True) -> tuple[Column, ...]:
    columns: tuple[Column, ...] = (
        int32("process_id", "number of the process within the job"),
        int32("rank", "global rank; null for a helper process", nullable=True),
        string("node", "name of the node"),
    )
    return (*columns, int32("device", "GPU index")) if device else columns


def _distribution(what: str) -> tuple[Column, ...]:
    return (
        int64("count", f"number of {what}", what),
        int64("total_ns", "sum of durations", "ns"),
        int64("min_ns", "shortest", "ns"),
        int64("max_ns", "longest", "ns"),
        double("mean_ns", "total_ns / count", "ns"),
        int64("p50_ns", "median (lower of two)", "ns"),
        int64("p95_ns", "95th percentile, an observed value", "ns"),
        int64("p99_ns", "99th percentile, an observed value", "ns"),
    )


TIME_BREAKDOWN = Table(
    "time_breakdown",
    Role.AGGREGATE,
    "Exact partition of a window of GPU time, one row per rank, device and window kind. "
    "compute_ns + exposed_comm_ns + exposed_mem_ns + idle_ns = window_ns.",
    (
        *_where(),
        string(
            "window_kind",
            "all_gpu: every GPU event; linked: those with a launch; "
            "steps: those launched up to the end of the last step",
        ),
        int64("window_start_ns", "first start among the events", "ns"),
        int64("window_end_ns", "last end among the events", "ns"),
        int64("window_ns", "length of the window", "ns"),
        int64("busy_ns", "union of all events", "ns"),
        int64("idle_ns", "window_ns - busy_ns", "ns"),
        int64("compute_ns", "union of compute kernels", "ns"),
        int64("comm_ns", "union of communication kernels", "ns"),
        int64("mem_ns", "union of memory operations", "ns"),
        int64("overlap_ns", "communication while computing", "ns"),
        int64("exposed_comm_ns", "communication without compute", "ns"),
        int64("exposed_mem_ns", "memory operations without compute or communication", "ns"),
        int64("gpu_events", "events in the window", "events"),
    ),
    sort=("process_id", "device", "window_kind"),
)

KERNEL_SUMMARY = Table(
    "kernel_summary",
    Role.AGGREGATE,
    "Kernel runs by device and name.",
    (
        *_where(),
        string("name", "kernel name"),
        string("category", "compute or communication"),
        string("precision", "data type as far as the name tells"),
        *_distribution("runs"),
        double("share_of_kernel_time", "total_ns / total of all kernels of the device", "0..1"),
        double("share_of_window", "total_ns / window_ns (all_gpu) of the device", "0..1"),
    ),
    sort=("process_id", "device", "total_ns", "name"),
)

LAUNCH_SUMMARY = Table(
    "launch_summary",
    Role.AGGREGATE,
    "Host calls that launched GPU work, by kernel name: how often and how long the call took.",
    (
        *_where(),
        string("name", "kernel name"),
        *_distribution("launches"),
    ),
    sort=("process_id", "device", "count", "name"),
)

LAUNCH_LATENCY = Table(
    "launch_latency",
    Role.AGGREGATE,
    "Time from launch to run, one row per device. A launch of several runs (CUDA graph) counts once.",
    (
        *_where(),
        int64("launches", "launches with a run", "launches"),
        int64("min_ns", "run start - launch start, least", "ns"),
        int64("p50_ns", "median", "ns"),
        int64("p95_ns", "95th percentile", "ns"),
        int64("max_ns", "most", "ns"),
        double("mean_ns", "mean", "ns"),
        int64("after_call_p50_ns", "run start - launch end, median", "ns"),
        int64("negative", "runs that begin before their launch (clock error)", "launches"),
    ),
    sort=("process_id", "device"),
)

ACTIVITY_SUMMARY = Table(
    "activity_summary",
    Role.AGGREGATE,
    "GPU activity by kind within the all_gpu window of a device.",
    (
        *_where(),
        string("activity", "kernel, memcpy, memset, sync, idle"),
        int64("count", "events", "events"),
        int64("total_ns", "sum of durations", "ns"),
        int64("busy_ns", "union of the events", "ns"),
        double("share_of_window", "busy_ns / window_ns", "0..1"),
    ),
    sort=("process_id", "device", "activity"),
)

MEMORY_OP_SUMMARY = Table(
    "memory_op_summary",
    Role.AGGREGATE,
    "Memory operations by device, kind and kinds of memory.",
    (
        *_where(),
        string("kind", "HtoD, DtoH, DtoD, PtoP, HtoH, memset, other"),
        string("src_kind", "pageable, pinned, device, …", nullable=True),
        string("dst_kind", "pageable, pinned, device, …", nullable=True),
        int64("count", "operations", "operations"),
        int64("bytes", "bytes moved, of those with a known size", "bytes"),
        int64("sized", "operations with a known size", "operations"),
        int64("total_ns", "sum of durations", "ns"),
        int64("busy_ns", "union of the operations", "ns"),
        double(
            "bandwidth_bytes_per_s",
            "bytes / total time of those with a known size",
            "bytes/s",
            nullable=True,
        ),
    ),
    sort=("process_id", "device", "kind", "src_kind", "dst_kind"),
)

PRECISION_SUMMARY = Table(
    "precision_summary",
    Role.AGGREGATE,
    "Kernel time by data type, as far as kernel names tell.",
    (
        *_where(),
        string("precision", "FP64, FP32, TF32, BF16, FP16, FP8, INT8, INT32, other"),
        int64("count", "kernel runs", "runs"),
        int64("total_ns", "sum of durations", "ns"),
        int64("tensor_core_ns", "part of it in kernels whose name shows tensor cores", "ns"),
        double(
            "share_of_kernel_time", "total_ns / total of all compute kernels of the device", "0..1"
        ),
    ),
    sort=("process_id", "device", "precision"),
)

UTILIZATION = Table(
    "utilization",
    Role.AGGREGATE,
    "Utilisation over time: per GPU (busy union / bin) and per CPU core and node (from samples).",
    (
        string("node", "name of the node"),
        int32("process_id", "process a GPU row belongs to", nullable=True),
        int32("rank", "global rank a GPU row belongs to", nullable=True),
        string("resource", "gpu or cpu"),
        int32("index", "GPU index or core; -1 = mean over the node's cores"),
        int64("bin_start_ns", "start of the bin", "ns"),
        int64("bin_ns", "length of the bin", "ns"),
        double("utilization", "busy / bin", "0..1"),
        int64("busy_ns", "union of GPU events, or busy time of the core(s)", "ns"),
        int64("compute_ns", "union of compute kernels (gpu)", "ns", nullable=True),
        int64("comm_ns", "union of communication kernels (gpu)", "ns", nullable=True),
        int64("mem_ns", "union of memory operations (gpu)", "ns", nullable=True),
    ),
    sort=("resource", "node", "process_id", "index", "bin_start_ns"),
)

STEP_SUMMARY = Table(
    "step_summary",
    Role.AGGREGATE,
    "Training steps, one row per rank and step annotation.",
    (
        *_where(device=False),
        int64("thread", "thread that ran the step"),
        int64("occurrence", "order of the step on this rank, from 0 (step numbers may repeat)"),
        int64("step", "number of the step"),
        int64("start_ns", "start of the annotation", "ns"),
        int64("dur_ns", "host time of the step", "ns"),
        int64(
            "gap_before_ns",
            "time since the previous step's end; null for the first",
            "ns",
            nullable=True,
        ),
        int64(
            "input_ns",
            "time inside input ranges of the step's thread during the step (union)",
            "ns",
        ),
        int64(
            "gap_input_ns", "the same during gap_before_ns; null for the first", "ns", nullable=True
        ),
        int64("gpu_events", "GPU events launched in the step", "events"),
        int64(
            "gpu_busy_ns",
            "union of those events, all devices of the rank merged",
            "ns",
            nullable=True,
        ),
        int64("gpu_span_ns", "first start to last end of those events", "ns", nullable=True),
        int64("compute_ns", "union of compute kernels", "ns", nullable=True),
        int64("comm_ns", "union of communication kernels", "ns", nullable=True),
        int64("exposed_comm_ns", "communication without compute", "ns", nullable=True),
        int64("mem_ns", "union of memory operations", "ns", nullable=True),
        int64("idle_ns", "gpu_span_ns - gpu_busy_ns", "ns", nullable=True),
    ),
    sort=("process_id", "occurrence"),
)

ANNOTATION_SUMMARY = Table(
    "annotation_summary",
    Role.AGGREGATE,
    "User ranges by rank and series.",
    (
        *_where(device=False),
        string("series", "name without its trailing number"),
        *_distribution("ranges"),
        int64("busy_ns", "union of the ranges of all threads", "ns"),
        int64("slowest_index", "trailing number of the longest; null without one", nullable=True),
        int64("slowest_step", "step the longest falls in", nullable=True),
        int64("slowest_start_ns", "start of the longest", "ns"),
        double(
            "share_of_capture", "busy_ns / time from the rank's first to last annotation", "0..1"
        ),
    ),
    sort=("process_id", "total_ns", "series"),
)

OPERATOR_SUMMARY = Table(
    "operator_summary",
    Role.AGGREGATE,
    "Framework operators (imports) by rank, name and module. An operator contains what begins on "
    "its thread between its start and its end; a kernel belongs where its launch call begins.",
    (
        *_where(device=False),
        string("category", "cpu_op, python_function, …, as the recorder named it"),
        string("name", "operator name"),
        string("module", "module it belongs to", nullable=True),
        int64("count", "runs, those within a run of the same operator too", "runs"),
        int64(
            "total_ns",
            "time inside at least one run (union on each thread, summed over threads): recursion "
            "counts once",
            "ns",
        ),
        int64(
            "self_ns",
            "sum of durations without the operators directly within, of any name",
            "ns",
        ),
        int64("min_ns", "shortest run", "ns"),
        int64("max_ns", "longest run", "ns"),
        double("mean_ns", "mean duration of all runs", "ns"),
        int64("kernels", "kernel runs launched within, each once", "runs"),
        int64("self_kernels", "those of which this was the innermost operator", "runs"),
        int64("gpu_ns", "sum of durations of kernels", "ns"),
        int64("self_gpu_ns", "sum of durations of self_kernels", "ns"),
        int64(
            "launches", "launch calls of kernels; one of several kernels (CUDA graph) once", "calls"
        ),
        int64(
            "launch_delay_ns",
            "sum over launches of first kernel's start - launch start; the mean is this / launches",
            "ns",
        ),
    ),
    sort=("process_id", "total_ns", "category", "name", "module"),
)

CPU_SUMMARY = Table(
    "cpu_summary",
    Role.AGGREGATE,
    "Sampled host metrics. Cumulative metrics are summarised as rates per second between samples; "
    "CPU time of cores as utilisation.",
    (
        string("node", "name of the node"),
        int32("process_id", "process of a process metric", nullable=True),
        int32("rank", "its rank", nullable=True),
        string("metric", "cpu_utilization or a metric's name"),
        string("unit", "unit of mean, min, max and p95"),
        int32("index", "core; -1 for the whole node or process"),
        int64("samples", "values used", "samples"),
        double("mean", "time-weighted mean"),
        double("min", "least"),
        double("max", "most"),
        double("p95", "95th percentile, an observed value"),
    ),
    sort=("node", "process_id", "metric", "index"),
)

COLLECTIVE_SUMMARY = Table(
    "collective_summary",
    Role.AGGREGATE,
    "Collectives by rank, group and operation.",
    (
        *_where(),
        string("process_group", "communicator or process group", nullable=True),
        string("operation", "all_reduce, all_gather, …"),
        *_distribution("collectives"),
        int64("bytes", "message bytes of those with a known size", "bytes"),
    ),
    sort=("process_id", "device", "process_group", "operation"),
)

TABLES: tuple[Table, ...] = (
    TIME_BREAKDOWN,
    KERNEL_SUMMARY,
    LAUNCH_SUMMARY,
    LAUNCH_LATENCY,
    ACTIVITY_SUMMARY,
    MEMORY_OP_SUMMARY,
    PRECISION_SUMMARY,
    UTILIZATION,
    STEP_SUMMARY,
    ANNOTATION_SUMMARY,
    OPERATOR_SUMMARY,
    CPU_SUMMARY,
    COLLECTIVE_SUMMARY,
    *waits.TABLES,
)
