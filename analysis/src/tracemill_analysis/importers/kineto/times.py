"""Decimal microseconds as text to integer nanoseconds, exactly and many at once."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_FLOOR, Decimal, InvalidOperation

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw
from numpy.typing import NDArray

Int64 = NDArray[np.int64]

LIMIT_NS = 1 << 61
"""Times and durations beyond this (73 years) are out of range; offsets may still be added."""

_MOST_DECIMALS = 15


def parse_us(texts: Sequence[Raw | bytes]) -> tuple[Int64, NDArray[np.bool_]]:
    """Return ``floor(value * 1000)`` for decimal texts, and which are usable.

    Never goes through floating point: 1716398122009853.422 has more digits than a double holds.
    A quoted number is read as the number.
    """
    if not texts:
        return np.empty(0, np.int64), np.empty(0, np.bool_)
    fast = _parse_plain(b"\n".join(texts) + b"\n", len(texts))
    if fast is not None:
        return fast, np.ones(len(texts), np.bool_)
    parsed = [_parse_one(bytes(text)) for text in texts]
    values = np.array([0 if value is None else value for value in parsed], np.int64)
    return values, np.array([value is not None for value in parsed], np.bool_)


def _parse_plain(lines: bytes, count: int) -> Int64 | None:
    """Parse plain decimals, one per line; None if any line is something else.

    The dot is taken out, the digits are read as an integer, which is then scaled by the number of
    decimals.
    """
    data = np.frombuffer(lines, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    dots = np.flatnonzero(data == ord("."))
    if len(ends) != count:
        return None
    decimals = np.zeros(count, np.int64)
    has_dot = np.zeros(count, np.int64)
    if len(dots):
        line = np.searchsorted(ends, dots)
        np.add.at(has_dot, line, 1)
        decimals[line] = ends[line] - dots - 1
        if has_dot.max() > 1 or decimals.max() > _MOST_DECIMALS:
            return None
    offsets = np.zeros(count + 1, np.int32)
    offsets[1:] = ends - np.cumsum(has_dot) - np.arange(count)
    digits = pa.Array.from_buffers(
        pa.string(),
        count,
        [None, pa.py_buffer(offsets), pa.py_buffer(lines.translate(None, b".\n"))],
    )
    try:
        values = np.asarray(pc.cast(digits, pa.int64()).to_numpy())
    except pa.ArrowInvalid:
        return None
    return _scaled(values, decimals)


def _scaled(values: Int64, decimals: Int64) -> Int64 | None:
    factor = 10 ** np.maximum(3 - decimals, 0)
    if (np.abs(values) > np.iinfo(np.int64).max // factor).any():
        return None
    values = values * factor
    if decimals.max(initial=0) > 3:
        values = values // 10 ** np.maximum(decimals - 3, 0)
    return None if (np.abs(values) > LIMIT_NS).any() else values


def _parse_one(text: bytes) -> int | None:
    try:
        value = Decimal(text.decode().strip('"').strip())
        if not value.is_finite() or abs(value) * 1000 > LIMIT_NS:
            return None
        return int((value * 1000).to_integral_value(ROUND_FLOOR))
    except (InvalidOperation, UnicodeDecodeError):
        return None
