"""Which training step a point in time falls in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tracemill_analysis.events.series import STEP_SERIES

Int64 = NDArray[np.int64]


class StepIndex:
    """Step ranges of one process, half open ``[start, end)``; if they overlap, the later wins."""

    def __init__(self, starts_ns: Int64, durations_ns: Int64, indexes: Int64) -> None:
        order = np.lexsort((indexes, starts_ns))
        self.starts_ns = starts_ns[order]
        self.ends_ns = self.starts_ns + durations_ns[order]
        self.indexes = indexes[order]

    def __len__(self) -> int:
        return len(self.starts_ns)

    def find(self, times_ns: Int64) -> tuple[Int64, NDArray[np.bool_]]:
        """Return the step of each time and whether it falls in none (then the step is 0)."""
        if not len(self.starts_ns):
            return np.zeros(len(times_ns), np.int64), np.ones(len(times_ns), np.bool_)
        place = np.searchsorted(self.starts_ns, times_ns, side="right") - 1
        outside = (place < 0) | (times_ns >= self.ends_ns[place])
        return np.where(outside, 0, self.indexes[place]), outside


class StepCollector:
    """Gathers the step ranges while annotations pass by."""

    def __init__(self) -> None:
        self._parts: dict[str, list[tuple[Int64, Int64, Int64]]] = {s: [] for s in STEP_SERIES}

    def add(
        self, series: str, starts_ns: Int64, durations_ns: Int64, indexes: Sequence[int] | Int64
    ) -> None:
        """Add ranges of one of ``STEP_SERIES``."""
        self._parts[series].append((starts_ns, durations_ns, np.asarray(indexes, np.int64)))

    def index(self) -> StepIndex:
        """Return the ranges of the first of ``STEP_SERIES`` that has any."""
        for series in STEP_SERIES:
            if self._parts[series]:
                columns = zip(*self._parts[series], strict=True)
                return StepIndex(*(np.concatenate(column) for column in columns))
        empty = np.empty(0, np.int64)
        return StepIndex(empty, empty, empty)
