"""Panels about GPUs: active time, kinds of activity, breakdown, memory operations, precision."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc
from tracemill_schema.vocab import Activity, Precision, WindowKind

from tracemill_ui.panels.model import (
    Context,
    Panel,
    choice,
    panel,
    rank_label,
    stat,
    sum_by,
    with_bars,
    with_shares,
    with_table,
    without_data,
)

MAX_STACKED_ROWS = 64
WINDOW_LABELS = {
    WindowKind.ALL_GPU.value: "every GPU event",
    WindowKind.LINKED.value: "events with a launch",
    WindowKind.STEPS.value: "up to the last step",
}
BREAKDOWN_PARTS = (
    ("compute", "Compute"),
    ("overlap", "Compute + communication"),
    ("exposed_comm", "Exposed communication"),
    ("exposed_mem", "Exposed memory"),
    ("idle", "Idle"),
)


def gpu_active(context: Context) -> Panel:
    """Busy and idle share of the GPUs' windows; beside it SageMaker Profiler's own measure."""
    window_ns = sum(row["window_ns"] for row in context.windows)
    busy_ns = sum(row["busy_ns"] for row in context.windows)
    base = panel(
        "gpu_active",
        "GPU active time",
        "How much of the time at least one kernel or copy ran; a large idle share is time to win.",
        unit="ns",
        window=f"Sum of the windows of {context.gpus_text}, each from its first to its last GPU "
        f"event.{context.whole_text}",
        span=3,
    )
    base["stats"] = [stat("GPUs", len(context.windows), "count")]
    bins = _gpu_bins(context)
    if bins.num_rows:
        active = pc.sum(pc.greater(bins["busy_ns"], 0)).as_py() or 0
        base["stats"].append(stat("Time bins above 0 %", active / bins.num_rows, "share"))
    return with_shares(base, [("Active", busy_ns), ("Idle", window_ns - busy_ns)], window_ns)


def _gpu_bins(context: Context) -> Any:
    bins = context.profile.tables["utilization"]
    bins = context.filter.apply(bins, device_column="index")
    return bins.filter(pc.equal(bins["resource"], "gpu"))


def gpu_activity(context: Context) -> Panel:
    """Union of kernels, copies, memsets and synchronisation, each against the window."""
    window_ns = sum(row["window_ns"] for row in context.windows)
    rows = sum_by(context.table("activity_summary"), ["activity"], ["busy_ns", "count"])
    order = {activity.value: position for position, activity in enumerate(Activity)}
    rows.sort(key=lambda row: order.get(row["activity"], len(order)))
    base = panel(
        "gpu_activity",
        "GPU activity",
        "How long each kind of activity was running; kinds may overlap, so shares can pass 100 %.",
        unit="ns",
        window=f"Union of intervals; share of the windows of {context.gpus_text}."
        f"{context.whole_text}",
    )
    return with_bars(base, [(row["activity"], row["busy_ns"]) for row in rows], window_ns)


def time_breakdown(context: Context) -> Panel:
    """Exact partition of each GPU's window, communication under compute shown apart."""
    kind = context.options.window_kind
    rows = [r for r in context.table("time_breakdown").to_pylist() if r["window_kind"] == kind]
    base = panel(
        "time_breakdown",
        "Time breakdown",
        "Where each GPU's time went; the parts add up to its window. Exposed communication is what "
        "computing did not hide.",
        unit="ns",
        window=f"Window: {WINDOW_LABELS[kind]}, first start to last end.{context.whole_text}",
        span=6,
    )
    base["options"] = [choice("window", "Window", kind, list(WINDOW_LABELS.items()))]
    if not rows:
        return without_data(base, f"No GPU has a window of this kind ({WINDOW_LABELS[kind]}).")
    if len(rows) > MAX_STACKED_ROWS:
        base["window"] += f" The {MAX_STACKED_ROWS} most idle of {len(rows)} GPUs."
        rows = sorted(rows, key=lambda row: -row["idle_ns"])[:MAX_STACKED_ROWS]
    rows.sort(key=lambda r: (r["rank"] is None, r["rank"] or 0, r["process_id"], r["device"]))
    return {
        **base,
        "kind": "stacked",
        "parts": [{"key": key, "label": label} for key, label in BREAKDOWN_PARTS],
        "rows": [
            {
                "label": rank_label(row),
                "total": row["window_ns"],
                "values": [
                    row["compute_ns"] - row["overlap_ns"],
                    row["overlap_ns"],
                    row["exposed_comm_ns"],
                    row["exposed_mem_ns"],
                    row["idle_ns"],
                ],
            }
            for row in rows
        ],
    }


def memory_ops(context: Context) -> Panel:
    """Time by kind of memory operation, with bytes and bandwidth."""
    columns = ["total_ns", "count", "bytes"]
    rows = sum_by(context.table("memory_op_summary"), ["kind"], columns)
    total_ns = sum(row["total_ns"] for row in rows)
    base = panel(
        "memory_ops",
        "GPU memory operations",
        "Time of copies and memory sets by direction; much HtoD time points at input transfer.",
        unit="ns",
        window=f"Sum of durations on {context.gpus_text}; share of all memory operations."
        f"{context.whole_text}",
    )
    if not rows:
        return without_data(base, "No memory operation was recorded.")
    base["stats"] = [
        stat("Operations", sum(row["count"] for row in rows), "count"),
        stat("Bytes of known size", sum(row["bytes"] for row in rows), "bytes"),
    ]
    return with_shares(base, [(row["kind"], row["total_ns"]) for row in rows], total_ns)


def precision(context: Context) -> Panel:
    """Compute-kernel time by data type."""
    rows = sum_by(
        context.table("precision_summary"), ["precision"], ["total_ns", "tensor_core_ns", "count"]
    )
    total_ns = sum(row["total_ns"] for row in rows)
    base = panel(
        "precision",
        "Kernel precision",
        "Compute time by data type as far as kernel names tell; 'other' names no type.",
        unit="ns",
        window=f"Sum of durations on {context.gpus_text}; share of compute-kernel time."
        f"{context.whole_text}",
    )
    if not rows:
        return without_data(base, "No compute kernel was recorded.")
    tensor_ns = sum(row["tensor_core_ns"] for row in rows)
    base["stats"] = [
        stat("In tensor-core kernels", tensor_ns / total_ns if total_ns else 0, "share")
    ]
    order = {word.value: position for position, word in enumerate(Precision)}
    rows.sort(key=lambda row: order.get(row["precision"], len(order)))
    return with_shares(base, [(row["precision"], row["total_ns"]) for row in rows], total_ns)


def launch_latency(context: Context) -> Panel:
    """Time from launch to run, per GPU."""
    base = panel(
        "launch_latency",
        "Launch latency",
        "Time from the launch call to the kernel's start; a few microseconds mean the GPU waits "
        "for the host, long ones a full queue.",
        unit="ns",
        window=f"Per GPU, launches with a run.{context.whole_text}",
        span=6,
    )
    rows = context.table("launch_latency").to_pylist()
    if not rows:
        return without_data(base, "No kernel run is linked to its launch.")
    for row in rows:
        row["place"] = rank_label(row)
    columns = [
        ("place", "GPU", "text"),
        ("launches", "Launches", "count"),
        ("min_ns", "Least", "ns"),
        ("p50_ns", "Median", "ns"),
        ("p95_ns", "95 %", "ns"),
        ("max_ns", "Most", "ns"),
        ("negative", "Before launch", "count"),
    ]
    return with_table(base, columns, rows)


def collectives(context: Context) -> Panel:
    """Collective operations, over all ranks that are shown."""
    base = panel(
        "collectives",
        "Collectives",
        "Communication between GPUs by operation; a mean far below the longest hints at waiting "
        "for a slow rank.",
        unit="ns",
        window=f"All ranks shown, durations on the GPU.{context.whole_text}",
        span=6,
    )
    table = context.table("collective_summary")
    longest = table.group_by(["operation"]).aggregate([("max_ns", "max"), ("min_ns", "min")])
    limits = {row["operation"]: row for row in longest.to_pylist()}
    rows = sum_by(table, ["operation"], ["total_ns", "count", "bytes"])
    if not rows:
        return without_data(base, "No collective was recorded.")
    for row in rows:
        row["mean_ns"] = row["total_ns"] / row["count"] if row["count"] else 0
        row["bytes"] = row["bytes"] or None  # no collective says its size
        row["min_ns"] = limits[row["operation"]]["min_ns_min"]
        row["max_ns"] = limits[row["operation"]]["max_ns_max"]
    columns = [
        ("operation", "Operation", "text"),
        ("count", "Count", "count"),
        ("total_ns", "Total", "ns"),
        ("min_ns", "Shortest", "ns"),
        ("mean_ns", "Mean", "ns"),
        ("max_ns", "Longest", "ns"),
        ("bytes", "Bytes", "bytes"),
    ]
    return with_table(base, columns, rows)
