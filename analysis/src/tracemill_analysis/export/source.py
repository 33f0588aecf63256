"""Reads the events of one process in the order of their tracks, in batches of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb
from tracemill_schema import layout
from tracemill_schema.errors import StoreError
from tracemill_schema.tables import events
from tracemill_schema.targets.duckdb import TYPES

from tracemill_analysis.findings.tables import Row
from tracemill_analysis.store import Store

MEMORY_LIMIT = "1GB"
BATCH_ROWS = 32_768


class ProcessEvents:
    """The event tables of one process as sorted rows. Sorting spills to disk when it has to."""

    def __init__(self, connection: Any, window: str, samples: str) -> None:
        self._connection = connection
        self._window = window
        self._samples = samples
        connection.execute(_script("flows").format(window=window))

    def rows(self, name: str) -> Iterator[Row]:
        """Yield the rows of ``sql/<name>.sql`` as dictionaries."""
        window = self._samples if name == "samples" else self._window
        query = _script(name).format(window=window)
        # A cursor of its own: two of them may be read side by side.
        cursor = self._connection.cursor()
        try:
            for batch in cursor.sql(query).to_arrow_reader(BATCH_ROWS):
                yield from batch.to_pylist()
        finally:
            cursor.close()


@contextmanager
def open_process(
    store: Store, job: str, process_id: int, folder: Path, from_ns: int | None, until_ns: int | None
) -> Iterator[ProcessEvents]:
    """Open one process's tables; ``folder`` takes what does not fit into memory."""
    connection = duckdb.connect(
        ":memory:",
        config={
            "threads": 2,
            "memory_limit": MEMORY_LIMIT,
            "temp_directory": str(folder),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        },
    )
    try:
        for table in events.TABLES:
            connection.execute(
                f"CREATE VIEW {table.name} AS {_rows(store, job, table, process_id)}"
            )
        yield ProcessEvents(
            connection, _overlaps(from_ns, until_ns), _within("time_ns", from_ns, until_ns)
        )
    except duckdb.Error as error:
        text = str(error).splitlines()[0]
        raise StoreError(f"job {job} in {store.address}: {text}") from error
    finally:
        connection.close()


def _rows(store: Store, job: str, table: Any, process_id: int) -> str:
    """SQL of one process's rows with ``file_row_number``, which tells equal rows apart."""
    key = layout.table_key(table.name, job, layout.process_part(process_id))
    if not store.exists(key):
        nulls = ", ".join(f'NULL::{TYPES[c.kind]} AS "{c.name}"' for c in table.columns)
        return f"SELECT {nulls}, NULL::BIGINT AS file_row_number WHERE false"
    path = str(store.local_file(key)).replace("'", "''")
    return (
        f"SELECT * FROM read_parquet('{path}', hive_partitioning = false, file_row_number = true)"
    )


def _overlaps(from_ns: int | None, until_ns: int | None) -> str:
    """SQL condition of events of which a part lies in the window; the bounds are integers."""
    conditions = ["true"]
    if from_ns is not None:
        low = int(from_ns)
        conditions.append(f"(start_ns + dur_ns > {low} OR start_ns >= {low})")
    if until_ns is not None:
        conditions.append(f"start_ns < {int(until_ns)}")
    return " AND ".join(conditions)


def _within(column: str, from_ns: int | None, until_ns: int | None) -> str:
    conditions = ["true"]
    if from_ns is not None:
        conditions.append(f"{column} >= {int(from_ns)}")
    if until_ns is not None:
        conditions.append(f"{column} < {int(until_ns)}")
    return " AND ".join(conditions)


@cache
def _script(name: str) -> str:
    return (resources.files(__package__) / "sql" / f"{name}.sql").read_text(encoding="utf-8")
