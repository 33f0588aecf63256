"""SQL over the tables of a store: DuckDB, read-only, without access to anything else.

Every declared table is a view under its name, empty where a job has no file of it. A query is one
SELECT; it may read the store's tables and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import duckdb
from tracemill_schema import layout
from tracemill_schema.columns import Table
from tracemill_schema.errors import QueryError
from tracemill_schema.tables import TABLES
from tracemill_schema.targets.duckdb import TYPES, empty_select

from tracemill_analysis.manifest import read_manifest
from tracemill_analysis.store import Store

MEMORY_LIMIT = "2GB"


def connect(store: Store, job: str | None = None, tables: Collection[str] | None = None) -> Any:
    """Return a locked-down DuckDB connection with a view per table.

    ``job`` limits the views to one job (JobNotFoundError if it is not processed); otherwise they
    span all processed jobs of the store. ``tables`` names the tables whose rows are wanted (see
    ``tables_in``): the views of others are empty, and their files need not be fetched.
    """
    jobs = [job] if job is not None else _processed_jobs(store)
    if job is not None:
        read_manifest(store, job)
    connection = duckdb.connect(":memory:")
    connection.execute(f"SET memory_limit='{MEMORY_LIMIT}'")
    connection.execute("SET threads=2")
    files: list[str] = []
    for table in TABLES:
        wanted = tables is None or table.name in tables
        paths = _table_files(store, table, jobs) if wanted else []
        files += paths
        connection.execute(f'CREATE VIEW "{table.name}" AS {_select(table, paths)}')
    connection.execute(f"SET allowed_paths=[{_sql_list(files)}]")
    connection.execute("SET enable_external_access=false")
    connection.execute("SET lock_configuration=true")
    return connection


def tables_in(sql: str) -> set[str]:
    """Return the names of the declared tables that a query reads; QueryError if it has no sense."""
    with duckdb.connect(":memory:") as connection:
        try:
            _one_select(connection, sql)
            found = connection.get_table_names(sql)
        except duckdb.Error as error:
            raise QueryError(_one_line(error)) from error
    return {name.lower() for name in found} & {table.name for table in TABLES}


def run_query(
    connection: Any, sql: str, max_rows: int | None = None
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run one SELECT and return column names and rows, at most ``max_rows`` of them.

    QueryError says what is wrong with it.
    """
    try:
        result = connection.execute(_one_select(connection, sql))
        columns = [column[0] for column in result.description]
        return columns, result.fetchall() if max_rows is None else result.fetchmany(max_rows)
    except duckdb.Error as error:
        raise QueryError(_one_line(error)) from error


def _one_select(connection: Any, sql: str) -> Any:
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise QueryError(f"one SELECT is expected, found {len(statements)} statements")
    if statements[0].type != duckdb.StatementType.SELECT:
        raise QueryError("only SELECT is allowed: profiles are read-only")
    return statements[0]


def _one_line(error: Exception) -> str:
    return str(error).replace("\n", " ").strip()


def _processed_jobs(store: Store) -> list[str]:
    folders = store.list_folders(layout.JOBS_PREFIX)
    return [job for folder in folders if (job := layout.parse_job_dir(folder)) is not None]


def _table_files(store: Store, table: Table, jobs: Sequence[str]) -> list[str]:
    keys = [
        info.key
        for job in jobs
        for info in store.list_objects(layout.table_prefix(table.name, job))
        if info.key.endswith(".parquet")
    ]
    return [str(path) for path in store.local_files(keys)]


def _select(table: Table, paths: Sequence[str]) -> str:
    if not paths:
        return empty_select(table)
    # By declaration: columns that came later than the files are null, unknown ones are not shown.
    columns = ", ".join(f'CAST("{c.name}" AS {TYPES[c.kind]}) AS "{c.name}"' for c in table.columns)
    return (
        f"SELECT job_name, {columns} FROM ({empty_select(table)} UNION ALL BY NAME "
        f"SELECT * FROM read_parquet([{_sql_list(paths)}], "
        "hive_partitioning=true, hive_types={'job_name': VARCHAR}, union_by_name=true))"
    )


def _sql_list(values: Sequence[str]) -> str:
    return ", ".join("'" + value.replace("'", "''") + "'" for value in values)
