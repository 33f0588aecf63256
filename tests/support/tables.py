"""Small hand-made event tables: builders with defaults, and a store that holds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tracemill_analysis.parquet import read_table, write_rows
from tracemill_analysis.store import LocalStore
from tracemill_schema import layout
from tracemill_schema.columns import Kind
from tracemill_schema.tables import TABLE_BY_NAME

Row = dict[str, Any]

JOB = "job"

_DEFAULTS: dict[Kind, Any] = {
    Kind.INT32: 0,
    Kind.INT64: 0,
    Kind.DOUBLE: 0.0,
    Kind.BOOLEAN: True,
    Kind.STRING: "",
}


def row(table: str, **values: Any) -> Row:
    """A row of any table: null where allowed, else zero or an empty text, then ``values``."""
    columns = TABLE_BY_NAME[table].columns
    unknown = set(values) - {column.name for column in columns}
    assert not unknown, f"{table} has no column {unknown}"
    filled = {c.name: None if c.nullable else _DEFAULTS[c.kind] for c in columns}
    return {**filled, **values}


def process(process_id: int = 0, **values: Any) -> Row:
    defaults = {"rank": process_id, "node": "n0", "clock": "unix", "start_ns": 0, "end_ns": 1000}
    return row("processes", process_id=process_id, **{**defaults, **values})


def _launched(launch: int | None, values: Row) -> Row:
    if launch is None:
        return values
    return {"launch_start_ns": launch, "launch_dur_ns": 1, "launch_thread": 1, **values}


def kernel(start: int, dur: int, launch: int | None = None, **values: Any) -> Row:
    defaults = {"name": "k", "category": "compute", "precision": "other", "rank": 0}
    return row("kernels", start_ns=start, dur_ns=dur, **{**defaults, **_launched(launch, values)})


def comm(start: int, dur: int, launch: int | None = None, **values: Any) -> Row:
    defaults = {"name": "ncclKernel_AllReduce", "category": "communication"}
    return kernel(start, dur, launch, **{**defaults, **values})


def memory_op(start: int, dur: int, launch: int | None = None, **values: Any) -> Row:
    defaults = {"name": "Memcpy HtoD", "kind": "HtoD", "rank": 0}
    return row(
        "memory_ops", start_ns=start, dur_ns=dur, **{**defaults, **_launched(launch, values)}
    )


def annotation(
    series: str, index: int | None, start: int, dur: int, thread: int = 1, **values: Any
) -> Row:
    name = series if index is None else f"{series}_{index}"
    defaults = {"name": name, "series": series, "index": index, "thread": thread, "rank": 0}
    return row("annotations", start_ns=start, dur_ns=dur, **{**defaults, **values})


def sample(metric: str, time: int, value: float, index: int = -1, **values: Any) -> Row:
    defaults = {"node": "n0", "scope": "node", "unit": "u", "rank": 0}
    return row(
        "samples", metric=metric, time_ns=time, value=value, index=index, **{**defaults, **values}
    )


def cpu_samples(core: int, points: list[tuple[int, int, int]], **values: Any) -> list[Row]:
    """Samples of a core at (time, busy, total), all ns."""
    shared = {"index": core, "scope": "cpu", "unit": "ns", **values}
    return [
        sample(metric, time, value, **shared)
        for time, busy, total in points
        for metric, value in (("cpu_busy_ns", busy), ("cpu_total_ns", total))
    ]


def store_with(folder: Path, **tables: list[Row]) -> LocalStore:
    """A store whose job ``JOB`` has these rows; event rows go to one file per process."""
    store = LocalStore(folder)
    for name, rows in tables.items():
        parts: dict[str, list[Row]] = {}
        for one in rows:
            part = "all" if name == "processes" else layout.process_part(one["process_id"])
            parts.setdefault(part, []).append(one)
        for part, of_part in parts.items():
            write_rows(store, TABLE_BY_NAME[name], JOB, part, of_part)
    return store


def rows_of(store: LocalStore, table: str, job: str = JOB) -> list[Row]:
    """All rows of a table of the job."""
    rows: list[Row] = read_table(store, TABLE_BY_NAME[table], job).to_pylist()
    return rows


def only(rows: list[Row], *names: str) -> list[tuple[Any, ...]]:
    """The named columns of each row, as tuples."""
    return [tuple(one[name] for name in names) for one in rows]
