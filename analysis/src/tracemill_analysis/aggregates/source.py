"""Reads the event tables of one job: SQL through DuckDB, columns of a process through pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from tracemill_schema import layout
from tracemill_schema.columns import Table
from tracemill_schema.errors import StoreError
from tracemill_schema.tables import events
from tracemill_schema.tables.profile import PROCESSES
from tracemill_schema.targets.duckdb import TYPES

from tracemill_analysis.parquet import arrow_schema, read_table
from tracemill_analysis.store import Store

MEMORY_LIMIT = "1GB"
THREADS = 2


@dataclass(frozen=True)
class Process:
    """What the aggregates need of a row of ``processes``."""

    process_id: int
    rank: int | None
    node: str
    clock: str
    start_ns: int | None
    end_ns: int | None
    clock_spread_ns: int | None = None
    alignment_ns: int | None = None

    @property
    def where(self) -> dict[str, Any]:
        """Columns that say where a row comes from."""
        return {"process_id": self.process_id, "rank": self.rank, "node": self.node}


Files = dict[str, dict[str, Path]]
"""Local files of the event tables: by table name, then by part."""


class EventSource:
    """The event tables of one job as DuckDB views, and its processes sorted by id.

    ``place`` names the job in errors.
    """

    def __init__(
        self, place: str, processes: Sequence[Process], files: Files, connection: Any
    ) -> None:
        self._connection = connection
        self._place = place
        self.processes = list(processes)
        self.files = files
        for table in events.TABLES:
            for path in files[table.name].values():
                with _readable(place, path):
                    pq.read_metadata(path)
            with _readable(place):
                connection.execute(_view(table, files[table.name]))

    def files_of(self, process_id: int) -> Files:
        """Return the files of one process alone."""
        part = layout.process_part(process_id)
        return {
            name: {part: files[part]} if part in files else {} for name, files in self.files.items()
        }

    @property
    def place(self) -> str:
        """What names the job in errors."""
        return self._place

    def sql(self, name: str, **parameters: Any) -> Any:
        """Run ``sql/<name>.sql`` with named parameters and return a ``pyarrow.Table``."""
        return self.query(_script(name), **parameters)

    def query(self, text: str, **parameters: Any) -> Any:
        """Run SQL text with named parameters and return a ``pyarrow.Table``."""
        with _readable(self._place):
            return self._connection.sql(text, params=parameters).to_arrow_table()

    def columns(self, table: Table, names: tuple[str, ...], process_id: int) -> Any:
        """Return columns of one process's rows as a ``pyarrow.Table``, in the order of the file.

        Texts come as dictionary arrays. The rows are consecutive slices of time (by start), each
        sorted by the table's own order.
        """
        schema = arrow_schema(table)
        path = self.files[table.name].get(layout.process_part(process_id))
        if path is None:
            return pa.schema([schema.field(name) for name in names]).empty_table()
        texts = [name for name in names if pa.types.is_string(schema.field(name).type)]
        readable = _readable(self._place, path)
        with readable, pq.ParquetFile(path, read_dictionary=texts) as file:
            return file.read(columns=list(names)).select(list(names))


@contextmanager
def open_source(store: Store, job: str) -> Iterator[EventSource]:
    """Open the event tables of a job; the connection is closed at the end of the block."""
    files = {table.name: _files(store, job, table) for table in events.TABLES}
    place = f"job {job} in {store.address}"
    with open_files(place, _read_processes(store, job), files) as source:
        yield source


@contextmanager
def open_files(place: str, processes: Sequence[Process], files: Files) -> Iterator[EventSource]:
    """Open event tables that lie in local files; the connection is closed at the end."""
    connection = duckdb.connect(
        ":memory:", config={"threads": THREADS, "memory_limit": MEMORY_LIMIT}
    )
    try:
        yield EventSource(place, processes, files, connection)
    finally:
        connection.close()


@contextmanager
def _readable(place: str, path: Path | None = None) -> Iterator[None]:
    """Turn what is raised on a damaged file into a StoreError that names it."""
    try:
        yield
    except (duckdb.Error, OSError, pa.ArrowException) as error:
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        part = "" if path is None else f"{path.parent.parent.name}/{path.name}: "
        raise StoreError(f"{place}: {part}{text}") from error


def integers(data: Any, name: str, null: int = 0) -> NDArray[np.int64]:
    """Return an integer column of a ``pyarrow.Table`` as int64, nulls replaced by ``null``."""
    column = data.column(name)
    if column.null_count:
        column = column.fill_null(null)
    return column.to_numpy().astype(np.int64, copy=False)  # type: ignore[no-any-return]


def present(data: Any, name: str) -> NDArray[np.bool_]:
    """Return which values of a column are not null."""
    return data.column(name).combine_chunks().is_valid().to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def texts(data: Any, name: str) -> tuple[NDArray[np.int64], list[str | None]]:
    """Return a string column as codes into a sorted list of its distinct values (null last)."""
    column = data.column(name)
    if pa.types.is_dictionary(column.type):
        encoded = column.unify_dictionaries().combine_chunks()
    else:
        encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):  # without rows
        encoded = pa.array([], pa.string()).dictionary_encode()
    words: list[str | None] = encoded.dictionary.to_pylist()
    used = encoded.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)
    met = np.bincount(used, minlength=len(words) + 1) > 0
    words.append(None)
    order = sorted(np.flatnonzero(met).tolist(), key=lambda i: (words[i] is None, words[i] or ""))
    place = np.zeros(len(words), np.int64)
    place[order] = np.arange(len(order))
    return place[used], [words[i] for i in order]


_CLOCK = ("clock_spread_ns", "alignment_ns")


def _read_processes(store: Store, job: str) -> list[Process]:
    names = ("process_id", "rank", "node", "clock", "start_ns", "end_ns", *_CLOCK)
    rows: list[Mapping[str, Any]] = read_table(store, PROCESSES, job, names).to_pylist()
    return sorted((Process(**row) for row in rows), key=lambda process: process.process_id)


def _files(store: Store, job: str, table: Table) -> dict[str, Path]:
    """Return a table's files by part."""
    return {
        info.key.rpartition("/")[2].removesuffix(".parquet"): store.local_file(info.key)
        for info in store.list_objects(layout.table_prefix(table.name, job))
        if info.key.endswith(".parquet")
    }


def _view(table: Table, files: dict[str, Path]) -> str:
    """SQL that makes a view of a table's files, or an empty one if the job has none."""
    if files:
        quoted = ", ".join("'" + str(path).replace("'", "''") + "'" for path in files.values())
        source = f"read_parquet([{quoted}], hive_partitioning = false)"
        return f"CREATE VIEW {table.name} AS SELECT * FROM {source}"
    nulls = ", ".join(f'NULL::{TYPES[c.kind]} AS "{c.name}"' for c in table.columns)
    return f"CREATE VIEW {table.name} AS SELECT {nulls} WHERE false"


@cache
def _script(name: str) -> str:
    return (resources.files(__package__) / "sql" / f"{name}.sql").read_text(encoding="utf-8")
