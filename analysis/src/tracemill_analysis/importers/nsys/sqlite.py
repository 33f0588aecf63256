"""Tables of an SQLite export, read without changing or trusting the file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

import pyarrow as pa
from tracemill_schema.errors import InputError, UnknownFormatError
from tracemill_schema.vocab import DropReason

from tracemill_analysis.importers.base import DropCounter
from tracemill_analysis.importers.nsys.tables import (
    BATCH_ROWS,
    GPU_TABLES,
    MOST_TEXT,
    PROCESS_TABLES,
    READ_TABLES,
    THREAD_BITS,
    Kind,
    Owner,
    Wanted,
    owner_column,
)
from tracemill_analysis.importers.numbers import integers

MAGIC = b"SQLite format 3\0"

_ERRORS = (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError)
"""What reading a damaged file raises; the last where names in its schema are no text."""

_MOST_VALUE_BYTES = 64 << 20
_LEAST_ROW_BYTES = 4
_EXPRESSIONS = {
    # Types are those of the value, not of the column: a damaged file may hold any.
    Kind.INTEGER: "CASE WHEN typeof({0}) = 'integer' THEN {0} WHEN {0} IS NULL THEN NULL "
    "ELSE 'no integer' END",
    Kind.REAL: "CASE WHEN typeof({0}) IN ('integer', 'real') THEN CAST({0} AS REAL) END",
    Kind.TEXT: f"substr(CAST({{0}} AS TEXT), 1, {MOST_TEXT + 1})",
}


class SqliteTables:
    """An SQLite export. Context manager; InputError if it cannot be opened."""

    def __init__(self, path: Path, name: str, drops: DropCounter) -> None:
        self._name = name
        self._drops = drops
        self._damaged: set[str] = set()
        # In a sound file each row takes some bytes; a loop of pages would give rows for ever.
        self._most_rows = path.stat().st_size // _LEAST_ROW_BYTES + 1
        try:
            # Immutable: no lock, no journal beside the file is looked for.
            address = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
            self._connection = sqlite3.connect(address, uri=True)
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_VALUE_BYTES)
            self._connection.text_factory = _text
            for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
                self._connection.execute(f"PRAGMA {pragma}")
            self._columns = self._find_columns()
        except _ERRORS as error:
            raise InputError(
                f"{name}: an SQLite database that cannot be read: {_one_line(error)}"
            ) from error
        if not self._columns.keys() & set(PROCESS_TABLES):
            self._connection.close()
            raise UnknownFormatError(
                f"{name}: an SQLite database without a table of Nsight Systems; export the report "
                "with nsys export --type sqlite"
            )

    def __enter__(self) -> SqliteTables:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()

    def columns(self, table: str) -> frozenset[str]:
        """See ``Tables``."""
        return self._columns.get(table, frozenset())

    def read(self, wanted: Wanted) -> Iterator[tuple[dict[str, Any], int]]:
        """See ``Tables``. Reading a table ends where it is damaged."""
        known = self.columns(wanted.table)
        kinds = {name: kind for name, kind in wanted.kinds.items() if name in known}
        if not kinds:
            return
        shown = ", ".join(_EXPRESSIONS[kind].format(f'"{name}"') for name, kind in kinds.items())
        condition, values = _condition(wanted, known)
        statement = f'SELECT {shown} FROM "{wanted.table}" NOT INDEXED {condition}'
        for rows in self._batches(wanted.table, statement, values):
            columns = zip(*rows, strict=True)
            yield (
                {
                    name: self._array(column, kind)
                    for (name, kind), column in zip(kinds.items(), columns, strict=True)
                },
                len(rows),
            )

    def owners(self, table: str) -> dict[int | None, Owner]:
        """See ``Tables``."""
        known = self.columns(table)
        column = owner_column(known)
        if column is None:
            return {}
        process = f"CASE WHEN typeof({column}) = 'integer' THEN {column} >> {THREAD_BITS} END"
        has_device = table in GPU_TABLES and "deviceId" in known
        device = "min(CASE WHEN typeof(deviceId) = 'integer' THEN deviceId END)"
        statement = (
            f"SELECT {process}, count(*), {device if has_device else 'NULL'} "
            f'FROM (SELECT * FROM "{table}" NOT INDEXED LIMIT {self._most_rows}) GROUP BY 1'
        )
        owners = {}
        for rows in self._batches(table, statement, ()):
            for owner, count, lowest in rows:
                owners[None if owner is None else owner << THREAD_BITS] = Owner(count, lowest)
        return owners

    def _batches(
        self, table: str, statement: str, values: tuple[int, ...]
    ) -> Iterator[list[tuple[Any, ...]]]:
        rows: list[tuple[Any, ...]] = []
        read = 0
        try:
            # Row by row: what stands before the damage in a batch must not be lost with it.
            for row in self._connection.execute(statement, values):
                rows.append(row)
                if len(rows) == BATCH_ROWS:
                    read += len(rows)
                    yield rows
                    rows = []
                if read + len(rows) > self._most_rows:
                    raise sqlite3.DatabaseError("more rows than the file has room for")
        except _ERRORS as error:
            if table not in self._damaged:  # tables are read more than once
                self._damaged.add(table)
                place = (
                    f"{self._name}, table {table}, after row {read + len(rows)}: {_one_line(error)}"
                )
                self._drops.add(DropReason.DAMAGED, 1, place)
        if rows:
            yield rows

    def _find_columns(self) -> dict[str, frozenset[str]]:
        tables = {
            name
            for name, page in self._connection.execute(
                "SELECT name, rootpage FROM sqlite_master WHERE type = 'table' LIMIT 10000"
            )
            if name in READ_TABLES and page  # virtual tables have none
        }
        return {
            table: frozenset(
                row[1] for row in self._connection.execute(f'PRAGMA table_xinfo("{table}")')
                if not row[6]  # generated or hidden columns run what the file says
            )
            for table in sorted(tables)
        }  # fmt: skip

    def _array(self, values: tuple[Any, ...], kind: Kind) -> Any:
        if kind is Kind.INTEGER:
            return integers(values, self._drops)
        if kind is Kind.REAL:
            return pa.array(values, pa.float64())
        cut = [t if t is None or len(t) <= MOST_TEXT else t[:MOST_TEXT] for t in values]
        shortened = sum(a is not b for a, b in zip(cut, values, strict=True))
        self._drops.add(DropReason.REPAIRED_TEXT, shortened)
        return pa.array(cut, pa.string())


def _condition(wanted: Wanted, known: frozenset[str]) -> tuple[str, tuple[int, ...]]:
    parts: list[str] = []
    values: list[int] = []
    owner = owner_column(known)
    if wanted.process is not None and owner is not None:
        belongs = f"{owner} >> {THREAD_BITS} = ? AND typeof({owner}) = 'integer'"
        if wanted.absent_process:
            belongs = f"(({belongs}) OR typeof({owner}) <> 'integer')"
        parts.append(belongs)
        values.append(wanted.process >> THREAD_BITS)
    if wanted.equals is not None:
        parts.append(f'"{wanted.equals[0]}" = ?')
        values.append(wanted.equals[1])
    return (f"WHERE {' AND '.join(parts)}" if parts else ""), tuple(values)


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:160]
