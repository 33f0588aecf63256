"""The little of protobuf's wire format that a writer needs (its guide's page "Encoding")."""

from __future__ import annotations

import struct

_VARINT, _FIXED64, _LENGTH = 0, 1, 2
_MASK = (1 << 64) - 1


def varint(value: int) -> bytes:
    """Encode an integer; negative ones as 64-bit two's complement, as int32 and int64 fields do."""
    value &= _MASK
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """An integer, boolean or enum field."""
    return varint(field << 3 | _VARINT) + varint(value)


def fixed64(field: int, value: int) -> bytes:
    """A fixed64 field."""
    return varint(field << 3 | _FIXED64) + struct.pack("<Q", value & _MASK)


def double(field: int, value: float) -> bytes:
    """A double field."""
    return varint(field << 3 | _FIXED64) + struct.pack("<d", value)


def message(field: int, content: bytes) -> bytes:
    """A sub-message field."""
    return varint(field << 3 | _LENGTH) + varint(len(content)) + content


def text(field: int, value: str) -> bytes:
    """A string field; what UTF-8 cannot encode (lone surrogates) is replaced."""
    return message(field, value.encode("utf-8", "replace"))
