"""Panels about the host: annotations, sampled metrics."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tracemill_ui.panels.model import Context, Panel, counted, panel, with_table, without_data


def annotation_table(context: Context) -> Panel:
    """Annotation series over all ranks shown; percentiles stand only where they are exact."""
    rows = context.table("annotation_summary").to_pylist()
    processes = len({row["process_id"] for row in rows})
    base = panel(
        "annotation_table",
        "Annotations",
        "Your own ranges by name without trailing number; the longest one tells where to look.",
        unit="ns",
        window=f"All ranges of {counted(processes, 'process', 'processes')}.{context.whole_text}",
        span=6,
    )
    if not rows:
        return without_data(base, "No annotations were recorded.")
    by_series: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_series[row["series"]].append(row)
    merged = [_merge(series, group) for series, group in by_series.items()]
    merged.sort(key=lambda row: (-row["total_ns"], row["series"]))
    columns = [
        ("series", "Series", "text"),
        ("count", "Ranges", "count"),
        ("total_ns", "Total", "ns"),
        ("min_ns", "Shortest", "ns"),
        ("mean_ns", "Mean", "ns"),
        *([("p95_ns", "95 %", "ns")] if processes == 1 else []),
        ("max_ns", "Longest", "ns"),
        ("slowest", "Longest at", "text"),
    ]
    return with_table(base, columns, merged)


def _merge(series: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    slowest = max(rows, key=lambda row: row["max_ns"])
    count = sum(row["count"] for row in rows)
    total_ns = sum(row["total_ns"] for row in rows)
    return {
        "series": series,
        "count": count,
        "total_ns": total_ns,
        "min_ns": min(row["min_ns"] for row in rows),
        "mean_ns": total_ns / count if count else 0.0,
        "p95_ns": slowest["p95_ns"],
        "max_ns": slowest["max_ns"],
        "slowest": _place(slowest),
    }


def _place(row: dict[str, Any]) -> str:
    parts = []
    if row["slowest_step"] is not None:
        parts.append(f"step {row['slowest_step']}")
    elif row["slowest_index"] is not None:
        parts.append(f"number {row['slowest_index']}")
    if row["rank"] is not None:
        parts.append(f"rank {row['rank']}")
    return ", ".join(parts)


def _metric_label(metric: str, unit: str) -> str:
    """The metric without its unit, which the values carry; CPU time per second is of one core."""
    text = metric.removesuffix("_bytes").removesuffix("_ns").replace("_", " ").replace("cpu", "CPU")
    return f"{text}, of a core" if unit == "ns/s" else text


def host_metrics(context: Context) -> Panel:
    """Sampled metrics of nodes and processes."""
    base = panel(
        "host_metrics",
        "Host metrics",
        "CPU, memory, disk and network as sampled; growing counters are shown as rates.",
        unit="",
        window="Whole recording, time-weighted mean.",
        span=6,
    )
    rows = [row for row in context.table("cpu_summary").to_pylist() if row["index"] == -1]
    if not rows:
        return without_data(base, "No host metrics were sampled.")
    for row in rows:
        rank = "" if row["rank"] is None else f" · rank {row['rank']}"
        row["place"] = f"{row['node']}{rank}"
        row["metric_label"] = _metric_label(row["metric"], row["unit"])
    columns = [
        ("place", "Where", "text"),
        ("metric_label", "Metric", "text"),
        ("mean", "Mean", "row"),
        ("min", "Least", "row"),
        ("p95", "95 %", "row"),
        ("max", "Most", "row"),
        ("unit", "Unit", "text"),
    ]
    return with_table(base, columns, rows)
