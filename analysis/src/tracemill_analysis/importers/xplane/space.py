"""Planes and lines of a profile, found without decoding their events.

XSpace   planes = 1
XPlane   name = 2, lines = 3, event metadata = 4 and stat metadata = 5 (maps), stats = 6
XLine    id = 1, name = 2, timestamp_ns = 3, events = 4, display name = 11
XEvent   metadata id = 1, offset_ps = 2, duration_ps = 3, stats = 4, occurrences = 5
XStat    metadata id = 1, double = 2, uint64 = 3, int64 = 4, string = 5, bytes = 6, ref = 7
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tracemill_schema.vocab import DropReason

from tracemill_analysis.importers.base import DropCounter
from tracemill_analysis.importers.xplane.wire import BYTES, VARINT, WireError, walk

Int64 = NDArray[np.int64]

MOST_TEXT = 8_192
EVENT_BATCH = 16_384
_TEXT_BYTES = 4 * MOST_TEXT


@dataclass
class Name:
    """An entry of a plane's metadata: its name, and a shorter one for display."""

    name: str = ""
    display: str = ""


@dataclass
class Plane:
    """A plane: where its lines lie, and what the numbers in them mean."""

    name: str = ""
    lines: list[tuple[int, int]] = field(default_factory=list)
    event_names: dict[int, Name] = field(default_factory=dict)
    stat_names: dict[int, str] = field(default_factory=dict)
    stats: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class Line:
    """A line: a stream or thread. ``events`` is where its events begin to be looked for."""

    start: int
    end: int
    id: int = 0
    name: str = ""
    timestamp_ns: int = 0


class Space:
    """A whole profile in memory-mapped bytes. What is damaged is counted in ``drops``."""

    def __init__(self, data: Any, name: str, drops: DropCounter) -> None:
        self.data = data
        self.bytes = np.frombuffer(data, np.uint8)
        self._name = name
        self._drops = drops
        self._ends_early = False

    def planes(self) -> Iterator[Plane]:
        """Yield the planes, as far as the file is whole."""
        for number, wire, value, length in self._walk(0, len(self.data)):
            if number == 1 and wire == BYTES:
                yield self._plane(value, value + length)

    def line(self, start: int, end: int) -> Line:
        """Read what stands before a line's events."""
        line = Line(start, end)
        try:
            for number, wire, value, length in walk(self.data, start, end):
                if number == 1 and wire == VARINT:
                    line.id = _signed(value)
                elif number == 2 and wire == BYTES:
                    line.name = self.text(value, length)
                elif number == 3 and wire == VARINT:
                    line.timestamp_ns = _signed(value)
                elif number == 4:
                    break
        except WireError:
            pass  # counted when the events are read
        return line

    def events(self, line: Line) -> Iterator[tuple[Int64, Int64]]:
        """Yield where the events of a line begin and end, some thousand at a time."""
        starts, ends = array("q"), array("q")
        for number, wire, value, length in self._walk(line.start, line.end, cut_whole=False):
            if number == 4 and wire == BYTES:
                starts.append(value)
                ends.append(value + length)
                if len(starts) == EVENT_BATCH:
                    yield np.array(starts, np.int64), np.array(ends, np.int64)
                    starts, ends = array("q"), array("q")
        if starts:
            yield np.array(starts, np.int64), np.array(ends, np.int64)

    def text(self, start: int, length: int) -> str:
        """Decode a text, cut to a bounded length."""
        raw = bytes(self.data[start : start + min(length, _TEXT_BYTES)])
        return raw.decode("utf-8", "replace")[:MOST_TEXT]

    def _plane(self, start: int, end: int) -> Plane:
        plane = Plane()
        for number, wire, value, length in self._walk(start, end):
            if wire != BYTES:
                continue
            if number == 2:
                plane.name = self.text(value, length)
            elif number == 3:
                plane.lines.append((value, value + length))
            elif number == 4:
                key, name = self._entry(value, value + length)
                plane.event_names[key] = name
            elif number == 5:
                key, name = self._entry(value, value + length)
                plane.stat_names[key] = name.name
            elif number == 6:
                plane.stats.append((value, value + length))
        return plane

    def _entry(self, start: int, end: int) -> tuple[int, Name]:
        """Read an entry of a map: key = 1, value = 2 with id = 1, name = 2, display name = 4."""
        key, found = 0, Name()
        for number, wire, value, length in self._walk(start, end):
            if number == 1 and wire == VARINT:
                key = _signed(value)
            elif number == 2 and wire == BYTES:
                for inner, kind, place, size in self._walk(value, value + length):
                    if kind == BYTES and inner == 2:
                        found.name = self.text(place, size)
                    elif kind == BYTES and inner == 4:
                        found.display = self.text(place, size)
        return key, found

    def _walk(
        self, start: int, end: int, *, cut_whole: bool = True
    ) -> Iterator[tuple[int, int, int, int]]:
        """``walk``, counting damage. Of a field that is cut the rest is given if ``cut_whole``."""
        try:
            for number, wire, value, length in walk(self.data, start, end):
                if length < 0:
                    self._count_cut(end, value, -length)
                    if cut_whole:
                        yield number, wire, value, end - value
                    return
                yield number, wire, value, length
        except WireError as error:
            place = f"{self._name}, byte {error.position}: {error}"
            self._drops.add(DropReason.DAMAGED, 1, place)

    def _count_cut(self, end: int, position: int, missing: int) -> None:
        place = f"{self._name}, byte {position}: {missing} bytes are missing"
        if end < len(self.data):
            self._drops.add(DropReason.DAMAGED, 1, place)
        elif not self._ends_early:  # the same end, seen from a message within another
            self._ends_early = True
            self._drops.add(DropReason.TRUNCATED, 1, place)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value
