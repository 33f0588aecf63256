"""Cuts a stream of trace events into chunks of whole events and decodes them.

A chunk ends where something that looks like the border of two events stands. That it decodes as an
array proves the cut right: a cut inside a text or a nested value leaves quotes or brackets open.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from tracemill_schema.vocab import DropReason

from tracemill_analysis.importers.base import DropCounter
from tracemill_analysis.importers.kineto.native import PlainEvents
from tracemill_analysis.importers.kineto.repair import SPACE, Repair, decode_events

CHUNK_BYTES = 8 << 20
MAX_EVENT_BYTES = 16 << 20
"""An event longer than this is dropped."""

GIVE_UP_BYTES = 256 << 20
"""Reading ends after this many bytes without an event: the file is made to fill memory or time."""

_TRAILER_BYTES = 16 << 20
# In valid JSON neither stands inside a text, where the quote would be escaped.
_BORDER = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|name|cat|pid|tid|ts|dur|args|id|bp|s)"\s*:)')
_ANY_BORDER = re.compile(rb'\}\s*,\s*(?=\{\s*")')
_ARRAY_CLOSE = re.compile(rb"[}\[,]\s*\]")
_AFTER_ARRAY = re.compile(rb'\s*(?:,\s*"|\}\s*\Z|\Z)')
_END_CANDIDATES = 16


Events = list[Any] | PlainEvents
PlainDecoder = Callable[[bytes, int], PlainEvents | None]
"""Decodes the comma-separated events before a place in a buffer, if it can."""


def no_plain_decoder(_buffer: bytes, _end: int) -> None:
    """Leave every chunk to the general decoder."""


class EventSplitter:
    """Iterates over the decoded events of one array, chunk by chunk.

    ``read(n)`` returns up to n bytes, none at the end. Elements that cannot be decoded are counted
    in ``drops``; ``elements`` counts all, good and bad. After the iteration ``trailer`` holds the
    text behind the array. ``bare`` arrays may lack their closing bracket. ``plain`` is tried on
    each chunk first; where it gives None the general decoder reads.
    """

    def __init__(
        self,
        read: Callable[[int], bytes],
        rest: bytes,
        position: int,
        drops: DropCounter,
        *,
        bare: bool = False,
        chunk_bytes: int = CHUNK_BYTES,
        plain: PlainDecoder = no_plain_decoder,
    ) -> None:
        self.elements = 0
        self.trailer = b""
        self._read = read
        self._buffer = rest
        self._position = position
        self._drops = drops
        self._bare = bare
        self._chunk_bytes = chunk_bytes
        self._plain = plain
        self._ended = False
        self._skipping = False

    def __iter__(self) -> Iterator[Events]:
        barren_bytes = 0
        while not self._ended:
            more = self._read(self._chunk_bytes)
            self._buffer += more
            self._trim()
            if self._buffer.startswith(b"]"):
                self._end(0)
            elif more:
                events = self._skip() if self._skipping else self._some()
                barren_bytes = 0 if events else barren_bytes + len(more)
                if events:
                    yield events
                if barren_bytes > GIVE_UP_BYTES:
                    self._lose(DropReason.BAD_JSON, "no event in 256 MiB; reading ended here")
                    return
            else:
                yield self._remainder()
                break
        if self._ended:
            self._read_trailer()

    def _some(self) -> Events:
        """Decode the whole events in the buffer and keep the rest of it."""
        border = self._last_border()
        if border is not None:
            events = self._decode(border.start() + 1)
            if events is not None:
                self.elements += len(events)
                self._consume(border.end())
                return events
        elif len(self._buffer) <= MAX_EVENT_BYTES:
            return []
        segments = _segments(self._buffer)
        repaired = self._repair(segments[:-1])
        if not self._ended and len(self._buffer) > MAX_EVENT_BYTES:
            self._lose(DropReason.BAD_JSON, f"an event longer than {MAX_EVENT_BYTES >> 20} MiB")
            self._skipping = True
        return repaired

    def _decode(self, end: int) -> Events | None:
        plain = self._plain(self._buffer, end)
        return decode_events(memoryview(self._buffer)[:end]) if plain is None else plain

    def _last_border(self) -> re.Match[bytes] | None:
        """Find the border between the last event that another one follows, and that one."""
        low = max(len(self._buffer) - (64 << 10), 0)
        borders = list(_BORDER.finditer(self._buffer, low)) or list(_BORDER.finditer(self._buffer))
        if not borders:
            borders = list(_ANY_BORDER.finditer(self._buffer))
        return borders[-1] if borders else None

    def _skip(self) -> Events:
        """Look for the next event behind one that was too long."""
        border = _BORDER.search(self._buffer)
        if border is None:
            self._consume(max(len(self._buffer) - 1024, 0))
            return []
        self._skipping = False
        self._consume(border.end())
        return self._some()

    def _remainder(self) -> Events:
        """Decode what is left when the file has ended."""
        end = self._array_end()
        if end is not None and not self._skipping:
            events = self._decode(len(self._buffer[:end].rstrip(b" \t\r\n,")))
            if events is None:
                return self._repair_to(end)
            self.elements += len(events)
            self._end(end)
            return events
        if self._skipping:
            return []
        repaired = self._repair(_segments(self._buffer)[:-1])
        return repaired if self._ended else repaired + self._tail()

    def _repair_to(self, end: int) -> list[Any]:
        """Repair the last events, of an array that seems to be closed at ``end``.

        If the last one does not end there, the bracket may stand in a text that the end of the file
        cuts off; keys that follow it show that it does not.
        """
        repair = Repair(self._buffer, self._position, self._drops)
        repair.segments(_segments(self._buffer[:end]))
        self.elements += repair.elements
        if repair.incomplete and b'"' not in self._buffer[end:]:
            self._consume(repair.resume)
            return repair.events + self._tail()
        if repair.incomplete:
            self._lose(DropReason.BAD_JSON, "the last event is not valid JSON")
        self._end(end if repair.array_end is None else repair.array_end)
        return repair.events

    def _tail(self) -> list[Any]:
        """Read the last event of a file that does not end as it should."""
        self._trim()
        repair = Repair(self._buffer, self._position, self._drops)
        end = repair.whole_object(0) if self._buffer.startswith(b"{") else None
        while end is not None:
            self._consume(end)
            self._trim()
            self.elements += repair.elements
            if not self._buffer.startswith(b"{"):
                break
            events = repair.events
            repair = Repair(self._buffer, self._position, self._drops)
            repair.events = events
            end = repair.whole_object(0)
        if self._buffer.startswith(b"]"):
            self._end(0)
        elif self._buffer or not self._bare:
            self._lose(DropReason.TRUNCATED, "the file ends here")
        return repair.events

    def _repair(self, segments: list[tuple[int, int]]) -> list[Any]:
        repair = Repair(self._buffer, self._position, self._drops)
        repair.segments(segments)
        self.elements += repair.elements
        if repair.array_end is not None:
            self._end(repair.array_end)
        else:
            self._consume(repair.resume)
        return repair.events

    def _array_end(self) -> int | None:
        """Find the bracket that closes the array, knowing that the file ends with the buffer.

        What follows it must complete the outer object (or, for a bare array, be nothing).
        """
        found = None
        candidates = [match.end() - 1 for match in _ARRAY_CLOSE.finditer(b"," + self._buffer)]
        for candidate in reversed([place - 1 for place in candidates][-_END_CANDIDATES:]):
            after = self._buffer[candidate + 1 :]
            if self._bare:
                return None if after.strip(SPACE) else candidate
            if _AFTER_ARRAY.match(after) and _completes_object(after):
                found = candidate
            elif found is not None:
                break
        return found

    def _read_trailer(self) -> None:
        while len(self.trailer) < _TRAILER_BYTES and (more := self._read(1 << 20)):
            self.trailer += more

    def _end(self, bracket: int) -> None:
        self.trailer = self._buffer[bracket + 1 :]
        self._buffer = b""
        self._ended = True

    def _lose(self, reason: DropReason, why: str) -> None:
        self.elements += 1
        self._drops.add(reason, 1, f"byte {self._position}: {why}")

    def _consume(self, count: int) -> None:
        self._buffer = self._buffer[count:]
        self._position += count

    def _trim(self) -> None:
        length = len(self._buffer)
        self._buffer = self._buffer.lstrip(b" \t\r\n,")
        self._position += length - len(self._buffer)


def _segments(buffer: bytes) -> list[tuple[int, int]]:
    """Divide a buffer at what looks like borders of events; the last part may be incomplete."""
    borders = list(_BORDER.finditer(buffer)) or list(_ANY_BORDER.finditer(buffer))
    starts = [0, *(border.end() for border in borders)]
    ends = [*(border.start() + 1 for border in borders), len(buffer)]
    return list(zip(starts, ends, strict=True))


def _completes_object(after: bytes) -> bool:
    try:
        json.loads(b'{"":0' + after.decode("utf-8", "replace").encode(), strict=False)
    except (ValueError, RecursionError):
        return False
    return True
