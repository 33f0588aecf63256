"""The tables of an Nsight Systems export, whatever holds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
SETS = "CUPTI_ACTIVITY_KIND_MEMSET"
SYNCS = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
NVTX = "NVTX_EVENTS"
STRINGS = "StringIds"
METRICS = "GPU_METRICS"
METRIC_NAMES = "TARGET_INFO_GPU_METRICS"
GPUS = "TARGET_INFO_GPU"
CUDA_DEVICES = "TARGET_INFO_CUDA_DEVICE"
NAMED_DEVICES = "TARGET_INFO_NVTX_CUDA_DEVICE"
SESSION = "TARGET_INFO_SESSION_START_TIME"
ANALYSIS = "ANALYSIS_DETAILS"

GPU_TABLES = (KERNELS, GRAPHS, COPIES, SETS)
PROCESS_TABLES = (*GPU_TABLES, SYNCS, CALLS, NVTX)
"""Tables whose rows belong to a process."""

READ_TABLES = frozenset(
    {*PROCESS_TABLES, STRINGS, METRICS, METRIC_NAMES, GPUS, CUDA_DEVICES, NAMED_DEVICES, SESSION,
     ANALYSIS}
)  # fmt: skip

BATCH_ROWS = 16_384
MOST_TEXT = 8_192
"""Longer texts are cut there, so that a batch of rows has a bounded size."""

THREAD_BITS = 24
"""A global thread id holds the global process id with the thread's id in its lowest bits."""


class Kind(Enum):
    """How a column is read."""

    INTEGER = "integer"
    REAL = "real"
    TEXT = "text"


@dataclass
class Owner:
    """How much a process has in a table, and the lowest device it uses there."""

    rows: int = 0
    device: int | None = None


@dataclass(frozen=True)
class Wanted:
    """What to read of a table: columns (those it lacks are left out), and of which rows.

    ``process`` is a global process id; ``equals`` a column and the value it must have.
    """

    table: str
    kinds: Mapping[str, Kind]
    process: int | None = None
    equals: tuple[str, int] | None = None
    absent_process: bool = field(default=False, kw_only=True)
    """Also rows that name no process."""


class Tables(Protocol):
    """An export that is open for reading. What cannot be read is counted by the reader."""

    def columns(self, table: str) -> frozenset[str]:
        """Return the columns of a table; none if there is no such table."""

    def read(self, wanted: Wanted) -> Iterator[tuple[dict[str, Any], int]]:
        """Yield batches of rows as Arrow arrays by column, with their number."""

    def owners(self, table: str) -> dict[int | None, Owner]:
        """Return what each process has in a table, by global process id."""


def owner_column(columns: frozenset[str]) -> str | None:
    """Return the column that says whose a row is."""
    return next((name for name in ("globalPid", "globalTid") if name in columns), None)


def process_of_thread(thread: int) -> int:
    """Return the global process id of a global thread id."""
    return thread >> THREAD_BITS << THREAD_BITS


def pid_of(process: int) -> int:
    """Return the operating system's id of a global process id."""
    return process >> THREAD_BITS & (1 << THREAD_BITS) - 1
