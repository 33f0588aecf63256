"""Makes exports of Nsight Systems for tests, and imports them."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tracemill_analysis.importers.base import ProcessResult, WorkItem
from tracemill_analysis.importers.discover import discover
from tracemill_analysis.pipeline.convert import convert_item
from tracemill_analysis.store import LocalStore

from tests.support import kineto as k
from tests.support.shared import shared_path

H100 = "traces/nsys-ai/h100_2gpu_1s.sqlite.gz"

KERNEL = (
    "start", "end", "deviceId", "streamId", "correlationId", "globalPid", "demangledName",
    "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "registersPerThread",
    "staticSharedMemory", "dynamicSharedMemory", "graphNodeId",
)  # fmt: skip
CALL = ("start", "end", "globalTid", "correlationId", "nameId")
NVTX = ("start", "end", "eventType", "globalTid", "text", "textId", "domainId")
STRINGS = ("id", "value")

Tables = Mapping[str, tuple[Sequence[str], Iterable[Sequence[Any]]]]


def pid(number: int) -> int:
    """Global id of a process."""
    return 1 << 48 | number << 24


def tid(process: int, thread: int) -> int:
    """Global id of a thread."""
    return pid(process) | thread


def write_sqlite(path: Path, tables: Tables) -> Path:
    """Write tables (columns without types, rows) as an SQLite file."""
    with sqlite3.connect(path) as connection:
        for table, (columns, rows) in tables.items():
            connection.execute(f'CREATE TABLE "{table}" ({", ".join(columns)})')
            marks = ", ".join("?" * len(columns))
            connection.executemany(f'INSERT INTO "{table}" VALUES ({marks})', rows)
    connection.close()
    return path


def unpacked(folder: Path) -> Path:
    """The real SQLite file, unpacked."""
    path = folder / "h100.sqlite"
    path.write_bytes(gzip.decompress(shared_path(H100).read_bytes()))
    return path


def to_parquet(source: Path, folder: Path) -> Path:
    """Write every table of an SQLite file as a Parquet file, as ``--type parquetdir`` does."""
    folder.mkdir()
    connection = sqlite3.connect(source)
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (table,) in names:
        cursor = connection.execute(f'SELECT * FROM "{table}"')
        columns = [entry[0] for entry in cursor.description]
        rows = cursor.fetchall()
        arrays = [pa.array([row[at] for row in rows]) for at in range(len(columns))]
        arrays = [a.cast(pa.int64()) if pa.types.is_null(a.type) else a for a in arrays]
        pq.write_table(pa.table(arrays, names=columns), folder / f"{table}.parquet")
    connection.close()
    return folder


def items_of(path: Path) -> tuple[WorkItem, ...]:
    found = discover([path])
    assert not found.rejected, found.rejected
    return found.items


def convert_all(path: Path, root: Path) -> tuple[list[ProcessResult], LocalStore]:
    """Import all processes of an input into one store."""
    store = LocalStore(root)
    results = []
    for item in items_of(path):
        outcome = convert_item(store, k.JOB, item)
        assert outcome.process is not None, outcome.error
        results.append(outcome.process)
    return results, store


def stored_bytes(store: LocalStore) -> dict[str, bytes]:
    return {info.key: store.read_bytes(info.key) for info in store.list_objects("")}
