"""Perfetto's trace packets: tracks, interned names, slices, counters.

Field numbers are those of perfetto's protos/perfetto/trace (trace_packet.proto, track_event.proto,
track_descriptor.proto, interned_data.proto); tests decode the output with perfetto's own classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import BinaryIO

from tracemill_analysis.export import wire

_PACKET = 1
_TIMESTAMP, _SEQUENCE, _TRACK_EVENT, _INTERNED, _FLAGS, _TRACK, _FIRST = 8, 10, 11, 12, 13, 60, 87
_CLEARED, _NEEDS_STATE = 1, 2
_CATEGORIES, _ANNOTATIONS, _TYPE, _NAME_IID, _TRACK_UUID = 3, 4, 9, 10, 11
_DOUBLE_VALUE, _FLOW, _FLOW_END = 44, 47, 48
_BEGIN, _END, _COUNTER = 1, 2, 4
_IN_CATEGORIES, _IN_NAMES, _IN_ARGUMENTS = 1, 2, 3

Argument = int | str


class Packets:
    """Writes the packets of one process: a sequence with names of its own."""

    def __init__(self, output: BinaryIO, sequence: int, scope: str) -> None:
        self._write = output.write
        self._sequence = wire.number(_SEQUENCE, sequence)
        self._stateful = self._sequence + wire.number(_FLAGS, _NEEDS_STATE)
        self._scope = scope
        self._names: dict[tuple[int, str], int] = {}
        self._begins: dict[tuple[int, str, str], bytes] = {}
        self._ends: dict[int, bytes] = {}
        self._packet(self._sequence + wire.number(_FLAGS, _CLEARED) + wire.number(_FIRST, 1))

    def uuid(self, key: str) -> int:
        """Return a track's id: equal for equal job and track, so that traces merge."""
        digest = blake2b(f"{self._scope}/{key}".encode("utf-8", "replace"), digest_size=8).digest()
        return int.from_bytes(digest, "little") or 1

    def process(self, key: str, pid: int, name: str) -> int:
        """Declare a process and return its track's id."""
        uuid = self.uuid(key)
        content = wire.number(1, pid) + wire.text(6, name)
        self._descriptor(wire.number(1, uuid) + wire.message(3, content))
        return uuid

    def thread(self, key: str, parent: int, pid: int, tid: int, name: str) -> int:
        """Declare a thread and return its track's id."""
        uuid = self.uuid(key)
        content = wire.number(1, pid) + wire.number(2, tid) + wire.text(5, name)
        self._descriptor(wire.number(1, uuid) + wire.number(5, parent) + wire.message(4, content))
        return uuid

    def track(self, key: str, parent: int, name: str) -> int:
        """Declare a track below another and return its id."""
        uuid = self.uuid(key)
        self._descriptor(wire.number(1, uuid) + wire.text(2, name) + wire.number(5, parent))
        return uuid

    def counter(self, key: str, parent: int, name: str, unit: str) -> int:
        """Declare a counter and return its track's id."""
        uuid = self.uuid(key)
        self._descriptor(
            wire.number(1, uuid)
            + wire.text(2, name)
            + wire.number(5, parent)
            + wire.message(8, wire.text(6, unit))
        )
        return uuid

    def begin(
        self,
        track: int,
        time_ns: int,
        name: str,
        category: str,
        arguments: Sequence[tuple[str, Argument]] = (),
        flows: Sequence[int] = (),
        flow_end: int | None = None,
    ) -> None:
        """Write the begin of a slice, with the arrows that leave it and the one that ends in it."""
        event = self._begins.get((track, name, category))
        if event is None:
            event = self._begins[track, name, category] = (
                wire.number(_TYPE, _BEGIN)
                + wire.number(_TRACK_UUID, track)
                + wire.number(_NAME_IID, self._intern(_IN_NAMES, name))
                + wire.number(_CATEGORIES, self._intern(_IN_CATEGORIES, category))
            )
        for key, value in arguments:
            event += self._argument(key, value)
        for flow in flows:
            event += wire.fixed64(_FLOW, flow)
        if flow_end is not None:
            event += wire.fixed64(_FLOW_END, flow_end)
        self._event(time_ns, event)

    def end(self, track: int, time_ns: int) -> None:
        """Write the end of the innermost open slice of a track."""
        event = self._ends.get(track)
        if event is None:
            event = wire.number(_TYPE, _END) + wire.number(_TRACK_UUID, track)
            self._ends[track] = event
        self._event(time_ns, event)

    def value(self, track: int, time_ns: int, value: float) -> None:
        """Write a value of a counter."""
        event = wire.number(_TYPE, _COUNTER) + wire.number(_TRACK_UUID, track)
        self._event(time_ns, event + wire.double(_DOUBLE_VALUE, value))

    def _event(self, time_ns: int, event: bytes) -> None:
        self._packet(
            wire.number(_TIMESTAMP, time_ns) + self._stateful + wire.message(_TRACK_EVENT, event)
        )

    def _argument(self, key: str, value: Argument) -> bytes:
        name = wire.number(1, self._intern(_IN_ARGUMENTS, key))
        content = wire.number(4, value) if isinstance(value, int) else wire.text(6, value)
        return wire.message(_ANNOTATIONS, name + content)

    def _intern(self, kind: int, name: str) -> int:
        """Return the number of a name; its first use writes the name."""
        number = self._names.get((kind, name))
        if number is None:
            number = self._names[kind, name] = len(self._names) + 1
            entry = wire.number(1, number) + wire.text(2, name)
            self._packet(self._stateful + wire.message(_INTERNED, wire.message(kind, entry)))
        return number

    def _descriptor(self, content: bytes) -> None:
        self._packet(self._sequence + wire.message(_TRACK, content))

    def _packet(self, content: bytes) -> None:
        self._write(wire.message(_PACKET, content))
