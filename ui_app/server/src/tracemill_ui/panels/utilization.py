"""Panels of utilisation over time, one line per node, and the share of active CPU time."""

from __future__ import annotations

from collections import Counter
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
MEAN_OF_CORES = -1
MEAN_OF_NODES = "mean of all nodes"


def gpu_utilization(context: Context) -> Panel:
    """Mean busy share of a node's GPUs over time."""
    bins = _bins(context, "gpu")
    base = panel(
        "gpu_utilization",
        "GPU utilisation over time",
        "One line per node. Regular dips are waiting between steps; a node below the others is "
        "unevenly loaded.",
        unit="share",
        window="Busy time per bin, mean over the node's GPUs "
        f"({sum(_units(bins).values())} in all).{_span_text(context)}",
        span=9,
    )
    return _over_time(base, context, bins, "No GPU activity was recorded.")


def cpu_utilization(context: Context) -> Panel:
    """Mean busy share of a node's cores over time."""
    base = panel(
        "cpu_utilization",
        "CPU utilisation over time",
        "One line per node. Near 100 % the host limits the training; a peak before each GPU dip "
        "points at input.",
        unit="share",
        window=f"Busy core time per bin, mean over the node's cores.{_span_text(context)}",
        span=9,
    )
    return _over_time(base, context, _bins(context, "cpu"), "No CPU samples were recorded.")


def cpu_active(context: Context) -> Panel:
    """Busy and idle share of the nodes' core time; beside it SageMaker Profiler's own measure."""
    bins = _bins(context, "cpu")
    nodes = len(_units(bins))
    base = panel(
        "cpu_active",
        "CPU active time",
        "How much of the cores' time was used; little is left for input workers above some 90 %.",
        unit="ns",
        window=f"Time sampled on {counted(nodes, 'node')}, mean over the cores of each."
        f"{_span_text(context)}",
        span=3,
    )
    if not bins.num_rows:
        return without_data(base, "No CPU samples were recorded.")
    total_ns = pc.sum(bins["bin_ns"]).as_py()
    busy_ns = round(pc.sum(_busy_ns(bins)).as_py())
    active = pc.sum(pc.greater(bins["utilization"], 0)).as_py()
    base["stats"] = [
        stat("Nodes", nodes, "count"),
        stat("Time bins above 0 %", active / bins.num_rows, "share"),
    ]
    return with_shares(base, [("Active", busy_ns), ("Idle", total_ns - busy_ns)], total_ns)


def _span_text(context: Context) -> str:
    return " Limited to the time of the chosen steps." if context.step_span_ns else ""


def _bins(context: Context, resource: str) -> Any:
    """The utilisation rows of one resource that match, limited to the time of the chosen steps.

    Of the CPU only the mean over a node's cores. Its rows carry no rank: a filter by rank or GPU
    does not hide them.
    """
    table = context.profile.tables["utilization"]
    table = table.filter(pc.equal(table["resource"], resource))
    if resource == "gpu":
        table = context.filter.apply(table, device_column="index")
    else:
        table = table.filter(pc.equal(table["index"], MEAN_OF_CORES))
        if context.filter.nodes:
            table = table.filter(pc.is_in(table["node"], pa.array(context.filter.nodes)))
    if context.step_span_ns:
        first_ns, last_ns = context.step_span_ns
        ends = pc.add(table["bin_start_ns"], table["bin_ns"])
        inside = pc.and_(pc.less(table["bin_start_ns"], last_ns), pc.greater(ends, first_ns))
        table = table.filter(inside)
    return table


def _busy_ns(bins: Any) -> Any:
    return pc.multiply(bins["utilization"], bins["bin_ns"].cast(pa.float64()))


def _units(bins: Any) -> Counter[str]:
    """How many GPUs (or means of cores: one) each node has in these rows."""
    return Counter(bins.group_by(["node", "process_id", "index"]).aggregate([])["node"].to_pylist())


def _over_time(base: Panel, context: Context, bins: Any, nothing: str) -> Panel:
    if not bins.num_rows:
        return without_data(base, nothing)
    units = _units(bins)
    merged = _merge_bins(bins, ["node", "bin_start_ns"])
    lines = [
        {"name": node, **_line(merged.filter(pc.equal(merged["node"], node)), units[node], context)}
        for node in sorted(units)
    ]
    if len(lines) > MAX_LINES:
        base["window"] += f" The {MAX_LINES} least used of {len(lines)} nodes and their mean."
        lines.sort(key=lambda line: line["mean"])
        mean = _line(_merge_bins(bins, ["bin_start_ns"]), units.total(), context)
        lines = [{"name": MEAN_OF_NODES, **mean}, *lines[:MAX_LINES]]
    base["stats"] = [stat(f"Mean {line['name']}", line["mean"], "share") for line in lines[:4]]
    return {**base, "kind": "lines", "x_unit": "ns", "y_max": 1.0, "series": lines}


def _merge_bins(bins: Any, keys: list[str]) -> Any:
    """Add up busy time over the GPUs of a node (or all), in order of time."""
    return (
        bins.append_column("busy", _busy_ns(bins))
        .group_by(keys)
        .aggregate([("busy", "sum"), ("bin_ns", "max")])
        .sort_by("bin_start_ns")
    )


def _line(merged: Any, units: int, context: Context) -> dict[str, Any]:
    """One line of at most ``MAX_POINTS`` points from bins in order of time.

    A point is at the start of its bin, in ns since the profile's start. A GPU without a row for a
    bin was idle in it, as long as another GPU of the node has one.
    """
    starts = merged["bin_start_ns"].to_pylist()
    busy, lengths = merged["busy_sum"].to_pylist(), merged["bin_ns_max"].to_pylist()
    # A node whose clock is of another time scale than the profile's gets a time axis of its own.
    start_ns = context.start_ns
    zero_ns = start_ns if abs(starts[0] - start_ns) < FOREIGN_CLOCK_NS else starts[0]
    together = -(-len(starts) // MAX_POINTS)
    cuts = range(0, len(starts), together)
    return {
        "x": [starts[at] - zero_ns for at in cuts],
        "y": [_share(busy[at : at + together], lengths[at : at + together], units) for at in cuts],
        "mean": _share(busy, lengths, units),
    }


def _share(busy_ns: list[float], lengths_ns: list[int], units: int) -> float:
    return min(1.0, sum(busy_ns) / (units * sum(lengths_ns)))
