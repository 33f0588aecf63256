"""The GPU events of one process as arrays: what every union of GPU time is made from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tracemill_schema.tables.events import KERNELS, MEMORY_OPS
from tracemill_schema.vocab import KernelCategory, MemoryOpKind

from tracemill_analysis import intervals as iv
from tracemill_analysis.aggregates.order import coded
from tracemill_analysis.aggregates.source import EventSource, integers, present, texts
from tracemill_analysis.intervals import EMPTY, Int64s, Intervals

COMPUTE, COMMUNICATION, MEMCPY, MEMSET = 0, 1, 2, 3
"""Values of ``GpuEvents.kind``."""

_COLUMNS = ("device", "start_ns", "dur_ns", "launch_start_ns", "launch_thread")


@dataclass(frozen=True)
class GpuEvents:
    """GPU events, one array element each. Times in ns; ``linked`` tells if the launch is known.

    ``launch`` is the start of the launch, or the event's own start where there is none;
    ``thread`` is the launching thread, -1 where there is none.
    """

    device: Int64s
    start: Int64s
    end: Int64s
    kind: NDArray[np.int8]
    launch: Int64s
    thread: Int64s
    linked: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.start)

    def select(self, chosen: NDArray[np.bool_]) -> GpuEvents:
        """Return the events for which ``chosen`` is true."""
        return self if chosen.all() else self.take(np.flatnonzero(chosen))

    def take(self, chosen: Int64s) -> GpuEvents:
        """Return the events at these positions."""
        return GpuEvents(
            self.device[chosen],
            self.start[chosen],
            self.end[chosen],
            self.kind[chosen],
            self.launch[chosen],
            self.thread[chosen],
            self.linked[chosen],
        )

    @property
    def devices(self) -> list[int]:
        """Devices that have events, ascending."""
        return sorted(self._by_device)

    def on(self, device: int) -> GpuEvents:
        """Return the events of one device that has some."""
        return self._by_device[device]

    @cached_property
    def _by_device(self) -> dict[int, GpuEvents]:
        found = coded(self.device)[1].tolist()
        return {device: self.select(self.device == device) for device in found}

    @cached_property
    def parts(self) -> Partition:
        """The unions of the events by kind, all devices merged."""
        return _partition(self)


def load_gpu_events(source: EventSource, process_id: int) -> GpuEvents:
    """Read kernels and memory operations of a process."""
    kernels = source.columns(KERNELS, (*_COLUMNS, "category"), process_id)
    copies = source.columns(MEMORY_OPS, (*_COLUMNS, "kind"), process_id)
    kind = np.concatenate(
        (
            np.where(
                _is(kernels, "category", KernelCategory.COMMUNICATION), COMMUNICATION, COMPUTE
            ),
            np.where(_is(copies, "kind", MemoryOpKind.MEMSET), MEMSET, MEMCPY),
        )
    ).astype(np.int8)

    def both(name: str, null: int = 0) -> Int64s:
        return np.concatenate((integers(kernels, name, null), integers(copies, name, null)))

    start = both("start_ns")
    linked = np.concatenate(
        (present(kernels, "launch_start_ns"), present(copies, "launch_start_ns"))
    )
    return GpuEvents(
        device=both("device"),
        start=start,
        end=start + both("dur_ns"),
        kind=kind,
        launch=np.where(linked, both("launch_start_ns"), start),
        thread=both("launch_thread", -1),
        linked=linked,
    )


def _is(data: Any, name: str, word: str) -> NDArray[np.bool_]:
    """Return where a string column has this value."""
    codes, words = texts(data, name)
    return codes == words.index(word) if word in words else np.zeros(len(codes), bool)


@dataclass(frozen=True)
class Partition:
    """GPU time by kind. Exposed parts follow the order compute, communication, memory."""

    busy: Intervals
    kernels: Intervals
    compute: Intervals
    comm: Intervals
    mem: Intervals

    @property
    def busy_ns(self) -> int:
        """Union of all events."""
        return iv.length(self.busy)

    @property
    def compute_ns(self) -> int:
        """Union of compute kernels."""
        return iv.length(self.compute)

    @property
    def comm_ns(self) -> int:
        """Union of communication kernels."""
        return iv.length(self.comm)

    @property
    def mem_ns(self) -> int:
        """Union of memory operations."""
        return iv.length(self.mem)

    @property
    def exposed_comm_ns(self) -> int:
        """Communication without compute: |compute + comm| - |compute|."""
        return iv.length(self.kernels) - self.compute_ns

    @property
    def exposed_mem_ns(self) -> int:
        """Memory operations without compute or communication: |all| - |compute + comm|."""
        return self.busy_ns - self.compute_ns - self.exposed_comm_ns


def _partition(events: GpuEvents) -> Partition:
    def of(chosen: NDArray[np.bool_]) -> Intervals:
        if not chosen.any():
            return EMPTY
        return iv.union(events.start[chosen], events.end[chosen])

    kind = events.kind
    compute, comm, mem = of(kind == COMPUTE), of(kind == COMMUNICATION), of(kind >= MEMCPY)
    both = iv.merge(compute, comm)
    return Partition(iv.merge(both, mem), both, compute, comm, mem)
