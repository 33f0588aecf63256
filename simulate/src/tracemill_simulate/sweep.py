"""Exact partition of GPU time by counting what runs at each moment, in bounded memory.

Deliberately another method than the engine's (which merges and subtracts sets of intervals): all
starts and ends are sorted, running counts tell what runs between two neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]

COMPUTE, COMMUNICATION, MEMORY = 0, 1, 2
_KINDS = 3


@dataclass
class Partition:
    """Nanoseconds of one GPU from its first start to its last end."""

    start_ns: int | None = None
    end_ns: int | None = None
    compute_ns: int = 0
    comm_ns: int = 0
    mem_ns: int = 0
    overlap_ns: int = 0
    exposed_comm_ns: int = 0
    exposed_mem_ns: int = 0

    @property
    def window_ns(self) -> int:
        """From the first start to the last end."""
        if self.start_ns is None or self.end_ns is None:
            return 0
        return self.end_ns - self.start_ns

    @property
    def busy_ns(self) -> int:
        """Time in which anything runs."""
        return self.compute_ns + self.exposed_comm_ns + self.exposed_mem_ns

    @property
    def idle_ns(self) -> int:
        """The rest of the window."""
        return self.window_ns - self.busy_ns


@dataclass
class Sweep:
    """Takes intervals in any order up to a horizon that only grows."""

    partition: Partition = field(default_factory=Partition)
    _starts: list[Int64] = field(default_factory=list)
    _ends: list[Int64] = field(default_factory=list)
    _kinds: list[Int64] = field(default_factory=list)

    def add(self, starts: Int64, ends: Int64, kind: int) -> None:
        """Take intervals of a kind; none may begin before the last horizon."""
        self._starts.append(starts.ravel())
        self._ends.append(ends.ravel())
        self._kinds.append(np.full(starts.size, kind, np.int64))

    def advance(self, horizon_ns: int | None = None) -> None:
        """Count everything before the horizon, without one all; keep what reaches beyond it."""
        if not self._starts:
            return
        starts, ends, kinds = (
            np.concatenate(parts) for parts in (self._starts, self._ends, self._kinds)
        )
        self._starts, self._ends, self._kinds = [], [], []
        if not len(starts):
            return
        found = self.partition
        first, last = int(starts.min()), int(ends.max())
        found.start_ns = first if found.start_ns is None else min(found.start_ns, first)
        found.end_ns = last if found.end_ns is None else max(found.end_ns, last)
        if horizon_ns is not None:
            later = ends > horizon_ns
            self._starts = [np.maximum(starts[later], horizon_ns)]
            self._ends, self._kinds = [ends[later]], [kinds[later]]
            ends = np.minimum(ends, horizon_ns)
            sooner = starts < horizon_ns
            starts, ends, kinds = starts[sooner], ends[sooner], kinds[sooner]
        self._count(starts, ends, kinds)

    def _count(self, starts: Int64, ends: Int64, kinds: Int64) -> None:
        times = np.concatenate((starts, ends))
        order = np.argsort(times, kind="stable")
        steps = np.concatenate((np.ones(len(starts), np.int64), -np.ones(len(ends), np.int64)))
        both = np.concatenate((kinds, kinds))
        lengths = np.diff(times[order])
        compute, comm, mem = (
            np.cumsum(np.where(both == kind, steps, 0)[order])[:-1] > 0 for kind in range(_KINDS)
        )

        def total(where: NDArray[np.bool_]) -> int:
            return int(lengths[where].sum())

        found = self.partition
        found.compute_ns += total(compute)
        found.comm_ns += total(comm)
        found.mem_ns += total(mem)
        found.overlap_ns += total(compute & comm)
        found.exposed_comm_ns += total(comm & ~compute)
        found.exposed_mem_ns += total(mem & ~comm & ~compute)
