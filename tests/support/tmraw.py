"""A small decoder of raw segments, written from docs/raw-format.md alone.

It shares no code with the recorder, the schema or the analysis reader: tests use it to check what
the recorder wrote. Only zstd comes from pyarrow.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

_FRAME = struct.Struct("<IHBBIIIIQQII")
_MAGIC = 0x314B4D54
_META, _STRINGS = 1, 2
_MASK = (1 << 64) - 1

Row = dict[str, int]


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


_CRC_TABLE = _crc_table()


def crc32c(content: bytes) -> int:
    """CRC-32C of ``content``."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc = (crc >> 8) ^ _CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


@dataclass(frozen=True)
class Block:
    """One block: frame fields and decompressed payload."""

    kind: int
    codec: int
    rows: int
    sequence: int
    first_ns: int
    last_ns: int
    payload: bytes


@dataclass
class Segment:
    """What a segment holds. ``rows[kind]`` has one dict per row, in file order."""

    blocks: list[Block] = field(default_factory=list)
    metas: list[dict[str, Any]] = field(default_factory=list)
    strings: dict[int, str] = field(default_factory=dict)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    parts: dict[str, list[list[Row]]] = field(default_factory=dict)
    """The same rows, block by block."""
    snapshots: list[list[Row]] = field(default_factory=list)
    tail_bytes: int = 0
    """Bytes behind the last whole block."""

    @property
    def meta(self) -> dict[str, Any]:
        """All meta blocks put together."""
        merged: dict[str, Any] = {}
        for meta in self.metas:
            merged.update(meta)
        return merged

    def ranges(self) -> list[tuple[str, int, int]]:
        """(series, index, depth) of the finished ranges, by thread and start."""
        rows = sorted(self.rows.get("annotations", []), key=lambda r: (r["thread"], r["start_ns"]))
        return [(self.strings[r["series_id"]], r["index"], r["depth"]) for r in rows]

    def names(self) -> list[str]:
        """Names of the finished ranges as the script gave them."""
        return [name if index < 0 else f"{name}_{index}" for name, index, _ in self.ranges()]

    def drops(self) -> dict[str, int]:
        """Dropped events by reason."""
        found: dict[str, int] = {}
        for row in self.rows.get("drops", []):
            reason = self.strings[row["reason_id"]]
            found[reason] = found.get(reason, 0) + row["events"]
        return found


def blocks(content: bytes) -> Iterator[tuple[Block, int]]:
    """Whole blocks from the beginning, each with the offset behind it; stops at the first other."""
    offset = 0
    while offset + _FRAME.size <= len(content):
        frame = content[offset : offset + _FRAME.size]
        magic, kind, codec, flags, rows, stored, raw, sequence, first, last, reserved, crc = (
            _FRAME.unpack(frame)
        )
        body = content[offset + _FRAME.size : offset + _FRAME.size + stored]
        if magic != _MAGIC or len(body) < stored or flags or reserved:
            return
        if crc32c(frame[:-4] + bytes(4) + body) != crc:
            return
        payload = pa.Codec("zstd").decompress(body, raw, asbytes=True) if codec == 1 else body
        assert len(payload) == raw
        offset += _FRAME.size + stored
        yield Block(kind, codec, rows, sequence, first, last, payload), offset


def bytes_by_kind(path: Path) -> dict[str, int]:
    """Bytes that the blocks of each kind take in a whole segment."""
    content = path.read_bytes()
    names = {kind["id"]: kind["name"] for kind in read_bytes(content).meta["kinds"]}
    sizes = dict.fromkeys(names.values(), 0)
    before = 0
    for block, end in blocks(content):
        sizes[names[block.kind]] += end - before
        before = end
    return sizes


def count_rows(path: Path, kinds: tuple[str, ...]) -> int:
    """Rows of the kinds by the frames alone: fast, and blind to what the blocks hold."""
    content = path.read_bytes()
    first, _ = next(blocks(content))
    ids = {kind["id"] for kind in json.loads(first.payload)["kinds"] if kind["name"] in kinds}
    rows = offset = 0
    while offset + _FRAME.size <= len(content):
        _, kind, _, _, count, stored, *_ = _FRAME.unpack_from(content, offset)
        rows += count if kind in ids else 0
        offset += _FRAME.size + stored
    return rows


def read_bytes(content: bytes) -> Segment:
    """Decode a segment as far as it is whole."""
    segment = Segment(tail_bytes=len(content))
    kinds: dict[int, Any] = {}
    for block, end in blocks(content):
        segment.blocks.append(block)
        segment.tail_bytes = len(content) - end
        if block.kind == _META:
            segment.metas.append(json.loads(block.payload))
            kinds.update({kind["id"]: kind for kind in segment.metas[-1].get("kinds", [])})
        elif block.kind == _STRINGS:
            segment.strings.update(_strings(block))
        else:
            kind = kinds[block.kind]
            rows = _rows(block, kind["columns"])
            segment.rows.setdefault(kind["name"], []).extend(rows)
            segment.parts.setdefault(kind["name"], []).append(rows)
            if kind["name"] == "open_annotations":
                segment.snapshots.append(rows)
    return segment


def read(path: Path) -> Segment:
    """Decode a segment file."""
    return read_bytes(path.read_bytes())


def read_all(folder: Path) -> list[Segment]:
    """Decode every segment below ``folder``, in the order of their paths."""
    return [read(path) for path in sorted(folder.rglob("*.tmraw"))]


def read_one(folder: Path) -> Segment:
    """Decode the only segment below ``folder``."""
    (segment,) = read_all(folder)
    return segment


def _strings(block: Block) -> dict[int, str]:
    found: dict[int, str] = {}
    offset = 0
    for _ in range(block.rows):
        number, length = struct.unpack_from("<II", block.payload, offset)
        found[number] = block.payload[offset + 8 : offset + 8 + length].decode()
        offset += 8 + length
    assert offset == len(block.payload)
    return found


def _rows(block: Block, columns: list[dict[str, str]]) -> list[Row]:
    offset = 0
    decoded: list[list[int]] = []
    for column in columns:
        width = block.payload[offset]
        offset += 1
        values = [0] * block.rows
        for plane in range(width):
            part = block.payload[offset : offset + block.rows]
            offset += block.rows
            values = [value | byte << 8 * plane for value, byte in zip(values, part, strict=True)]
        decoded.append(_decode(values, column["encoding"]))
    assert offset == len(block.payload)
    names = [column["name"] for column in columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*decoded, strict=True)]


def _decode(values: list[int], encoding: str) -> list[int]:
    if encoding == "plain":
        return values
    signed = [(value >> 1) ^ -(value & 1) for value in values]
    if encoding == "zigzag":
        return signed
    total = 0
    result = []
    for difference in signed:
        total = (total + difference) & _MASK
        result.append(total - (1 << 64) if total >> 63 else total)
    return result
