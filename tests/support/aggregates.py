"""Hand-made profile and aggregate tables for tests of findings and reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tracemill_analysis.findings import JobTables
from tracemill_analysis.parquet import write_rows
from tracemill_analysis.store import LocalStore, Store
from tracemill_schema import layout
from tracemill_schema.tables import TABLE_BY_NAME

from tests.support.tables import JOB, Row, row

MS = 1_000_000
US = 1_000


def write_rows_to_store(store: Store, job: str, tables: dict[str, list[Row]]) -> None:
    """Write whole tables, each as one file; columns that a row lacks take their defaults."""
    for name, rows in tables.items():
        filled = [row(name, **one) for one in rows]
        write_rows(store, TABLE_BY_NAME[name], job, layout.WHOLE_JOB_PART, filled)


def job_with(folder: Path, **tables: list[Row]) -> LocalStore:
    """A store whose job ``JOB`` has these tables."""
    store = LocalStore(folder)
    write_rows_to_store(store, JOB, tables)
    return store


def processes(count: int = 1, **values: Any) -> list[Row]:
    defaults = {
        "node": "n0",
        "rank_source": "content",
        "clock": "unix",
        "source_format": "tracemill",
        "source_file": "raw",
        "events_read": 1000,
        "events_kept": 1000,
        "start_ns": 0,
        "end_ns": 10_000 * MS,
    }
    return [{"process_id": i, "rank": i, **defaults, **values} for i in range(count)]


def steps(
    lengths_ns: Sequence[int],
    *,
    gaps_ns: Sequence[int] | None = None,
    inputs_ns: Sequence[int] | None = None,
    gap_inputs_ns: Sequence[int] | None = None,
    process_id: int = 0,
    first: int = 0,
    start_ns: int = 0,
    **values: Any,
) -> list[Row]:
    """Consecutive steps of one rank; the gap of the first is not recorded."""
    rows, at = [], start_ns
    for i, length in enumerate(lengths_ns):
        gap = gaps_ns[i] if gaps_ns is not None and i else 0
        at += gap
        rows.append(
            {
                "process_id": process_id,
                "rank": process_id,
                "node": "n0",
                "thread": 1,
                "occurrence": i,
                "step": first + i,
                "start_ns": at,
                "dur_ns": length,
                "gap_before_ns": gap if i else None,
                "input_ns": inputs_ns[i] if inputs_ns is not None else 0,
                "gap_input_ns": (gap_inputs_ns[i] if gap_inputs_ns is not None else 0)
                if i
                else None,
                **values,
            }
        )
        at += length
    return rows


def gpu_window(
    compute: int,
    exposed_comm: int = 0,
    exposed_mem: int = 0,
    idle: int = 0,
    *,
    overlap: int = 0,
    process_id: int = 0,
    device: int = 0,
    start_ns: int = 0,
    window_kind: str = "all_gpu",
    **values: Any,
) -> Row:
    """A row of time_breakdown whose parts add up to its window, all in ns."""
    window = compute + exposed_comm + exposed_mem + idle
    return {
        "process_id": process_id,
        "rank": process_id,
        "node": "n0",
        "device": device,
        "window_kind": window_kind,
        "window_start_ns": start_ns,
        "window_end_ns": start_ns + window,
        "window_ns": window,
        "busy_ns": window - idle,
        "idle_ns": idle,
        "compute_ns": compute,
        "comm_ns": exposed_comm + overlap,
        "mem_ns": exposed_mem,
        "overlap_ns": overlap,
        "exposed_comm_ns": exposed_comm,
        "exposed_mem_ns": exposed_mem,
        "gpu_events": 10,
        **values,
    }


def distribution(count: int, each_ns: int, *, longest_ns: int | None = None) -> Row:
    """Columns of ranges of which all but the longest take ``each_ns``."""
    longest = each_ns if longest_ns is None else longest_ns
    total = each_ns * (count - 1) + longest
    return {
        "count": count,
        "total_ns": total,
        "min_ns": min(each_ns, longest),
        "max_ns": longest,
        "mean_ns": total / count,
        "p50_ns": each_ns,
        "p95_ns": each_ns,
        "p99_ns": longest,
    }


def series(
    name: str, count: int, each_ns: int, *, process_id: int = 0, longest_ns: int | None = None,
    **values: Any,
) -> Row:  # fmt: skip
    """A row of annotation_summary."""
    spread = distribution(count, each_ns, longest_ns=longest_ns)
    return {
        "process_id": process_id,
        "rank": process_id,
        "node": "n0",
        "series": name,
        **spread,
        "busy_ns": spread["total_ns"],
        **values,
    }


def job_row(**values: Any) -> Row:
    """A row of jobs: complete, of one process."""
    return row(
        "jobs",
        **{
            "status": "Completed",
            "completeness": "complete",
            "source": "tracemill",
            "nodes": 1,
            "ranks": 1,
            "processes": 1,
            "simulated": False,
            "schema_version": 1,
            **values,
        },
    )


def titles(findings: Iterable[Any], rule: str) -> list[str]:
    """Titles of a rule's findings that did not abstain."""
    return [f.title for f in findings if f.rule == rule and not f.abstained]


class MemoryTables(JobTables):
    """Tables that are given as rows instead of read from a store."""

    def __init__(self, **tables: list[Row]) -> None:
        self.job = JOB
        self._given = {name: [row(name, **one) for one in rows] for name, rows in tables.items()}

    def rows(self, name: str) -> list[Row]:
        """Rows of a table; empty if it was not given."""
        return self._given.get(name, [])
