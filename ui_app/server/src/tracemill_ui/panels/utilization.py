"""Panels of utilisation over time, one line per node, and the share of active CPU time."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tracemill_ui.panels.model import (
    Context,
    Panel,
    counted,
    panel,
    stat,
    with_shares,
    without_data,
)

MAX_POINTS = 500
MAX_LINES = 12
FOREIGN_CLOCK_NS = 10**17
MEAN_OF_NODES = "mean of all nodes"


def gpu_utilization(context: Context) -> Panel:
    """Mean busy share of a node's GPUs over time."""
    rows = _bins(context, "gpu")
    gpus = len({(r["node"], r["process_id"], r["index"]) for r in rows})
    base = panel(
        "gpu_utilization",
        "GPU utilisation over time",
        "One line per node. Regular dips are waiting between steps; a node below the others is "
        "unevenly loaded.",
        unit="share",
        window=f"Busy time per bin, mean over the node's GPUs ({gpus} in all)."
        f"{_span_text(context)}",
        span=9,
    )
    return _over_time(base, context, rows, "No GPU activity was recorded.")


def cpu_utilization(context: Context) -> Panel:
    """Mean busy share of a node's cores over time."""
    rows = [row for row in _bins(context, "cpu") if row["index"] == -1]
    base = panel(
        "cpu_utilization",
        "CPU utilisation over time",
        "One line per node. Near 100 % the host limits the training; a peak before each GPU dip "
        "points at input.",
        unit="share",
        window=f"Busy core time per bin, mean over the node's cores.{_span_text(context)}",
        span=9,
    )
    return _over_time(base, context, rows, "No CPU samples were recorded.")


def cpu_active(context: Context) -> Panel:
    """Busy and idle share of the nodes' core time; beside it SageMaker Profiler's own measure."""
    rows = [row for row in _bins(context, "cpu") if row["index"] == -1]
    nodes = len({row["node"] for row in rows})
    base = panel(
        "cpu_active",
        "CPU active time",
        "How much of the cores' time was used; little is left for input workers above some 90 %.",
        unit="ns",
        window=f"Time sampled on {counted(nodes, 'node')}, mean over the cores of each."
        f"{_span_text(context)}",
        span=3,
    )
    if not rows:
        return without_data(base, "No CPU samples were recorded.")
    total_ns = sum(row["bin_ns"] for row in rows)
    busy_ns = round(sum(row["utilization"] * row["bin_ns"] for row in rows))
    active = sum(row["utilization"] > 0 for row in rows)
    base["stats"] = [
        stat("Nodes", nodes, "count"),
        stat("Time bins above 0 %", active / len(rows), "share"),
    ]
    return with_shares(base, [("Active", busy_ns), ("Idle", total_ns - busy_ns)], total_ns)


def _span_text(context: Context) -> str:
    return " Limited to the time of the chosen steps." if context.step_span_ns else ""


def _bins(context: Context, resource: str) -> list[dict[str, Any]]:
    """The utilisation rows of one resource that match, limited to the time of the chosen steps.

    Rows of a node's cores carry no rank: a filter by rank or GPU does not hide them.
    """
    table = context.profile.tables["utilization"]
    table = table.filter(pc.equal(table["resource"], resource))
    if resource == "gpu":
        table = context.filter.apply(table, device_column="index")
    elif context.filter.nodes:
        table = table.filter(pc.is_in(table["node"], pa.array(context.filter.nodes)))
    if context.step_span_ns:
        first_ns, last_ns = context.step_span_ns
        ends = pc.add(table["bin_start_ns"], table["bin_ns"])
        inside = pc.and_(pc.less(table["bin_start_ns"], last_ns), pc.greater(ends, first_ns))
        table = table.filter(inside)
    return list(table.to_pylist())


def _over_time(base: Panel, context: Context, rows: list[dict[str, Any]], nothing: str) -> Panel:
    if not rows:
        return without_data(base, nothing)
    by_node: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_node[row["node"]].append(row)
    lines = [
        {"name": node, **node_line(by_node[node], context.start_ns)} for node in sorted(by_node)
    ]
    if len(lines) > MAX_LINES:
        base["window"] += f" The {MAX_LINES} least used of {len(lines)} nodes and their mean."
        lines.sort(key=lambda line: line["mean"])
        every = [{**row, "node": MEAN_OF_NODES, "process_id": row["node"]} for row in rows]
        mean = {"name": MEAN_OF_NODES, **node_line(every, context.start_ns)}
        lines = [mean, *lines[:MAX_LINES]]
    base["stats"] = [stat(f"Mean {line['name']}", line["mean"], "share") for line in lines[:4]]
    return {**base, "kind": "lines", "x_unit": "ns", "y_max": 1.0, "series": lines}


def node_line(rows: list[dict[str, Any]], start_ns: int) -> dict[str, Any]:
    """Merge the bins of a node's GPUs (or of its cores' mean) into at most ``MAX_POINTS`` points.

    A point is at the start of its bin, in ns since ``start_ns``. A GPU without a row for a bin was
    idle in it, as long as another GPU of the node has one.
    """
    units = len({(row["process_id"], row["index"]) for row in rows})
    busy: dict[int, float] = defaultdict(float)
    length: dict[int, int] = {}
    for row in rows:
        busy[row["bin_start_ns"]] += row["utilization"] * row["bin_ns"]
        length[row["bin_start_ns"]] = max(length.get(row["bin_start_ns"], 0), row["bin_ns"])
    starts = sorted(busy)
    merged = -(-len(starts) // MAX_POINTS)
    # A node whose clock is of another time scale than the profile's gets a time axis of its own.
    zero_ns = start_ns if abs(starts[0] - start_ns) < FOREIGN_CLOCK_NS else starts[0]
    x: list[int] = []
    y: list[float] = []
    for position in range(0, len(starts), merged):
        group = starts[position : position + merged]
        available_ns = units * sum(length[start] for start in group)
        x.append(group[0] - zero_ns)
        y.append(min(1.0, sum(busy[start] for start in group) / available_ns))
    total_ns = units * sum(length.values())
    return {"x": x, "y": y, "mean": min(1.0, sum(busy.values()) / total_ns)}
