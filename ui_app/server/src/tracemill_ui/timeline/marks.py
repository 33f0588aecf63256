"""Marks: what is drawn in a lane, and how many marks become few."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracemill_ui.timeline.groups import Int64s
from tracemill_ui.timeline.source import Events

MARKS_PER_PIXEL = 2
MAX_PX = 8_192
_SLACK = 4


@dataclass(frozen=True)
class Marks:
    """What is drawn in a lane, by start (ns, aligned).

    ``busy`` is the covered time of a bin, the duration of an exact event; ``count`` the events that
    start in it; ``name`` and ``category`` those of the event, or of the longest in the bin.
    """

    start: Int64s
    end: Int64s
    busy: Int64s
    count: Int64s
    name: NDArray[np.int32]
    category: NDArray[np.int32]
    exact: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.start)

    def take(self, rows: NDArray[np.int64]) -> Marks:
        """Return the marks at these positions."""
        return Marks(
            self.start[rows],
            self.end[rows],
            self.busy[rows],
            self.count[rows],
            self.name[rows],
            self.category[rows],
            self.exact[rows],
        )


@dataclass(frozen=True)
class Window:
    """A window of aligned time in ns, ``px`` pixels wide."""

    start: int
    end: int
    px: int

    @property
    def pixel_ns(self) -> float:
        """Time one pixel shows."""
        return (self.end - self.start) / self.px

    @property
    def limit(self) -> int:
        """Most marks of a lane."""
        return MARKS_PER_PIXEL * self.px + _SLACK


def marks_of(events: Events) -> Marks:
    """Return events as marks."""
    size = len(events)
    ones = np.ones(size, np.int64)
    return Marks(
        events.start,
        events.end,
        events.end - events.start,
        ones,
        events.name,
        events.category,
        np.ones(size, np.bool_),
    )


def joined(parts: list[Marks]) -> Marks:
    """Return the marks of several parts one after the other."""
    if not parts:
        none = np.empty(0, np.int64)
        ids = np.empty(0, np.int32)
        return Marks(none, none, none, none, ids, ids, np.empty(0, np.bool_))
    if len(parts) == 1:
        return parts[0]
    columns = [
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("start", "end", "busy", "count", "name", "category", "exact")
    ]
    return Marks(*columns)


def bounded(marks: Marks, bin_ns: int, window: Window, origin: int = 0) -> tuple[Marks, int]:
    """Merge bins until the marks are at most the window's limit. Count and busy are conserved."""
    while len(marks) > window.limit:
        bin_ns *= 2
        marks = merged(marks, bin_ns, origin)
    return marks, bin_ns


def merged(marks: Marks, bin_ns: int, origin: int = 0) -> Marks:
    """Sum marks that are shorter than ``bin_ns`` up in bins of that length.

    A mark belongs to the bin it starts in; an exact one that reaches into the next gives that bin
    its part of the busy time. Bins are counted from ``origin``, the shift of the process's clock:
    only so do the edges of the pyramid's bins lie on theirs.
    """
    length = marks.end - marks.start
    long = np.flatnonzero(marks.exact & (length >= bin_ns))
    short = np.flatnonzero(~(marks.exact & (length >= bin_ns)))
    if not len(short):
        return marks
    own = (marks.start[short] - origin) // bin_ns
    over = np.maximum(marks.end[short] - origin - (own + 1) * bin_ns, 0)
    over = np.where(marks.exact[short], over, 0)
    places, index = np.unique(np.concatenate((own, own[over > 0] + 1)), return_inverse=True)
    busy = np.zeros(len(places), np.int64)
    count = np.zeros(len(places), np.int64)
    np.add.at(busy, index[: len(short)], marks.busy[short] - over)
    np.add.at(busy, index[len(short) :], over[over > 0])
    np.add.at(count, index[: len(short)], marks.count[short])
    # The busiest mark names the bin; one that only reaches in names a bin without its own.
    candidates = np.concatenate((short, short[over > 0]))
    weight = np.concatenate((marks.busy[short], np.zeros(int((over > 0).sum()), np.int64)))
    order = np.lexsort((-weight, index))
    chosen = candidates[order[np.searchsorted(index[order], np.arange(len(places)))]]
    first = places * bin_ns + origin
    start = np.concatenate((marks.start[long], first))
    end = np.concatenate((marks.end[long], first + bin_ns))
    result = Marks(
        start,
        end,
        np.concatenate((marks.busy[long], busy)),
        np.concatenate((marks.count[long], count)),
        np.concatenate((marks.name[long], marks.name[chosen])),
        np.concatenate((marks.category[long], marks.category[chosen])),
        np.arange(len(start)) < len(long),
    )
    return result.take(np.argsort(start, kind="stable"))
