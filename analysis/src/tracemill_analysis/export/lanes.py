"""Lanes of a track: on one lane slices only nest, because viewers close the innermost first."""

from __future__ import annotations

from collections.abc import Iterator

Move = tuple[int, int, bool]
"""Lane, time in ns, and whether a slice begins (else the innermost one ends)."""


class Lanes:
    """Puts the slices of one track, in order of start and then falling duration, on lanes.

    A slice goes to the first lane where it lies inside whatever is open there. Recorded times are
    kept as they are: slices that overlap without nesting (two kernels of one stream, rounded host
    times) get a lane more.
    """

    def __init__(self) -> None:
        self._open: list[list[int]] = []

    def add(self, start_ns: int, dur_ns: int) -> Iterator[Move]:
        """Yield the ends that come before this slice on its lane, then its begin."""
        end = start_ns + dur_ns
        for lane in range(len(self._open)):
            ends = self._open[lane]
            while ends and ends[-1] <= start_ns:
                yield lane, ends.pop(), False
            if not ends or ends[-1] >= end:
                break
        else:
            lane = len(self._open)
            self._open.append([])
        self._open[lane].append(end)
        yield lane, start_ns, True

    def close(self) -> Iterator[Move]:
        """Yield the ends of all that is open."""
        for lane, ends in enumerate(self._open):
            while ends:
                yield lane, ends.pop(), False
