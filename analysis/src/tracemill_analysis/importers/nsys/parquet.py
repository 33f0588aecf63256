"""Tables of a Parquet export: a folder with one file per table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from tracemill_schema.errors import InputError
from tracemill_schema.vocab import DropReason

from tracemill_analysis.importers.base import DropCounter
from tracemill_analysis.importers.nsys.tables import (
    BATCH_ROWS,
    GPU_TABLES,
    MOST_TEXT,
    PROCESS_TABLES,
    THREAD_BITS,
    Kind,
    Owner,
    Wanted,
    owner_column,
)
from tracemill_analysis.importers.numbers import integers

MAGIC = b"PAR1"
ERRORS = (pa.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError)
"""What the Parquet reader raises for damaged files."""

_MOST_FOOTER_BYTES = 64 << 20


class ParquetTables:
    """A folder of Parquet files. Files that cannot be opened are counted as dropped.

    InputError if none that holds events can be.
    """

    def __init__(self, paths: Sequence[Path], name: str, drops: DropCounter) -> None:
        self._name = name
        self._drops = drops
        self._damaged: set[str] = set()
        self._paths: dict[str, Path] = {}
        self._columns: dict[str, frozenset[str]] = {}
        failure = "it has none"
        for path in sorted(paths):
            try:
                with open_parquet(path) as file:
                    self._columns[path.stem] = frozenset(file.schema_arrow.names)
                self._paths[path.stem] = path
            except ERRORS as error:
                failure = f"{path.name}: {one_line(error)}"
                drops.add(DropReason.UNREADABLE_FILE, 1, f"{name}/{failure}")
        if not self._columns.keys() & set(PROCESS_TABLES):
            raise InputError(f"{name}: no table with events can be read: {failure}")

    def __enter__(self) -> ParquetTables:
        return self

    def __exit__(self, *_error: object) -> None:
        """Nothing stays open between reads."""

    def columns(self, table: str) -> frozenset[str]:
        """See ``Tables``."""
        return self._columns.get(table, frozenset())

    def read(self, wanted: Wanted) -> Iterator[tuple[dict[str, Any], int]]:
        """See ``Tables``. Reading a table ends where it is damaged."""
        known = self.columns(wanted.table)
        kinds = {name: kind for name, kind in wanted.kinds.items() if name in known}
        owner = owner_column(known) if wanted.process is not None else None
        extra = {owner} if owner else set()
        extra |= {wanted.equals[0]} if wanted.equals else set()
        if not kinds or not extra <= known:
            return
        texts = [name for name, kind in kinds.items() if kind is Kind.TEXT]
        for batch in self._batches(wanted.table, [*kinds, *(extra - set(kinds))], texts):
            keep = np.ones(batch.num_rows, np.bool_)
            if owner is not None:
                ids, absent = self._integers(batch.column(owner))
                keep &= (ids >> THREAD_BITS == (wanted.process or 0) >> THREAD_BITS) & ~absent
                keep |= absent & wanted.absent_process
            if wanted.equals is not None:
                values, absent = self._integers(batch.column(wanted.equals[0]))
                keep &= (values == wanted.equals[1]) & ~absent
            rows = int(keep.sum())
            if rows:
                kept = batch if rows == batch.num_rows else batch.filter(pa.array(keep))
                yield {n: self._array(kept.column(n), k) for n, k in kinds.items()}, rows

    def owners(self, table: str) -> dict[int | None, Owner]:
        """See ``Tables``."""
        column = owner_column(self.columns(table))
        if column is None:
            return {}
        has_device = table in GPU_TABLES and "deviceId" in self.columns(table)
        owners: dict[int | None, Owner] = {}
        for batch in self._batches(table, [column, *(["deviceId"] if has_device else [])]):
            ids, absent = self._integers(batch.column(column))
            devices, no_device = (
                self._integers(batch.column("deviceId")) if has_device else (ids, ~absent | absent)
            )
            processes = np.where(absent, -1, ids >> THREAD_BITS)
            for process in np.unique(processes).tolist():
                rows = processes == process
                owner = owners.setdefault(None if process < 0 else process << THREAD_BITS, Owner())
                owner.rows += int(rows.sum())
                used = devices[rows & ~no_device]
                if len(used):
                    lowest = int(used.min())
                    owner.device = min(lowest, lowest if owner.device is None else owner.device)
        return owners

    def _batches(self, table: str, columns: list[str], texts: Sequence[str] = ()) -> Iterator[Any]:
        read, rows = 0, 0
        try:
            with open_parquet(self._paths[table], texts) as file:
                rows = file.metadata.num_rows
                for batch in file.iter_batches(BATCH_ROWS, columns=columns):
                    read += batch.num_rows
                    yield batch
        except ERRORS as error:
            if table not in self._damaged:  # tables are read more than once
                self._damaged.add(table)
                place = f"{self._name}/{table}.parquet, after row {read}: {one_line(error)}"
                self._drops.add(DropReason.DAMAGED, max(rows - read, 1), place)

    def _integers(self, values: Any) -> tuple[Any, Any]:
        array = self._array(values, Kind.INTEGER)
        absent = np.asarray(array.is_null().to_numpy(zero_copy_only=False), np.bool_)
        return np.asarray(pc.fill_null(array, 0).to_numpy(zero_copy_only=False), np.int64), absent

    def _array(self, values: Any, kind: Kind) -> Any:
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if kind is Kind.TEXT:
            return self._text(values)
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if kind is Kind.INTEGER:
            if pa.types.is_integer(values.type):
                return values.cast(pa.int64(), safe=False)
            if _is_text(values) or pa.types.is_floating(values.type):
                return integers(values.to_pylist(), self._drops)
            self._drops.add(DropReason.BAD_FIELD, len(values) - values.null_count)
            return pa.nulls(len(values), pa.int64())
        is_number = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
        return values.cast(pa.float64()) if is_number else pa.nulls(len(values), pa.float64())

    def _text(self, values: Any) -> Any:
        """Return texts as a dictionary array: each is decoded once and stored once."""
        if not pa.types.is_dictionary(values.type):
            values = values.dictionary_encode()
        if not _is_text(values.dictionary):
            self._drops.add(DropReason.BAD_FIELD, len(values) - values.null_count)
            return pa.nulls(len(values), pa.string())
        texts = []
        cut = np.zeros(len(values.dictionary) + 1, np.bool_)
        for place, value in enumerate(values.dictionary.cast(pa.large_binary())):
            start = value.as_buffer()[: 4 * MOST_TEXT].to_pybytes() if value.is_valid else b""
            text = start.decode("utf-8", "replace")
            cut[place] = len(text) > MOST_TEXT
            texts.append(text[:MOST_TEXT] if value.is_valid else None)
        places = pc.fill_null(values.indices, len(texts)).to_numpy(zero_copy_only=False)
        self._drops.add(DropReason.REPAIRED_TEXT, int(cut[places].sum()))
        return pa.DictionaryArray.from_arrays(values.indices, pa.array(texts, pa.string()))


def open_parquet(path: Path, texts: Sequence[str] = ()) -> Any:
    """Open a Parquet file with bounds on what its footer may claim.

    The columns ``texts`` are read as dictionaries, so that a long text used by many rows is held
    once.
    """
    return pq.ParquetFile(
        path,
        read_dictionary=list(texts),
        pre_buffer=False,
        thrift_string_size_limit=_MOST_FOOTER_BYTES,
        thrift_container_size_limit=1 << 20,
    )


def one_line(error: Exception) -> str:
    """Return an error's text without line ends, cut to a readable length."""
    return " ".join(str(error).split())[:160]


def _is_text(values: Any) -> bool:
    kind = values.type
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )
