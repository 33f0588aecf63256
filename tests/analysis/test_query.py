from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tracemill_analysis.manifest import Manifest, parse_manifest, read_manifest, write_manifest
from tracemill_analysis.parquet import read_table, write_rows
from tracemill_analysis.query import connect, run_query
from tracemill_analysis.store import LocalStore
from tracemill_schema import layout
from tracemill_schema.errors import JobNotFoundError, NewerSchemaError, QueryError, StoreError
from tracemill_schema.tables import TABLE_BY_NAME, TABLES

from tests.support.tables import row


def drop_row(reason: str, events: int) -> dict[str, object]:
    return {"process_id": 0, "rank": None, "source_file": "f", "reason": reason, "events": events,
            "lost": True, "example": None}  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    store = LocalStore(tmp_path / "it's a store")
    for job, events in (("007", 3), ("b", 4)):
        write_rows(store, TABLE_BY_NAME["drops"], job, "all", [drop_row("bad_json", events)])
        write_manifest(store, Manifest(job, {}, [], {}))
    return store


def test_all_tables_are_there_under_their_names_also_without_rows(store: LocalStore) -> None:
    connection = connect(store, "b")
    for table in TABLES:
        columns, _ = run_query(connection, f"SELECT * FROM {table.name}")
        assert columns == ["job_name", *table.column_names]


def test_one_job_or_all_of_them(store: LocalStore) -> None:
    sql = "SELECT job_name, events FROM drops ORDER BY job_name"
    assert run_query(connect(store, "b"), sql)[1] == [("b", 4)]
    assert run_query(connect(store), sql)[1] == [("007", 3), ("b", 4)]


@pytest.mark.parametrize(
    "sql",
    [
        "COPY drops TO '/tmp/x.csv'",
        "CREATE TABLE x AS SELECT 1",
        "SELECT 1; SELECT 2",
        "SET enable_external_access=true",
        "INSTALL httpfs",
        "ATTACH '/tmp/x.db'",
        "PRAGMA database_list",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_csv('/etc/hosts')",
        "SELECT * FROM glob('/etc/*')",
        "EXPORT DATABASE '/tmp/x'",
        "nonsense",
        "",
    ],
)
def test_anything_but_a_select_over_the_tables_is_refused(store: LocalStore, sql: str) -> None:
    with pytest.raises(QueryError):
        run_query(connect(store), sql)


def test_an_unknown_column_is_named(store: LocalStore) -> None:
    with pytest.raises(QueryError, match="evnts"):
        run_query(connect(store), "SELECT evnts FROM drops")


def test_a_job_that_is_not_there_names_those_that_are(store: LocalStore) -> None:
    with pytest.raises(JobNotFoundError, match="it holds: 007, b"):
        connect(store, "c")


def test_a_recorded_job_says_how_to_process_it(store: LocalStore) -> None:
    store.write_bytes("raw/job_name=r/node=n/process=1-2/000000.tmraw", b"")
    with pytest.raises(JobNotFoundError, match="tracemill process --store .* --job r"):
        read_manifest(store, "r")


def test_a_manifest_reads_back_and_damage_is_named(store: LocalStore) -> None:
    manifest = Manifest("j", {"status": "Completed"}, [{"name": "f"}], {"drops": []}, verdict=["v"])
    assert parse_manifest(manifest.to_json(), "m") == manifest
    for damaged in (b"", b"[]", b"{}", b'{"schema_version": "x"}'):
        with pytest.raises(StoreError, match="m: damaged manifest"):
            parse_manifest(damaged, "m")
    with pytest.raises(NewerSchemaError, match="schema version 99.*install a newer"):
        parse_manifest(b'{"schema_version": 99}', "m")


def test_files_from_before_a_column_was_declared_are_read_with_nulls(store: LocalStore) -> None:
    table = TABLE_BY_NAME["processes"]
    write_rows(store, table, "b", "old", [row("processes", process_id=3, node="n")])
    (path,) = store.local_files([layout.table_key("processes", "b", "old")])
    data = pq.read_table(path, partitioning=None)
    pq.write_table(data.drop_columns(["alignment_ns", "pid"]), path)
    sql = "SELECT process_id, node, pid, alignment_ns FROM processes"
    assert run_query(connect(store, "b"), sql)[1] == [(3, "n", None, None)]
    rows = read_table(store, table, "b").to_pylist()
    assert [(r["process_id"], r["node"], r["pid"], r["alignment_ns"]) for r in rows] == [
        (3, "n", None, None)
    ]
    assert read_table(store, table, "b", ["alignment_ns"]).to_pylist() == [{"alignment_ns": None}]
