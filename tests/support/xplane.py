"""A writer and an independent, slow reader of XPlane profiles, both by the format's description."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Message = dict[int, list[Any]]


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def number(tag: int, value: int) -> bytes:
    return varint(tag << 3) + varint(value)


def text(tag: int, value: str | bytes) -> bytes:
    content = value.encode() if isinstance(value, str) else value
    return varint(tag << 3 | 2) + varint(len(content)) + content


@dataclass
class PlaneWriter:
    """Builds one plane; names get numbers as they come."""

    name: str
    lines: list[bytes] = field(default_factory=list)
    events: dict[str, int] = field(default_factory=dict)
    stats: dict[str, int] = field(default_factory=dict)
    own: list[bytes] = field(default_factory=list)

    def stat(self, name: str, value: int | str) -> bytes:
        key = number(1, self.stats.setdefault(name, len(self.stats) + 1))
        return key + (text(5, value) if isinstance(value, str) else number(4, value))

    def event(self, name: str, offset_ps: int, duration_ps: int, **stats: int | str) -> bytes:
        content = number(1, self.events.setdefault(name, len(self.events) + 1))
        content += number(2, offset_ps) + number(3, duration_ps)
        return content + b"".join(text(4, self.stat(n, v)) for n, v in stats.items())

    def line(self, line_id: int, name: str, timestamp_ns: int, events: Sequence[bytes]) -> None:
        head = number(1, line_id) + text(2, name) + number(3, timestamp_ns)
        self.lines.append(head + b"".join(text(4, event) for event in events))

    def content(self) -> bytes:
        def entries(tag: int, names: dict[str, int]) -> bytes:
            return b"".join(
                text(tag, number(1, n) + text(2, number(1, n) + text(2, name)))
                for name, n in names.items()
            )

        own = b"".join(text(6, stat) for stat in self.own)
        lines = b"".join(text(3, line) for line in self.lines)
        return text(2, self.name) + lines + entries(4, self.events) + entries(5, self.stats) + own


def space(*planes: PlaneWriter) -> bytes:
    return b"".join(text(1, plane.content()) for plane in planes)


def read_bytes(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def parse(data: bytes) -> Message:
    """Return the values of each field; nested messages stay bytes."""
    found: Message = {}
    at = 0

    def take() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = take()
        wire = tag & 7
        if wire == 0:
            value: Any = take()
        else:
            length = take() if wire == 2 else {1: 8, 5: 4}[wire]
            value = data[at : at + length]
            assert len(value) == length
            at += length
        found.setdefault(tag >> 3, []).append(value)
    return found


def events_of(path: Path) -> list[dict[str, Any]]:
    """Return every event of a sound profile with plane, line, name, times in ps, statistics."""
    events = []
    for raw in parse(read_bytes(path))[1]:
        plane = parse(raw)
        names = {tag: _names(plane.get(tag, [])) for tag in (4, 5)}
        for raw_line in plane.get(3, []):
            line = parse(raw_line)
            for raw_event in line.get(4, []):
                event = parse(raw_event)
                stats = {}
                for raw_stat in event.get(4, []):
                    stat = parse(raw_stat)
                    name = names[5].get(stat[1][0], "")
                    if 7 in stat:
                        stats[name] = names[5].get(stat[7][0], "")
                    else:
                        stats[name] = next(v[0] for tag, v in stat.items() if tag != 1)
                base = line.get(3, [0])[0] * 1000
                start = base + event.get(2, [0])[0]
                events.append(
                    {
                        "plane": plane[2][0].decode(),
                        "line": line.get(2, [b""])[0].decode(),
                        "line_id": line.get(1, [0])[0],
                        "name": names[4][event.get(1, [0])[0]],
                        "start_ps": start,
                        "end_ps": start + event.get(3, [0])[0],
                        "stats": stats,
                    }
                )
    return events


def _names(entries: list[bytes]) -> dict[int, str]:
    found = {}
    for raw in entries:
        entry = parse(raw)
        value = parse(entry.get(2, [b""])[0])
        found[entry.get(1, [0])[0]] = value.get(2, [b""])[0].decode()
    return found
