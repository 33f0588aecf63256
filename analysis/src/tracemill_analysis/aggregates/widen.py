"""Sums over bins of events that do not overlap, made from the sums over finer bins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracemill_analysis.aggregates.order import run_starts
from tracemill_analysis.intervals import Int64s


class Sums(NamedTuple):
    """Sums of the events shorter than a bin, for each bin that they touch, by time.

    ``counts`` events start in the bin and cover ``busy`` ns of it. ``event`` is the position of the
    first of the longest that start in it, ``event_ns`` its duration, ``last`` the position of the
    last. Where none starts, ``event`` is the last one before and ``event_ns`` is -1.
    """

    bins: Int64s
    counts: Int64s
    busy: Int64s
    event: Int64s
    event_ns: Int64s
    last: Int64s


_NONE = np.empty(0, np.int64)
NO_SUMS = Sums(_NONE, _NONE, _NONE, _NONE, _NONE, _NONE)


def widen(finer: Sums, start: Int64s, end: Int64s, position: Int64s, bin_ns: int) -> Sums:
    """Return the sums for bins of ``bin_ns``.

    ``finer`` are those of events shorter than a bin that divides ``bin_ns``. The other arguments
    are the events that are now short too: times (ns, by start) and positions in their lane. No two
    of all these events overlap.
    """
    coarse = _bin_of(finer.bins, bin_ns)
    own = _bin_of(start, bin_ns)
    last = _bin_of(np.maximum(end - 1, start), bin_ns)
    over = np.flatnonzero(last != own)
    ones = np.ones(len(start), np.int64)
    inside = np.minimum(end, own + bin_ns) - start
    none = np.full(len(over), -1, np.int64)
    # What goes into a bin: finer bins, events that start in it, ends of events that reach in.
    where = np.concatenate((coarse, own, last[over]))
    parts = Sums(
        where,
        np.concatenate((finer.counts, ones, np.zeros(len(over), np.int64))),
        np.concatenate((finer.busy, inside, end[over] - last[over])),
        np.concatenate((finer.event, position, none)),
        np.concatenate((finer.event_ns, end - start, none)),
        np.concatenate((np.where(finer.counts > 0, finer.last, -1), position, none)),
    )
    return _merged(parts)


def _merged(parts: Sums) -> Sums:
    """Bring the parts of each bin together."""
    if not len(parts.bins):
        return NO_SUMS
    if (parts.bins[1:] < parts.bins[:-1]).any():
        order = np.argsort(parts.bins, kind="stable")
        parts = Sums(*(column[order] for column in parts))
    begins = run_starts(parts.bins)
    longest = np.maximum.reduceat(parts.event_ns, begins)
    sizes = np.diff(np.append(begins, len(parts.bins)))
    far = np.iinfo(np.int64).max
    candidates = np.where(parts.event_ns == np.repeat(longest, sizes), parts.event, far)
    last = np.maximum.reduceat(parts.last, begins)
    before = np.maximum.accumulate(last)
    return Sums(
        parts.bins[begins],
        np.add.reduceat(parts.counts, begins),
        np.add.reduceat(parts.busy, begins),
        np.where(longest < 0, before, np.minimum.reduceat(candidates, begins)),
        longest,
        last,
    )


def _bin_of(times: Int64s, bin_ns: int) -> Int64s:
    """Start of the bin of each time."""
    if bin_ns & (bin_ns - 1) == 0:
        return times & -bin_ns
    return times // bin_ns * bin_ns
