"""The slow path for a chunk that does not decode: keeps its good events and counts the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from tracemill_schema.vocab import DropReason

from tracemill_analysis.importers.base import DropCounter
from tracemill_analysis.importers.kineto.lenient import object_end, read_event
from tracemill_analysis.importers.kineto.model import EVENTS_DECODER

SPACE = b" \t\r\n"

_DECODE_ERRORS = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


def decode_events(text: bytes | memoryview) -> list[Any] | None:
    """Decode events that are separated by commas; None if that is not what ``text`` is."""
    try:
        return EVENTS_DECODER.decode(b"".join((b"[", text, b"]")))
    except _DECODE_ERRORS:
        return None


class Repair:
    """Goes through the segments of a buffer, each of which should be one event.

    Good runs of segments are found by halving. ``events`` are those that could be read,
    ``elements`` counts all, ``resume`` is the position up to which the buffer was dealt with;
    ``incomplete`` says that the event there does not end in the buffer; ``array_end`` is the place
    of the array's closing bracket if it was met.
    """

    def __init__(self, buffer: bytes, position: int, drops: DropCounter) -> None:
        self.events: list[Any] = []
        self.elements = 0
        self.resume = 0
        self.array_end: int | None = None
        self.incomplete = False
        self._all: Sequence[tuple[int, int]] = ()
        self._buffer = buffer
        self._position = position
        self._drops = drops

    def segments(self, segments: Sequence[tuple[int, int]]) -> None:
        """Read the events of ``segments``, which are (start, end) in the buffer."""
        self._all = segments
        self._run(segments)

    def _run(self, segments: Sequence[tuple[int, int]]) -> None:
        while segments and segments[0][1] <= self.resume:
            segments = segments[1:]
        if not segments or self.incomplete or self.array_end is not None:
            return
        start, end = max(segments[0][0], self.resume), segments[-1][1]
        if start == segments[0][0] and self._decode(start, end):
            return
        if len(segments) == 1:
            self._single(start, end)
            return
        middle = len(segments) // 2
        self._run(segments[:middle])
        self._run(segments[middle:])

    def _single(self, start: int, end: int) -> None:
        """Read what stands between ``start`` and ``end``: one event, or several ill-divided."""
        while self.array_end is None and not self.incomplete:
            while start < end and self._buffer[start] in b" \t\r\n,":
                start += 1
            if start >= end:
                break
            if self._buffer[start] == ord("]"):
                self.array_end = start
            elif self._buffer[start] == ord("{"):
                start = self._object(start, end)
            else:
                self._bad(start, "not an object")
                following = self._buffer.find(b"{", start, end)
                bracket = self._buffer.find(b"]", start, end)
                start = min((p for p in (following, bracket) if p >= 0), default=end)
        self.resume = max(self.resume, start)

    def whole_object(self, start: int) -> int | None:
        """Read one event that ends by itself; return the position behind it, else None."""
        end = object_end(self._buffer, start)
        if end is None:
            return None
        if not self._read(start, end):
            self._bad(start, "not valid JSON")
        self.resume = max(self.resume, end)
        return end

    def _object(self, start: int, end: int) -> int:
        if self._read(start, end):
            return end
        alone = object_end(self._buffer, start)
        if alone is not None and alone != end:
            following = self._buffer[alone : alone + 64].lstrip(SPACE)[:1]
            if following in (b",", b"]", b"") and self._read(start, alone):
                return alone
        if alone is None and not self._any_event(end):
            self.incomplete = True
            return start
        self._bad(start, "not valid JSON")
        return end

    def _any_event(self, position: int) -> bool:
        """Tell whether an event stands behind ``position``: then the one before it has ended."""
        return any(
            decode_events(self._buffer[start:end]) is not None
            for start, end in self._all
            if start >= position
        )

    def _decode(self, start: int, end: int) -> bool:
        events = decode_events(self._buffer[start:end])
        if events is None:
            return False
        self.events += events
        self.elements += len(events)
        self.resume = end
        return True

    def _read(self, start: int, end: int) -> bool:
        text = self._buffer[start:end]
        events = decode_events(text)
        if events is not None and len(events) == 1:
            self.events += events
            self.elements += 1
            return True
        read = read_event(text)
        if read is None:
            return False
        place = f"byte {self._position + start}"
        self.events.append(read.event)
        self.elements += 1
        self._drops.add(DropReason.REPAIRED_TEXT, int(read.repaired), place)
        self._drops.add(DropReason.BAD_FIELD, read.bad_fields, place)
        return True

    def _bad(self, start: int, why: str) -> None:
        self.elements += 1
        self._drops.add(DropReason.BAD_JSON, 1, f"byte {self._position + start}: {why}")
