"""Sets of half-open time intervals ``[start, end)`` in integer nanoseconds.

Every busy time of Tracemill is the length of such a set, so the arithmetic is exact: int64 in,
int64 out, no floats. An ``Intervals`` is canonical: sorted, disjoint, non-touching, without empty
intervals. ``union`` makes one from any starts and ends; the other functions take and give
canonical sets. All are vectorised and pure, O(n log n) at worst.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]


class Intervals(NamedTuple):
    """A canonical interval set: two int64 arrays of the same length."""

    starts: Int64s
    ends: Int64s


EMPTY = Intervals(np.empty(0, np.int64), np.empty(0, np.int64))


def union(starts: Int64s, ends: Int64s) -> Intervals:
    """Return the points covered by at least one of the intervals.

    ``starts`` and ``ends`` (ns) may be unsorted, nested, touching or repeated; an interval whose
    end is not after its start covers nothing.
    """
    solid = ends > starts
    if not solid.all():
        starts, ends = starts[solid], ends[solid]
    if not len(starts):
        return EMPTY
    if (starts[1:] < starts[:-1]).any():
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
    reach = np.maximum.accumulate(ends)
    opens = np.empty(len(starts), bool)
    opens[0] = True
    np.greater(starts[1:], reach[:-1], out=opens[1:])
    closes = np.empty(len(starts), bool)
    closes[-1] = True
    closes[:-1] = opens[1:]
    return Intervals(starts[opens], reach[closes])


def merge(first: Intervals, second: Intervals) -> Intervals:
    """Return the union of two sets."""
    if not len(first.starts) or not len(second.starts):
        return first if len(first.starts) else second
    return union(
        np.concatenate((first.starts, second.starts)), np.concatenate((first.ends, second.ends))
    )


def length(intervals: Intervals) -> int:
    """Return the total length in ns."""
    return int((intervals.ends - intervals.starts).sum())


def intersect(first: Intervals, second: Intervals) -> Intervals:
    """Return the points covered by both sets."""
    return _select(first, second, _IN_FIRST + _IN_SECOND)


def subtract(first: Intervals, second: Intervals) -> Intervals:
    """Return the points covered by ``first`` but not by ``second``."""
    return _select(first, second, _IN_FIRST)


_IN_FIRST = 1
_IN_SECOND = 2


def _select(first: Intervals, second: Intervals, wanted: int) -> Intervals:
    """Return the points whose membership (sum of the ``_IN_`` codes) is ``wanted``."""
    times = np.concatenate((first.starts, first.ends, second.starts, second.ends))
    steps = np.repeat(
        np.array([_IN_FIRST, -_IN_FIRST, _IN_SECOND, -_IN_SECOND], np.int8),
        [len(first.starts), len(first.ends), len(second.starts), len(second.ends)],
    )
    order = np.argsort(times, kind="stable")
    times = times[order]
    member = np.cumsum(steps[order], dtype=np.int8)[:-1] == wanted
    return union(times[:-1][member], times[1:][member])


def clip(intervals: Intervals, start: int, end: int) -> Intervals:
    """Return the part within ``[start, end)`` ns."""
    starts = np.clip(intervals.starts, start, None)
    ends = np.clip(intervals.ends, None, end)
    solid = ends > starts
    return Intervals(starts[solid], ends[solid])


def gaps(intervals: Intervals, start: int, end: int) -> Intervals:
    """Return the part of ``[start, end)`` ns that the set does not cover."""
    window = union(np.array([start], np.int64), np.array([end], np.int64))
    return subtract(window, intervals)


def covered_before(intervals: Intervals, times: Int64s) -> Int64s:
    """Return for each time how much of the set lies before it, in ns (same shape as ``times``)."""
    if not len(intervals.starts):
        return np.zeros(len(times), np.int64)
    lengths = intervals.ends - intervals.starts
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    index = np.searchsorted(intervals.starts, times, side="right") - 1
    inside = np.minimum(times - intervals.starts[index], lengths[index])
    return np.where(index < 0, 0, before[index] + inside)


def bin_edges(origin: int, bin_ns: int, bins: int) -> Int64s:
    """Return the ``bins + 1`` edges of equal bins from ``origin`` on, in ns."""
    return origin + np.arange(bins + 1, dtype=np.int64) * bin_ns


def bin_lengths(starts: Int64s, ends: Int64s, origin: int, bin_ns: int, bins: int) -> Int64s:
    """Return the covered time (union) of each of ``bins`` equal bins, in ns, shape ``(bins,)``.

    Bin ``i`` is ``[origin + i * bin_ns, origin + (i + 1) * bin_ns)``. What lies outside all bins is
    not counted.
    """
    return np.diff(covered_before(union(starts, ends), bin_edges(origin, bin_ns, bins)))
