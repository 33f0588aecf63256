"""Panels about waiting: why GPUs were idle, who came last at collectives, the launch queue."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow.compute as pc
from tracemill_schema.vocab import IdleCause

from tracemill_ui.panels.gpu import MAX_STACKED_ROWS
from tracemill_ui.panels.model import (
    Context,
    Panel,
    panel,
    rank_label,
    stat,
    with_table,
    without_data,
)

CAUSE_LABELS = {
    IdleCause.INPUT_WAIT: "Input wait",
    IdleCause.HOST_BOUND: "Host-bound",
    IdleCause.LAUNCH_BOUND: "Launch-bound",
    IdleCause.SYNC: "Synchronisation",
    IdleCause.COMMUNICATION_WAIT: "Communication wait",
    IdleCause.OTHER: "Other",
}
MAX_LINES = 8
MAX_POINTS = 500


def idle_causes(context: Context) -> Panel:
    """Exact partition of each GPU's idle time by cause."""
    base = panel(
        "idle_causes",
        "Idle causes",
        "Why each GPU had nothing to do; the parts add up to its idle time. The largest part is "
        "where to begin.",
        unit="ns",
        window=f"Idle time within the window of {context.gpus_text}.{context.whole_text}",
        span=6,
    )
    by_gpu: dict[tuple[int, int], dict[str, Any]] = {}
    for row in context.table("idle_causes").to_pylist():
        gpu = by_gpu.setdefault((row["process_id"], row["device"]), {**row, "parts": {}})
        gpu["parts"][row["cause"]] = row["idle_ns"]
    rows = [
        {
            "label": rank_label(gpu),
            "total": sum(gpu["parts"].values()),
            "values": [gpu["parts"].get(cause.value, 0) for cause in CAUSE_LABELS],
            "order": (gpu["rank"] is None, gpu["rank"] or 0, *key),
        }
        for key, gpu in by_gpu.items()
    ]
    if not any(row["total"] for row in rows):
        return without_data(base, "No GPU was idle within its window.")
    if len(rows) > MAX_STACKED_ROWS:
        base["window"] += f" The {MAX_STACKED_ROWS} most idle of {len(rows)} GPUs."
        rows = sorted(rows, key=lambda row: -row["total"])[:MAX_STACKED_ROWS]
    rows.sort(key=lambda row: row.pop("order"))
    parts = [{"key": cause.value, "label": label} for cause, label in CAUSE_LABELS.items()]
    return {**base, "kind": "stacked", "parts": parts, "rows": rows, "total_label": "Idle"}


def stragglers(context: Context) -> Panel:
    """Ranks by how often and how late they came last at collectives."""
    base = panel(
        "stragglers",
        "Stragglers",
        "Who arrived last at collectives, and how long the others waited for it. Short waits "
        "between nodes may be clock error: compare the last column.",
        unit="ns",
        window=f"Collectives that all ranks of a group took part in.{context.whole_text}",
        span=6,
    )
    rows = context.table("stragglers").to_pylist()
    if not any(row["collectives"] for row in rows):
        return without_data(base, "No collective of several ranks could be matched.")
    rows.sort(key=lambda row: (-row["last_wait_ns"], row["process_id"]))
    for row in rows:
        row["place"] = rank_label(row, with_device=False)
        row["share"] = row["last"] / row["collectives"] if row["collectives"] else None
    base["stats"] = [stat("Most waited for", rows[0]["place"], "text")]
    columns = [
        ("place", "Rank", "text"),
        ("node", "Node", "text"),
        ("collectives", "Collectives", "count"),
        ("last", "Last", "count"),
        ("share", "Share last", "share"),
        ("last_wait_ns", "Others waited", "ns"),
        ("suffered_wait_ns", "Waited itself", "ns"),
        ("max_lateness_ns", "Latest", "ns"),
        ("end_offset_ns", "Clock hint", "ns"),
    ]
    return with_table(base, columns, rows)


def queue_depth(context: Context) -> Panel:
    """Launches waiting to run over time, summed over the streams of a GPU."""
    base = panel(
        "queue_depth",
        "Launch queue",
        "Launches that wait to run, one line per GPU. Near zero the GPU waits for the host; a deep "
        "queue means the host is ahead.",
        unit="count",
        window=f"Mean over each time bin, summed over the GPU's streams.{context.whole_text}",
        span=6,
    )
    table = context.table("queue_depth")
    if not table.num_rows:
        return without_data(base, "No launch waited, or no run is linked to its launch.")
    lines = _queue_lines(context, table)
    if len(lines) > MAX_LINES:
        base["window"] += f" The {MAX_LINES} GPUs with the shortest queues of {len(lines)}."
        lines = sorted(lines, key=lambda line: line["mean"])[:MAX_LINES]
    base["stats"] = [stat("Deepest", pc.max(table["max_depth"]).as_py(), "count")]
    return {**base, "kind": "lines", "x_unit": "ns", "y_max": None, "series": lines}


def _queue_lines(context: Context, table: Any) -> list[dict[str, Any]]:
    starts = table["bin_start_ns"]
    bin_ns = pc.max(table["bin_ns"]).as_py()  # the last bin may be shorter
    first, last = pc.min(starts).as_py(), pc.max(starts).as_py()
    # A bin in which nothing waits has no row: it is drawn at zero.
    count = (last - first) // bin_ns + 1
    depths: dict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0] * count)
    labels: dict[tuple[int, int], str] = {}
    for row in table.to_pylist():
        key = (row["process_id"], row["device"])
        labels[key] = rank_label(row)
        depths[key][(row["bin_start_ns"] - first) // bin_ns] += row["mean_depth"]
    merged = -(-count // MAX_POINTS)
    cuts = range(0, count, merged)
    zero = first - context.start_ns
    return [
        {
            "name": labels[key],
            "x": [zero + at * bin_ns for at in cuts],
            "y": [sum(values[at : at + merged]) / len(values[at : at + merged]) for at in cuts],
            "mean": sum(values) / count,
        }
        for key, values in sorted(depths.items())
    ]
