"""Aggregates: small tables computed from the event tables of a job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracemill_schema import layout
from tracemill_schema.columns import Table
from tracemill_schema.tables.aggregates import TABLES
from tracemill_schema.tables.timeline import TIMELINE_LEVELS

from tracemill_analysis.aggregates.bins import Bins, capture_bins
from tracemill_analysis.aggregates.cpu import core_times, cpu_summary, load_series
from tracemill_analysis.aggregates.one_process import Rows
from tracemill_analysis.aggregates.parallel import aggregate_processes
from tracemill_analysis.aggregates.source import EventSource, open_source
from tracemill_analysis.aggregates.stragglers import stragglers
from tracemill_analysis.aggregates.utilization import cpu_utilization
from tracemill_analysis.importers.base import Progress, no_progress
from tracemill_analysis.parquet import write_rows, write_table
from tracemill_analysis.store import Store

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
        progress("computing aggregates", 0.0)
        answers: dict[int, dict[str, Rows]] = {}
        for done, answer in enumerate(aggregate_processes(source, bins), 1):
            answers[answer.process_id] = answer.rows
            if answer.levels is not None:
                _write_part(store, TIMELINE_LEVELS, job, answer.process_id, answer.levels)
            if done < len(source.processes):
                progress("computing aggregates", done / len(source.processes))
        for process in source.processes:
            for name, rows in answers.pop(process.process_id).items():
                add(name, rows)
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


def _write_part(store: Store, table: Table, job: str, process_id: int, data: Any) -> None:
    """Write the rows of one process as a file of its own, if there are any."""
    if data.num_rows:
        write_table(store, table, job, layout.process_part(process_id), data)


def _add_nodes(source: EventSource, bins: dict[str, Bins], add: AddRows) -> None:
    """Compute what is sampled per node."""
    series = load_series(source)
    cores = core_times(series)
    add("cpu_summary", cpu_summary(series, cores))
    clocks = {process.node: process.clock for process in reversed(source.processes)}
    for node, by_core in sorted(cores.items()):
        if (of_node := bins.get(clocks.get(node, ""))) is not None:
            add("utilization", cpu_utilization(node, by_core, of_node))
