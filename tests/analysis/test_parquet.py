from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tracemill_analysis.parquet import (
    TableWriter,
    arrow_schema,
    conform,
    read_table,
    table_from_rows,
    write_rows,
)
from tracemill_analysis.store import LocalStore
from tracemill_schema.columns import Kind
from tracemill_schema.tables import TABLE_BY_NAME, TABLES

ALLOWED = {pa.int32(), pa.int64(), pa.float64(), pa.bool_(), pa.string()}
PHYSICAL = {"INT32", "INT64", "DOUBLE", "BOOLEAN", "BYTE_ARRAY"}
ENCODINGS = {"PLAIN", "RLE", "RLE_DICTIONARY", "PLAIN_DICTIONARY", "DELTA_BINARY_PACKED"}
"""Those that pyarrow, DuckDB and PySpark read (tools/check_readers.py), and Trino's reader has."""
EXAMPLE = {
    Kind.INT32: 7,
    Kind.INT64: -(2**62),
    Kind.DOUBLE: 0.5,
    Kind.BOOLEAN: True,
    Kind.STRING: "ä",
}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_table_writes_the_athena_profile_and_reads_back_equal(
    tmp_path: Path, table: object
) -> None:
    declared = TABLE_BY_NAME[table.name]  # type: ignore[attr-defined]
    store = LocalStore(tmp_path)
    full = {c.name: EXAMPLE[c.kind] for c in declared.columns}
    bare = {c.name: None if c.nullable else EXAMPLE[c.kind] for c in declared.columns}
    key = write_rows(store, declared, "j", "all", [full, bare])

    footer = pq.ParquetFile(store.local_file(key))
    assert set(footer.schema_arrow.types) <= ALLOWED
    assert {footer.metadata.row_group(0).column(i).compression for i in range(len(full))} == {
        "ZSTD"
    }
    assert footer.schema_arrow.names == list(declared.column_names)
    for i in range(len(full)):
        column, logical = footer.metadata.row_group(0).column(i), footer.schema.column(i)
        assert column.physical_type in PHYSICAL
        assert logical.logical_type.type == (
            "STRING" if column.physical_type == "BYTE_ARRAY" else "NONE"
        )
        assert set(column.encodings) <= ENCODINGS
        assert (logical.max_definition_level, logical.max_repetition_level) in ((0, 0), (1, 0))
    assert read_table(store, declared, "j").to_pylist() == [full, bare]
    by_duckdb = duckdb.sql(
        f"SELECT * FROM read_parquet('{store.local_file(key)}', hive_partitioning=false)"
    )
    assert by_duckdb.fetchall() == [tuple(full.values()), tuple(bare.values())]


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    table = TABLE_BY_NAME["samples"]
    rows = [{c.name: EXAMPLE[c.kind] for c in table.columns}] * 100
    contents = set()
    for name in ("a", "b"):
        store = LocalStore(tmp_path / name)
        contents.add(store.read_bytes(write_rows(store, table, "j", "all", rows)))
    assert len(contents) == 1


def test_a_missing_column_or_a_null_where_none_may_be_is_refused() -> None:
    table = TABLE_BY_NAME["syncs"]
    row = {c.name: EXAMPLE[c.kind] for c in table.columns}
    with pytest.raises(ValueError, match="no column dur_ns"):
        conform(table, table_from_rows(table, [row]).drop_columns(["dur_ns"]))
    loose = pa.schema([f.with_nullable(True) for f in arrow_schema(table)])
    with pytest.raises(ValueError, match="null in column kind"):
        conform(table, pa.Table.from_pylist([{**row, "kind": None}], schema=loose))


def test_an_error_while_writing_leaves_no_object(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    table = TABLE_BY_NAME["syncs"]
    with pytest.raises(RuntimeError), TableWriter(store, table, "j", "all"):
        raise RuntimeError
    assert store.list_objects("") == []


def test_a_table_without_files_is_empty_with_its_columns(tmp_path: Path) -> None:
    table = read_table(LocalStore(tmp_path), TABLE_BY_NAME["syncs"], "j", ["kind", "dur_ns"])
    assert (table.num_rows, table.column_names) == (0, ["kind", "dur_ns"])
