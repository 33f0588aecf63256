"""Protobuf's wire format: one message field by field, and many small messages at once.

Nothing here trusts the bytes: a length that leads beyond its message, an unknown wire type or a
number without end is an error of that message only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]
UInt64 = NDArray[np.uint64]
Bools = NDArray[np.bool_]

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

_MOST_FIELDS = 4_096
"""Fields of one small message; a profile's have a dozen."""


class WireError(ValueError):
    """A message that cannot be decoded further; ``position`` is where in the file."""

    def __init__(self, position: int, what: str) -> None:
        super().__init__(what)
        self.position = position


def walk(data: Any, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield ``(field, wire type, value, length)`` of the message ``data[start:end]``.

    The value of BYTES and fixed-size fields is where they begin, that of a VARINT the number.
    Raises WireError where the message is damaged. A BYTES field that leads beyond ``end`` is given
    up to there, with a length of what is missing below zero: the message is cut.
    """
    position = start
    while position < end:
        at = position
        tag, position = _varint(data, position, end)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            value, position = _varint(data, position, end)
            yield number, wire, value, 0
        elif wire == BYTES:
            length, position = _varint(data, position, end)
            if length > end - position:
                yield number, wire, position, end - position - length
                return
            yield number, wire, position, length
            position += length
        elif wire in (FIXED64, FIXED32):
            length = 8 if wire == FIXED64 else 4
            if length > end - position:
                raise WireError(at, "a number is cut off")
            yield number, wire, position, length
            position += length
        else:
            raise WireError(at, f"unknown wire type {wire}")


def _varint(data: Any, position: int, end: int) -> tuple[int, int]:
    value, shift, at = 0, 0, position
    while position < end:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position
        shift += 7
        if shift >= 70:
            raise WireError(at, "a number has no end")
    raise WireError(at, "a number is cut off")


@dataclass(frozen=True)
class Fields:
    """Fields of many messages, one row each, in rounds: the first field of all, the second, …

    ``owner`` is the message's place; ``value`` a number, or where bytes begin; ``length`` theirs.
    ``bad`` tells, per message, whether it is damaged (its fields are then left out).
    """

    owner: Int64
    number: Int64
    wire: Int64
    value: UInt64
    length: Int64
    bad: Bools

    def where(self, number: int, wire: int) -> Int64:
        """Return the rows of a field."""
        return np.flatnonzero((self.number == number) & (self.wire == wire))

    def last(self, number: int, wire: int = VARINT) -> tuple[Int64, Bools]:
        """Return each message's last value of a field, 0 where there is none, and where one is."""
        values = np.zeros(len(self.bad), np.int64)
        present = np.zeros(len(self.bad), np.bool_)
        rows = self.where(number, wire)
        values[self.owner[rows]] = self.value[rows].view(np.int64)
        present[self.owner[rows]] = True
        return values, present


def decode_many(data: NDArray[np.uint8], starts: Int64, ends: Int64) -> Fields:
    """Decode the messages ``data[starts[i]:ends[i]]``, all side by side."""
    parts: list[tuple[Int64, ...]] = []
    bad = np.zeros(len(starts), np.bool_)
    owner = np.flatnonzero(starts < ends)
    position, limit = starts[owner], ends[owner]
    for _ in range(_MOST_FIELDS):
        if not len(owner):
            break
        tag, position, good = _varints(data, position, limit)
        number, wire = (tag >> np.uint64(3)).astype(np.int64), (tag & np.uint64(7)).astype(np.int64)
        value, after, number_good = _varints(data, position, limit)
        is_bytes, is_varint = wire == BYTES, wire == VARINT
        fixed = np.where(wire == FIXED64, 8, np.where(wire == FIXED32, 4, 0))
        good &= np.where(is_bytes | is_varint, number_good, fixed > 0)
        room = np.where(fixed > 0, limit - position, limit - after)
        claimed = np.where(is_bytes, np.minimum(value, np.uint64(1 << 62)).view(np.int64), fixed)
        good &= claimed <= room
        length = np.where(good, claimed, 0)
        begin = np.where(fixed > 0, position, after)
        found = np.where(is_varint, value, begin.astype(np.uint64))
        parts.append(
            (owner[good], number[good], wire[good], found[good].view(np.int64), length[good])
        )
        bad[owner[~good]] = True
        position = begin + length
        more = good & (position < limit)
        owner, position, limit = owner[more], position[more], limit[more]
    bad[owner] = True
    if not parts:
        empty = np.empty(0, np.int64)
        return Fields(empty, empty, empty, empty.view(np.uint64), empty, bad)
    owners, numbers, wires, values, lengths = (np.concatenate(c) for c in zip(*parts, strict=True))
    sound = ~bad[owners]
    return Fields(
        owners[sound], numbers[sound], wires[sound], values[sound].view(np.uint64),
        lengths[sound], bad,
    )  # fmt: skip


def _varints(data: NDArray[np.uint8], position: Int64, limit: Int64) -> tuple[UInt64, Int64, Bools]:
    """Decode one number at each position; also where each ends, and whether it does."""
    value = np.zeros(len(position), np.uint64)
    length = np.zeros(len(position), np.int64)
    open_ = np.ones(len(position), np.bool_)
    highest = max(len(data) - 1, 0)
    for place in range(10):
        at = position + place
        open_ &= at < limit
        byte = data[np.minimum(at, highest)]
        part = (byte & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * place)
        value |= np.where(open_, part, np.uint64(0))
        ends = open_ & (byte < 0x80)
        length[ends] = place + 1
        open_ &= ~ends
        if not open_.any():
            break
    return value, position + length, length > 0
