"""Arrow schemas of the declared tables, and the one place that writes Parquet.

File profile (readable by Athena, DuckDB, pyarrow and Spark): signed integers, double, boolean,
string; data page v1; zstd. Same rows in, same bytes out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tracemill_schema import SCHEMA_VERSION, layout
from tracemill_schema.columns import Kind, Table

from tracemill_analysis.store import Store

ROW_GROUP_ROWS = 65_536
"""Rows of one row group: a time slice of one process."""

_ARROW_TYPES = {
    Kind.INT32: pa.int32(),
    Kind.INT64: pa.int64(),
    Kind.DOUBLE: pa.float64(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.STRING: pa.string(),
}


@cache
def arrow_schema(table: Table) -> Any:
    """Return the ``pyarrow.Schema`` of a declared table."""
    return pa.schema(
        [pa.field(c.name, _ARROW_TYPES[c.kind], nullable=c.nullable) for c in table.columns],
        metadata={"tracemill_table": table.name, "tracemill_schema_version": str(SCHEMA_VERSION)},
    )


def table_from_rows(table: Table, rows: Sequence[dict[str, Any]]) -> Any:
    """Return a ``pyarrow.Table`` of dictionaries that have exactly the table's columns."""
    return pa.Table.from_pylist(list(rows), schema=arrow_schema(table))


def conform(table: Table, data: Any) -> Any:
    """Return ``data`` (``pyarrow.Table``) with the declared column order and types.

    Raises ValueError on a missing column or a null where the declaration allows none.
    """
    schema = arrow_schema(table)
    missing = set(schema.names) - set(data.column_names)
    if missing:
        raise ValueError(f"table {table.name}: no column {', '.join(sorted(missing))}")
    result = data.select(schema.names).cast(pa.schema([f.with_nullable(True) for f in schema]))
    for field in schema:
        if not field.nullable and result.column(field.name).null_count:
            raise ValueError(f"table {table.name}: null in column {field.name}")
    return pa.Table.from_arrays(result.columns, schema=schema)


class TableWriter:
    """Writes one Parquet object batch by batch; each ``write`` is at least one row group.

    Context manager; the object appears in the store when the block ends without an error.
    """

    def __init__(self, store: Store, table: Table, job: str, part: str) -> None:
        self.table = table
        self.key = layout.table_key(table.name, job, part)
        self.rows = 0
        self._output = store.open_output(self.key)

    def __enter__(self) -> TableWriter:
        # 64-bit integers are mostly times, ids and sizes: deltas pack better than dictionaries.
        packed = {c.name: "DELTA_BINARY_PACKED" for c in self.table.columns if c.kind is Kind.INT64}
        dictionary = [c.name for c in self.table.columns if c.kind in (Kind.STRING, Kind.INT32)]
        self._writer = pq.ParquetWriter(
            self._output.__enter__(),
            arrow_schema(self.table),
            version="2.6",
            data_page_version="1.0",
            compression="zstd",
            compression_level=3,
            use_dictionary=dictionary or False,
            column_encoding=packed or None,
            write_statistics=True,
        )
        return self

    def write(self, data: Any) -> None:
        """Append the rows of a ``pyarrow.Table`` (or nothing if it has none)."""
        if data.num_rows:
            self._writer.write_table(conform(self.table, data), row_group_size=ROW_GROUP_ROWS)
            self.rows += data.num_rows

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            self._writer.close()
        finally:
            self._output.__exit__(kind, error, trace)


def write_table(store: Store, table: Table, job: str, part: str, data: Any) -> str:
    """Write a ``pyarrow.Table`` as one Parquet object and return its key."""
    with TableWriter(store, table, job, part) as writer:
        writer.write(data)
    return writer.key


def write_rows(
    store: Store, table: Table, job: str, part: str, rows: Iterable[dict[str, Any]]
) -> str:
    """Write dictionaries as one Parquet object and return its key."""
    return write_table(store, table, job, part, table_from_rows(table, list(rows)))


def read_table(store: Store, table: Table, job: str, columns: Sequence[str] | None = None) -> Any:
    """Return all rows of a table of a job as a ``pyarrow.Table``; empty if the job has none.

    A column that was declared after the job was processed is null in its rows.
    """
    schema = arrow_schema(table)
    if columns is not None:
        schema = pa.schema([schema.field(name) for name in columns])
    keys = [
        info.key
        for info in store.list_objects(layout.table_prefix(table.name, job))
        if info.key.endswith(".parquet")
    ]
    parts = [_read_part(path, schema) for path in store.local_files(keys)]
    return pa.concat_tables(parts) if parts else schema.empty_table()


def _read_part(path: Any, schema: Any) -> Any:
    with pq.ParquetFile(path) as file:
        data = file.read(columns=schema.names)
    missing = {field.name for field in schema} - set(data.column_names)
    for name in missing:
        data = data.append_column(name, pa.nulls(data.num_rows, schema.field(name).type))
    fields = [field.with_nullable(field.nullable or field.name in missing) for field in schema]
    return data.select(schema.names).cast(pa.schema(fields, schema.metadata))
