"""All aggregates that concern one process alone."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from tracemill_analysis.aggregates.activity import activity_summary, memory_op_summary
from tracemill_analysis.aggregates.annotations import annotation_summary
from tracemill_analysis.aggregates.bins import Bins
from tracemill_analysis.aggregates.breakdown import time_breakdown
from tracemill_analysis.aggregates.gpu import GpuEvents, load_gpu_events
from tracemill_analysis.aggregates.idle import idle_causes, load_host_time
from tracemill_analysis.aggregates.launches import launch_latency, launch_summary, load_runs
from tracemill_analysis.aggregates.operators import operator_summary
from tracemill_analysis.aggregates.pyramid import timeline_levels
from tracemill_analysis.aggregates.queue import queue_depth
from tracemill_analysis.aggregates.ranges import input_time, load_ranges
from tracemill_analysis.aggregates.source import EventSource, Process
from tracemill_analysis.aggregates.steps import find_steps, step_summary
from tracemill_analysis.aggregates.summaries import (
    collective_summary,
    kernel_summary,
    precision_summary,
)
from tracemill_analysis.aggregates.utilization import gpu_utilization

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class ProcessAggregates:
    """Rows by table name, and the pyramid (``pyarrow.Table``; None without a time axis)."""

    process_id: int
    rows: dict[str, Rows]
    levels: Any


def aggregate_process(
    source: EventSource, process: Process, bins: Bins | None
) -> ProcessAggregates:
    """Compute the aggregates of one process. ``bins`` of its time scale, None if it has no span."""
    events = load_gpu_events(source, process.process_id)
    rows = _rows(source, process, events, bins)
    levels = None
    if bins is not None:
        levels = timeline_levels(source, process, events, bins.end - bins.start)
    return ProcessAggregates(process.process_id, rows, levels)


def _rows(
    source: EventSource, process: Process, events: GpuEvents, bins: Bins | None
) -> dict[str, Rows]:
    rows: dict[str, Rows] = defaultdict(list)
    ranges = load_ranges(source, process.process_id)
    steps = find_steps(ranges)
    breakdown = time_breakdown(process, events, steps)
    kernels = kernel_summary(source, process, breakdown)
    rows["time_breakdown"] += breakdown
    rows["kernel_summary"] += kernels
    rows["precision_summary"] += precision_summary(kernels)
    runs = load_runs(source, process.process_id)
    rows["launch_summary"] += launch_summary(process, runs)
    rows["launch_latency"] += launch_latency(process, runs)
    rows["activity_summary"] += activity_summary(source, process, events)
    rows["memory_op_summary"] += memory_op_summary(source, process)
    rows["collective_summary"] += collective_summary(source, process)
    rows["annotation_summary"] += annotation_summary(process, ranges, steps)
    rows["operator_summary"] += operator_summary(source, process, runs)
    inputs = input_time(source, process.process_id, ranges)
    rows["step_summary"] += step_summary(process, steps, events, inputs)
    host = load_host_time(source, process, inputs, events.thread)
    rows["idle_causes"] += idle_causes(process, events, host)
    if bins is not None:
        rows["utilization"] += gpu_utilization(process, events, bins)
        rows["queue_depth"] += queue_depth(process, runs, bins)
    return dict(rows)
