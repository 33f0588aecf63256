"""How deep ranges are nested on their thread."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]


class NestingDepth:
    """Computes depths for batches that come ordered by start, then by falling duration.

    The depth of a range is the number of ranges of its thread that are open when it begins. A
    range of zero duration is never open.
    """

    def __init__(self) -> None:
        self._open_ends: dict[int, Int64] = {}

    def depths(self, threads: Int64, starts_ns: Int64, durations_ns: Int64) -> NDArray[np.int32]:
        """Return the depth of each range, shape like ``threads``."""
        result = np.zeros(len(threads), np.int32)
        order = np.argsort(threads, kind="stable")
        bounds = np.flatnonzero(np.diff(threads[order])) + 1
        for rows in np.split(order, bounds):
            if len(rows):
                thread = int(threads[rows[0]])
                result[rows] = self._one_thread(thread, starts_ns[rows], durations_ns[rows])
        return result

    def _one_thread(self, thread: int, starts_ns: Int64, durations_ns: Int64) -> Int64:
        before = self._open_ends.get(thread, np.empty(0, np.int64))
        lasting = durations_ns > 0
        ends = np.sort(np.concatenate((before, (starts_ns + durations_ns)[lasting])))
        # Ranges that end at or before a start began before it, so they are among the earlier ones.
        earlier = len(before) + np.cumsum(lasting) - lasting
        depth = earlier - np.searchsorted(ends, starts_ns, side="right")
        self._open_ends[thread] = ends[ends > starts_ns[-1]]
        return np.asarray(depth, np.int64)
