"""Integers as recorders write them: numbers, texts, unsigned 64 bits, floats, or nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from tracemill_schema.vocab import DropReason

from tracemill_analysis.importers.base import DropCounter

_TRAILING_NUMBER = re.compile(r"(\d+)\s*$")


def integers(values: Sequence[Any], drops: DropCounter, kind: Any = None) -> Any:
    """Return values as an Arrow array of ``kind`` (``int64`` by default), None as null.

    Unsigned 64-bit values wrap to signed ones; what is no integer becomes null and is counted.
    """
    kind = pa.int64() if kind is None else kind
    try:
        # Without a type, so that a float is not silently cut to an integer.
        array = pa.array(values)
        if pa.types.is_integer(array.type) or pa.types.is_null(array.type):
            return array.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        pass
    bits = kind.bit_width
    read = [_integer(value, bits) for value in values]
    drops.add(DropReason.BAD_FIELD, read.count(None) - list(values).count(None))
    return pa.array(read, kind)


def unwrapped(value: Any) -> Any:
    """Return the number at the end of a label such as ``stream 7``; other values unchanged."""
    if isinstance(value, str) and (match := _TRAILING_NUMBER.search(value)):
        return int(match.group(1))
    return value


def _integer(value: Any, bits: int) -> int | None:
    try:
        number = int(value, 0) if isinstance(value, str) else int(value)
        if isinstance(value, float) and value != number:
            return None
    except (ValueError, TypeError, OverflowError):
        return _decimal(value, bits)
    return _wrapped(number, bits)


def _decimal(value: Any, bits: int) -> int | None:
    """Read texts that ``int(…, 0)`` refuses, such as ``007``."""
    if isinstance(value, str) and value.strip().isdecimal():
        return _wrapped(int(value), bits)
    return None


def _wrapped(number: int, bits: int) -> int | None:
    if -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        return number
    if bits == 64 and 0 <= number < 1 << 64:
        return number - (1 << 64)
    return None
