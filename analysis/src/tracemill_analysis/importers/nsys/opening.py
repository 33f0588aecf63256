"""Opens an export of either kind, and finds the processes in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tracemill_schema.errors import InputError

from tracemill_analysis.importers.base import DropCounter, Found
from tracemill_analysis.importers.nsys.parquet import ParquetTables
from tracemill_analysis.importers.nsys.sqlite import SqliteTables
from tracemill_analysis.importers.nsys.tables import (
    GPU_TABLES,
    NAMED_DEVICES,
    PROCESS_TABLES,
    Kind,
    Owner,
    Tables,
    Wanted,
    pid_of,
)
from tracemill_analysis.importers.unpack import plain_file
from tracemill_analysis.store import scratch_folder

MOST_PROCESSES = 4_096
"""More processes with events in one file are taken for damage."""

_XLA_DEVICE = re.compile(r"Xla:#(?:.*,)?global=(\d{1,9})\b")


@contextmanager
def open_sqlite(paths: Sequence[Path], name: str, drops: DropCounter) -> Iterator[Tables]:
    """Open an SQLite export, compressed or not."""
    with scratch_folder() as folder:
        plain, damaged = plain_file(paths[0], folder)
        if damaged:
            raise InputError(f"{name}: {damaged}; copy or export it again")
        with SqliteTables(plain, name, drops) as tables:
            yield tables


@contextmanager
def open_parquet_folder(paths: Sequence[Path], name: str, drops: DropCounter) -> Iterator[Tables]:
    """Open the files of a Parquet export."""
    with ParquetTables(paths, name, drops) as tables:
        yield tables


def owners(tables: Tables) -> dict[int | None, tuple[Owner, Owner]]:
    """Return what each process has in all tables and, apart from it, in those of the GPU."""
    found: dict[int | None, tuple[Owner, Owner]] = {}
    for table in PROCESS_TABLES:
        for process, owner in tables.owners(table).items():
            whole, gpu = found.setdefault(process, (Owner(), Owner()))
            whole.rows += owner.rows
            if table in GPU_TABLES:
                gpu.rows += owner.rows
                lowest = [d for d in (gpu.device, owner.device) if d is not None]
                gpu.device = min(lowest, default=None)
    return found


def processes(tables: Tables, name: str) -> list[Found]:
    """Return the processes that have events, those with work on a GPU in order of their device.

    InputError if there is none, or impossibly many.
    """
    found = {process: both for process, both in owners(tables).items() if process is not None}
    if not found or len(found) > MOST_PROCESSES:
        raise InputError(
            f"{name}: an export of Nsight Systems in which "
            + (f"{len(found)} processes have events" if found else "no process has events")
        )

    def order(process: int) -> tuple[bool, int, int]:
        gpu = found[process][1]
        return gpu.rows == 0, gpu.device or 0, process

    ordered = sorted(found, key=order)
    any_gpu = any(gpu.rows for _, gpu in found.values())
    working = [p for p in ordered if found[p][1].rows or not any_gpu]
    rank = xla_rank(tables) if len(working) == 1 else None
    several = len(ordered) > 1
    return [
        Found(
            rank=rank if process in working else None,
            part=process,
            label=f" (process {pid_of(process)})" if several else "",
            helper=process not in working,
        )
        for process in ordered
    ]


def xla_rank(tables: Tables) -> int | None:
    """Return the rank that JAX notes in the name of its only device."""
    names = [
        name
        for columns, _ in tables.read(Wanted(NAMED_DEVICES, {"name": Kind.TEXT}))
        for name in columns["name"].to_pylist()
    ]
    return rank_of_device_name(names[0]) if len(names) == 1 else None


def rank_of_device_name(name: str | None) -> int | None:
    """Return the global number in a device name of JAX, ``Xla:#global=3,local=0,…#``."""
    match = _XLA_DEVICE.match(name or "")
    return int(match.group(1)) if match else None
