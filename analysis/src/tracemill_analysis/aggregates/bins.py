"""Time bins of a capture: round lengths, few enough to draw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracemill_analysis import intervals as iv
from tracemill_analysis.aggregates.source import Process
from tracemill_analysis.intervals import Int64s

MAX_BINS = 600


@dataclass(frozen=True)
class Bins:
    """Bins of ``bin_ns`` from ``start`` on; the last one ends at ``end`` and may be shorter."""

    start: int
    end: int
    bin_ns: int

    @property
    def edges(self) -> Int64s:
        """Return the edges in ns, one more than there are bins."""
        count = -((self.start - self.end) // self.bin_ns)
        edges = iv.bin_edges(self.start, self.bin_ns, count)
        edges[-1] = self.end
        return edges

    @property
    def starts(self) -> Int64s:
        """Return the starts in ns."""
        return self.edges[:-1]

    @property
    def lengths(self) -> Int64s:
        """Return the lengths in ns."""
        return np.diff(self.edges)


def round_bin_ns(span_ns: int, max_bins: int = MAX_BINS) -> int:
    """Return the least 1, 2 or 5 times a power of ten of which ``max_bins`` cover ``span_ns``."""
    power = 1
    while True:
        for digit in (1, 2, 5):
            if digit * power * max_bins >= span_ns:
                return digit * power
        power *= 10


def capture_bins(processes: list[Process]) -> dict[str, Bins]:
    """Return the bins of the capture for each time scale (``processes.clock``) that has a span.

    Processes on different time scales share no time axis, so each scale has its own bins.
    """
    result = {}
    for clock in sorted({process.clock for process in processes}):
        times = [
            time
            for process in processes
            if process.clock == clock
            for time in (process.start_ns, process.end_ns)
            if time is not None
        ]
        if times and max(times) > min(times):
            start, end = min(times), max(times)
            result[clock] = Bins(start, end, round_bin_ns(end - start))
    return result
