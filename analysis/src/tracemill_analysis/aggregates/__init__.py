"""Aggregates: small tables computed from the event tables of a job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracemill_schema import layout
from tracemill_schema.columns import Table
from tracemill_schema.tables.aggregates import TABLES
from tracemill_schema.tables.timeline import TIMELINE_LEVELS

from tracemill_analysis.aggregates.activity import activity_summary, memory_op_summary
from tracemill_analysis.aggregates.annotations import annotation_summary
from tracemill_analysis.aggregates.bins import Bins, capture_bins
from tracemill_analysis.aggregates.breakdown import time_breakdown
from tracemill_analysis.aggregates.cpu import core_times, cpu_summary, load_series
from tracemill_analysis.aggregates.gpu import GpuEvents, load_gpu_events
from tracemill_analysis.aggregates.idle import idle_causes, load_host_time
from tracemill_analysis.aggregates.launches import launch_latency, launch_summary, load_runs
from tracemill_analysis.aggregates.operators import operator_summary
from tracemill_analysis.aggregates.pyramid import timeline_levels
from tracemill_analysis.aggregates.queue import queue_depth
from tracemill_analysis.aggregates.ranges import input_time, load_ranges
from tracemill_analysis.aggregates.source import EventSource, Process, open_source
from tracemill_analysis.aggregates.steps import find_steps, step_summary
from tracemill_analysis.aggregates.stragglers import stragglers
from tracemill_analysis.aggregates.summaries import (
    collective_summary,
    kernel_summary,
    precision_summary,
)
from tracemill_analysis.aggregates.utilization import cpu_utilization, gpu_utilization
from tracemill_analysis.importers.base import Progress, no_progress
from tracemill_analysis.parquet import write_rows, write_table
from tracemill_analysis.store import Store

Rows = list[dict[str, Any]]
AddRows = Callable[[str, Rows], None]


def build(store: Store, job: str, progress: Progress = no_progress) -> None:
    """Compute every aggregate of a job from its event tables and ``processes``, and write them.

    Same tables in, same bytes out. A table without rows has no file; one left from an earlier run
    is removed. Raises StoreError if the tables cannot be read or written.
    """
    results: dict[str, Rows] = {table.name: [] for table in TABLES}

    def add(name: str, rows: Rows) -> None:
        results[name].extend(rows)

    store.delete_prefix(layout.table_prefix(TIMELINE_LEVELS.name, job))
    with open_source(store, job) as source:
        bins = capture_bins(source.processes)
        for done, process in enumerate(source.processes):
            progress("computing aggregates", done / len(source.processes))
            events = load_gpu_events(source, process.process_id)
            span = bins.get(process.clock)
            _add_process(source, process, events, span, add)
            if span is not None:
                levels = timeline_levels(source, process, events, span.end - span.start)
                _write_part(store, TIMELINE_LEVELS, job, process, levels)
        _add_nodes(source, bins, add)
        add("stragglers", stragglers(source))
    for table in TABLES:
        store.delete_prefix(layout.table_prefix(table.name, job))
        if results[table.name]:
            rows = in_order(table, results[table.name])
            write_rows(store, table, job, layout.WHOLE_JOB_PART, rows)
    progress("computing aggregates", 1.0)


def in_order(table: Table, rows: Rows) -> Rows:
    """Return the rows in the table's order: nulls first, the largest counts and totals first."""

    def key(row: dict[str, Any]) -> tuple[Any, ...]:
        values = ((name, row[name]) for name in table.sort)
        return tuple(
            (value is not None, -value if name in _LARGEST_FIRST else value)
            for name, value in values
        )

    return sorted(rows, key=key)


_LARGEST_FIRST = frozenset({"total_ns", "count"})


def _write_part(store: Store, table: Table, job: str, process: Process, data: Any) -> None:
    """Write the rows of one process as a file of its own, if there are any."""
    if data.num_rows:
        write_table(store, table, job, layout.process_part(process.process_id), data)


def _add_process(
    source: EventSource, process: Process, events: GpuEvents, bins: Bins | None, add: AddRows
) -> None:
    """Compute what concerns one process alone."""
    ranges = load_ranges(source, process.process_id)
    steps = find_steps(ranges)
    breakdown = time_breakdown(process, events, steps)
    kernels = kernel_summary(source, process, breakdown)
    add("time_breakdown", breakdown)
    add("kernel_summary", kernels)
    add("precision_summary", precision_summary(kernels))
    runs = load_runs(source, process.process_id)
    add("launch_summary", launch_summary(process, runs))
    add("launch_latency", launch_latency(process, runs))
    add("activity_summary", activity_summary(source, process, events))
    add("memory_op_summary", memory_op_summary(source, process))
    add("collective_summary", collective_summary(source, process))
    add("annotation_summary", annotation_summary(process, ranges, steps))
    add("operator_summary", operator_summary(source, process, runs))
    inputs = input_time(source, process.process_id, ranges)
    add("step_summary", step_summary(process, steps, events, inputs))
    host = load_host_time(source, process, inputs, events.thread)
    add("idle_causes", idle_causes(process, events, host))
    if bins is not None:
        add("utilization", gpu_utilization(process, events, bins))
        add("queue_depth", queue_depth(process, runs, bins))


def _add_nodes(source: EventSource, bins: dict[str, Bins], add: AddRows) -> None:
    """Compute what is sampled per node."""
    series = load_series(source)
    cores = core_times(series)
    add("cpu_summary", cpu_summary(series, cores))
    clocks = {process.node: process.clock for process in reversed(source.processes)}
    for node, by_core in sorted(cores.items()):
        if (of_node := bins.get(clocks.get(node, ""))) is not None:
            add("utilization", cpu_utilization(node, by_core, of_node))
