"""Writes raw segments for tests, from the declaration in ``schema.raw`` alone (no SDK needed)."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import google_crc32c
import pyarrow as pa
from tracemill_schema import RAW_FORMAT_VERSION, raw
from tracemill_schema.targets.sdk_python import kinds_document

_MASK = (1 << 64) - 1


class SegmentWriter:
    """Collects blocks; ``save`` writes them as one segment."""

    def __init__(self, codec: raw.Codec = raw.Codec.ZSTD, **meta: Any) -> None:
        self.codec = codec
        self.content = b""
        self.sequence = 0
        self.ids: dict[str, int] = {}
        self.meta(format_version=RAW_FORMAT_VERSION, kinds=kinds_document(), **meta)

    def block(self, kind: int, rows: int, payload: bytes, last_ns: int = 0) -> SegmentWriter:
        stored = pa.Codec("zstd").compress(payload, asbytes=True) if self.codec else payload
        fields = (raw.BLOCK_MAGIC, kind, int(self.codec), 0, rows, len(stored), len(payload))
        frame = raw.FRAME.pack(*fields, self.sequence, 0, last_ns, 0, 0)
        crc = google_crc32c.value(frame + stored)
        self.content += raw.FRAME.pack(*fields, self.sequence, 0, last_ns, 0, crc) + stored
        self.sequence += 1
        return self

    def meta(self, **values: Any) -> SegmentWriter:
        return self.block(raw.META.id, 1, json.dumps(values).encode())

    def string(self, text: str | bytes, string_id: int | None = None) -> int:
        content = text if isinstance(text, bytes) else text.encode()
        number = len(self.ids) + 1 if string_id is None else string_id
        self.ids[repr(text)] = number
        self.block(raw.STRINGS.id, 1, struct.pack("<II", number, len(content)) + content)
        return number

    def rows(
        self, kind: raw.RawKind, rows: list[tuple[int, ...]], last_ns: int = 0
    ) -> SegmentWriter:
        payload = b""
        for position, column in enumerate(kind.columns):
            payload += _planes([row[position] for row in rows], column.encoding)
        return self.block(kind.id, len(rows), payload, last_ns)

    def save(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.content)
        return path


def _planes(values: list[int], encoding: raw.Encoding) -> bytes:
    encoded: list[int] = []
    previous = 0
    for value in values:
        number = value
        if encoding is raw.Encoding.DELTA:
            number, previous = value - previous, value
        if encoding is not raw.Encoding.PLAIN:
            number = (number << 1) ^ (number >> 63)
        encoded.append(number & _MASK)
    width = (max(encoded, default=0).bit_length() + 7) // 8
    planes = [bytes((value >> (8 * plane)) & 0xFF for value in encoded) for plane in range(width)]
    return bytes([width]) + b"".join(planes)
