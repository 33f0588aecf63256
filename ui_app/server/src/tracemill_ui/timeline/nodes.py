"""Lanes of a node: mean use of its GPUs, of its cores, and sampled metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from tracemill_schema.metrics import METRIC_BY_NAME

from tracemill_ui.errors import ApiError
from tracemill_ui.timeline import lanes as ln
from tracemill_ui.timeline.groups import Int64s
from tracemill_ui.timeline.lanes import Lane
from tracemill_ui.timeline.marks import Marks, Window
from tracemill_ui.timeline.source import Source

LaneMarks = Callable[[Source, Lane, Window], tuple[Marks, int]]
MAX_COUNTERS = 64
_HIDDEN = {"cpu_busy_ns", "cpu_total_ns", "cpu_iowait_ns"}
"""Core times are shown as utilisation."""


@dataclass(frozen=True)
class Counter:
    """A sampled metric of a node: its label, unit and largest value."""

    label: str
    unit: str
    scale: float
    start: Int64s
    end: Int64s
    value: Any


def node_marks(
    source: Source, lane: Lane, window: Window, lane_marks: LaneMarks
) -> tuple[Marks, int]:
    """Return the marks of a node's lane; ``busy / length`` of a mark is its share of the scale."""
    if lane.owner >= len(source.nodes):
        raise ApiError(400, f"{lane.key!r} is no lane of this profile.", "Read meta again.")
    node = source.nodes[lane.owner]
    if lane.kind == ln.GPUS:
        return _gpu_mean(source, node, window, lane_marks)
    if lane.kind == ln.CPU:
        table = source.utilization("cpu", node, lane.place[0])
        start = table["bin_start_ns"].to_numpy()
        end = start + table["bin_ns"].to_numpy()
        return _sampled(source, start, end, table["utilization"].to_numpy(), window)
    found = counters(source, node)
    if not 0 <= lane.place[0] < len(found):
        raise ApiError(400, f"{lane.key!r} is no lane of this profile.", "Read meta again.")
    counter = found[lane.place[0]]
    share = counter.value / counter.scale if counter.scale else np.zeros(len(counter.start))
    return _sampled(source, counter.start, counter.end, share, window)


def counters(source: Source, node: str) -> list[Counter]:
    """Return the metrics sampled on a node, by name; cumulative ones as rates per second."""
    kept: list[Counter] = source.kept(("counters", node), lambda: _counters(source, node))
    return kept


def _counters(source: Source, node: str) -> list[Counter]:
    table = source.samples(node)
    found: list[Counter] = []
    groups = table.group_by(["metric", "process_id", "index", "unit", "scope"]).aggregate([])
    rows = groups.to_pylist()
    for row in sorted(rows, key=lambda r: (r["scope"], r["metric"], r["process_id"], r["index"])):
        if row["metric"] in _HIDDEN or row["metric"].endswith("_total_bytes"):
            continue
        counter = _counter(table, row)
        if counter is not None:
            found.append(counter)
    return found[:MAX_COUNTERS]


def _counter(table: Any, row: dict[str, Any]) -> Counter | None:
    same = pc.and_(
        pc.and_(
            pc.equal(table["metric"], row["metric"]),
            pc.equal(table["process_id"], pa.scalar(row["process_id"], pa.int32())),
        ),
        pc.equal(table["index"], pa.scalar(row["index"], pa.int32())),
    )
    points = table.filter(same).sort_by("time_ns")
    time, value = points["time_ns"].to_numpy(), points["value"].to_numpy()
    solid = np.append(np.diff(time) > 0, True) if len(time) else np.empty(0, bool)
    time, value = time[solid], value[solid]
    if len(time) < 2:
        return None
    metric = METRIC_BY_NAME.get(row["metric"])
    unit, values = row["unit"], value[1:]
    if metric is not None and metric.cumulative:
        unit, values = f"{unit}/s", np.diff(value) / (np.diff(time) / 1e9)
        values = np.maximum(values, 0)
    label = row["metric"].removesuffix("_bytes").removesuffix("_ns").replace("_", " ")
    where = f" · process {row['process_id']}" if row["scope"] == "process" else ""
    where = f" · GPU {row['index']}" if row["scope"] == "gpu" else where
    return Counter(label + where, unit, float(values.max()), time[:-1], time[1:], values)


def devices(source: Source, lane: Lane) -> list[Lane]:
    """Return the GPU lanes that a node's lane is made from."""
    if lane.kind != ln.GPUS or lane.owner >= len(source.nodes):
        return []
    return _devices(source, source.nodes[lane.owner])


def _devices(source: Source, node: str) -> list[Lane]:
    return [
        lane
        for process in source.processes
        if process["node"] == node
        for lane in source.lanes(process["process_id"])
        if lane.kind == ln.DEVICE
    ]


def _gpu_mean(
    source: Source, node: str, window: Window, lane_marks: LaneMarks
) -> tuple[Marks, int]:
    """Mean busy share of the node's GPUs, per pixel."""
    edges = np.linspace(window.start, window.end, window.px + 1).astype(np.int64)
    total = np.zeros(window.px)
    found = _devices(source, node)
    for lane in found:
        marks, _ = lane_marks(source, lane, window)
        length = np.maximum(marks.end - marks.start, 1)
        total += _spread(marks.start, marks.end, marks.busy / length, edges)
    width = np.maximum(np.diff(edges), 1)
    share = np.minimum(total / width / max(len(found), 1), 1)
    return _as_marks(source, edges[:-1], edges[1:], share)


def _spread(start: Int64s, end: Int64s, weight: Any, edges: Int64s) -> Any:
    """Return the weighted length of spans within each bin of ``edges``."""
    if not len(start):
        return np.zeros(len(edges) - 1)
    times = np.concatenate((start, end))
    rate = np.concatenate((weight, -weight))
    order = np.argsort(times, kind="stable")
    times, rate = times[order], np.cumsum(rate[order])
    area = np.concatenate((np.zeros(1), np.cumsum(rate[:-1] * np.diff(times))))
    return np.diff(np.interp(edges, times, area))


def _sampled(
    source: Source, start: Int64s, end: Int64s, share: Any, window: Window
) -> tuple[Marks, int]:
    """Return the values that touch the window; their mean per pixel if they are many."""
    chosen = (end > window.start) & (start < window.end)
    start, end, share = start[chosen], end[chosen], share[chosen]
    if len(start) <= window.limit:
        return _as_marks(source, start, end, share)
    edges = np.linspace(window.start, window.end, window.px + 1).astype(np.int64)
    covered = _spread(start, end, np.ones(len(start)), edges)
    mean = _spread(start, end, share, edges) / np.maximum(covered, 1e-9)
    return _as_marks(source, edges[:-1], edges[1:], np.where(covered > 0, mean, 0))


def _as_marks(source: Source, start: Int64s, end: Int64s, share: Any) -> tuple[Marks, int]:
    used = share > 0
    start, end, share = start[used], end[used], np.clip(share[used], 0, 1)
    size = len(start)
    ids = np.full(size, source.names.id_of("busy"), np.int32)
    busy = np.round(share * (end - start)).astype(np.int64)
    bin_ns = int((end - start).min()) if size else 1
    none = np.zeros(size, np.int64)
    return Marks(start, end, busy, none, ids, ids, np.zeros(size, np.bool_)), bin_ns
