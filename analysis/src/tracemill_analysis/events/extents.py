"""When the GPU work of an annotation ran, from the launches made while it was open."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]

_NONE_YET = np.iinfo(np.int64).max


class GpuExtents:
    """First start and last end of the GPU events launched inside each of some ranges.

    A launch counts for the ranges of its own thread. A range of a launching thread that made no
    launch itself (it waits while another thread runs the backward pass) takes those of all threads.
    ``any_thread`` marks ranges (steps) that always take all.
    """

    def __init__(
        self,
        threads: Int64,
        starts_ns: Int64,
        ends_ns: Int64,
        any_thread: NDArray[np.bool_],
        launching_threads: Int64,
    ) -> None:
        self._threads = threads
        self._starts_ns = starts_ns
        self._ends_ns = ends_ns
        self._any_thread = any_thread
        self._waits = np.isin(threads, launching_threads)
        shape = len(threads)
        self._own = (np.full(shape, _NONE_YET), np.full(shape, -_NONE_YET))
        self._all = (np.full(shape, _NONE_YET), np.full(shape, -_NONE_YET))

    def add(self, runs: Iterable[dict[str, Int64]]) -> None:
        """Take GPU events in batches ordered by ``launch_start_ns``."""
        everywhere = np.ones(len(self._threads), np.bool_)
        for batch in runs:
            self._widen(self._all, batch, everywhere)
            for thread in np.unique(batch["launch_thread"]).tolist():
                on_thread = batch["launch_thread"] == thread
                own = {name: values[on_thread] for name, values in batch.items()}
                self._widen(self._own, own, self._threads == thread)

    def result(self) -> tuple[Int64, Int64, NDArray[np.bool_]]:
        """Return first starts, last ends and which ranges have none."""
        use_all = self._any_thread | (self._waits & (self._own[0] == _NONE_YET))
        first = np.where(use_all, self._all[0], self._own[0])
        last = np.where(use_all, self._all[1], self._own[1])
        return first, last, first == _NONE_YET

    def _widen(
        self,
        bounds: tuple[Int64, Int64],
        batch: dict[str, Int64],
        where: NDArray[np.bool_],
    ) -> None:
        rows = np.flatnonzero(where)
        low = np.searchsorted(batch["launch_start_ns"], self._starts_ns[rows])
        high = np.searchsorted(batch["launch_start_ns"], self._ends_ns[rows])
        hit = high > low
        rows, low, high = rows[hit], low[hit], high[hit]
        if not len(rows):
            return
        # reduceat takes [low, high) from pairs; a value behind the end keeps the last index valid.
        pairs = np.column_stack((low, high)).ravel()
        starts = np.append(batch["start_ns"], _NONE_YET)
        ends = np.append(batch["end_ns"], -_NONE_YET)
        np.minimum.at(bounds[0], rows, np.minimum.reduceat(starts, pairs)[::2])
        np.maximum.at(bounds[1], rows, np.maximum.reduceat(ends, pairs)[::2])
