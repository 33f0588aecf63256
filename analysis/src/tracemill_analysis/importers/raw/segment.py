"""Blocks of a raw segment: framing, checksum, columns. The format is declared in ``schema.raw``.

Reading stops at the first block that is cut or damaged; what stands before it is used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import google_crc32c
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tracemill_schema import RAW_FORMAT_VERSION, raw
from tracemill_schema.errors import NewerSchemaError, SegmentError
from tracemill_schema.vocab import DropReason

from tracemill_analysis.importers.base import DropCounter

_ZSTD = pa.Codec("zstd")
_CRC_BYTES = 4
_ROWS_OF_ANY_BLOCK = 4_096
"""Rows that need no bytes. In longer blocks of a recorder the times or ids take some per row."""


@dataclass(frozen=True)
class Block:
    """One whole block: kind id, rows, decompressed payload, place in the file."""

    kind: int
    rows: int
    payload: bytes
    first_ns: int
    last_ns: int
    offset: int


@dataclass
class Segment:
    """What one segment file holds, by kind name.

    ``columns[kind][column]`` are int64 arrays with the rows of all blocks of that kind, and
    ``block_rows[kind]`` says how many of them each block has. ``meta`` is
    the merge of all meta blocks. ``cut`` tells whether the file ends in the middle of a block.
    """

    meta: dict[str, Any] = field(default_factory=dict)
    strings: dict[int, str] = field(default_factory=dict)
    columns: dict[str, dict[str, NDArray[np.int64]]] = field(default_factory=dict)
    last_open: dict[str, NDArray[np.int64]] | None = None
    last_ns: int = 0
    blocks: int = 0
    block_rows: dict[str, list[int]] = field(default_factory=dict)


def read_segment(path: Path, name: str, drops: DropCounter) -> Segment:
    """Read a segment as far as it is whole; count what is cut or damaged in ``drops``.

    Raises SegmentError if not even the first block can be read, NewerSchemaError if the format is
    newer than this reader.
    """
    with path.open("rb") as file:
        blocks = _blocks(file, name, drops)
        return _collect(_first_meta(blocks, name), blocks, name, drops)


def read_meta(head: bytes, name: str) -> dict[str, Any]:
    """Return the first meta block of a segment that begins with ``head``.

    Errors as for ``read_segment``; SegmentError also if the block does not end in ``head``.
    """
    return _first_meta(_blocks(BytesIO(head), name, DropCounter()), name)


def _first_meta(blocks: Iterator[Block], name: str) -> dict[str, Any]:
    first = next(blocks, None)
    if first is None or first.kind != raw.META.id:
        raise SegmentError(f"{name}: no readable first block; this is not a raw segment")
    meta = _json_object(first, name)
    version = meta.get("format_version")
    if not isinstance(version, int) or version < 1:
        raise SegmentError(f"{name}: the first block names no format version")
    if version > RAW_FORMAT_VERSION:
        raise NewerSchemaError(
            f"{name}: written in raw format {version}, this version reads up to "
            f"{RAW_FORMAT_VERSION}: install a newer Tracemill"
        )
    return meta


def _blocks(file: BinaryIO, name: str, drops: DropCounter) -> Iterator[Block]:
    offset = 0
    while frame := file.read(raw.FRAME.size):
        place = f"{name}, byte {offset}"
        if len(frame) < raw.FRAME.size:
            drops.add(DropReason.TRUNCATED, 1, place)
            return
        fields = raw.FRAME.unpack(frame)
        magic, kind, codec, _, rows, stored, length, _, first_ns, last_ns, _, crc = fields
        if magic != raw.BLOCK_MAGIC or max(stored, length) > raw.MAX_BLOCK_BYTES:
            drops.add(DropReason.CHECKSUM, 1, place)
            return
        content = file.read(stored)
        if len(content) < stored:
            drops.add(DropReason.TRUNCATED, 1, place)
            return
        if _checksum(frame, content) != crc:
            drops.add(DropReason.CHECKSUM, 1, place)
            return
        payload = _decompress(codec, content, length)
        if payload is None:
            drops.add(DropReason.CHECKSUM, 1, place)
            return
        yield Block(kind, rows, payload, first_ns, last_ns, offset)
        offset += raw.FRAME.size + stored


def _checksum(frame: bytes, content: bytes) -> int:
    start = google_crc32c.value(frame[:-_CRC_BYTES] + bytes(_CRC_BYTES))
    return int(google_crc32c.extend(start, content))


def _decompress(codec: int, content: bytes, length: int) -> bytes | None:
    if codec == raw.Codec.NONE:
        return content if len(content) == length else None
    if codec != raw.Codec.ZSTD:
        return None
    try:
        return bytes(_ZSTD.decompress(content, decompressed_size=length))
    except (OSError, pa.ArrowInvalid):
        return None


def _json_object(block: Block, name: str) -> dict[str, Any]:
    try:
        value = json.loads(block.payload)
    except (ValueError, RecursionError) as error:
        raise SegmentError(f"{name}, byte {block.offset}: meta block is no JSON") from error
    if not isinstance(value, dict):
        raise SegmentError(f"{name}, byte {block.offset}: meta block is no JSON object")
    return value


def _collect(
    meta: dict[str, Any], blocks: Iterator[Block], name: str, drops: DropCounter
) -> Segment:
    layouts = _layouts(meta, name)
    segment = Segment(meta=meta, blocks=1)
    parts: dict[str, list[dict[str, NDArray[np.int64]]]] = {}
    for block in blocks:
        segment.blocks += 1
        segment.last_ns = max(segment.last_ns, block.last_ns)
        try:
            if block.kind == raw.META.id:
                segment.meta.update(_json_object(block, name))
            elif block.kind == raw.STRINGS.id:
                segment.strings.update(_strings(block))
            elif block.kind in layouts:
                kind, columns = layouts[block.kind]
                values = decode_columns(block.payload, block.rows, columns)
                if block.kind == raw.OPEN_ANNOTATIONS.id:
                    segment.last_open = values
                else:
                    parts.setdefault(kind, []).append(values)
        except (SegmentError, ValueError) as error:
            drops.add(DropReason.CHECKSUM, 1, f"{name}, byte {block.offset}: {error}")
    for kind, chunks in parts.items():
        segment.block_rows[kind] = [len(next(iter(chunk.values()))) for chunk in chunks]
        segment.columns[kind] = {
            column: np.concatenate([chunk[column] for chunk in chunks]) for column in chunks[0]
        }
    return segment


def _layouts(meta: dict[str, Any], name: str) -> dict[int, tuple[str, list[tuple[str, str]]]]:
    """Return name and columns of each kind, as the segment itself describes them."""
    try:
        return {
            int(kind["id"]): (
                str(kind["name"]),
                [(str(c["name"]), str(c["encoding"])) for c in kind["columns"]],
            )
            for kind in meta.get("kinds", [])
        }
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise SegmentError(f"{name}: the first block describes the others wrongly") from error


def _strings(block: Block) -> dict[int, str]:
    found: dict[int, str] = {}
    position, payload = 0, block.payload
    for _ in range(block.rows):
        string_id, length = np.frombuffer(payload, "<u4", 2, position)
        position += 8
        if position + int(length) > len(payload):
            raise ValueError("string leads beyond its block")
        text = payload[position : position + int(length)]
        found[int(string_id)] = text.decode("utf-8", "replace")
        position += int(length)
    return found


def decode_columns(
    payload: bytes, rows: int, columns: list[tuple[str, str]]
) -> dict[str, NDArray[np.int64]]:
    """Decode the byte planes of a columnar block; ValueError if they do not fit the payload."""
    if rows > _ROWS_OF_ANY_BLOCK + len(payload):
        # Columns of zeros take no bytes, so a few bytes could claim to be billions of rows.
        raise ValueError(f"{rows} rows are more than its {len(payload)} bytes can hold")
    position = 0
    result: dict[str, NDArray[np.int64]] = {}
    for name, encoding in columns:
        if position >= len(payload):
            raise ValueError(f"no column {name}")
        width = payload[position]
        position += 1
        if width > 8 or position + width * rows > len(payload):
            raise ValueError(f"column {name} leads beyond its block")
        planes = np.frombuffer(payload, np.uint8, width * rows, position).reshape(width, rows)
        position += width * rows
        joined = np.zeros((rows, 8), np.uint8)
        joined[:, :width] = planes.T
        result[name] = _decode(joined.reshape(-1).view("<u8"), encoding)
    return result


def _decode(values: NDArray[np.uint64], encoding: str) -> NDArray[np.int64]:
    if encoding == raw.Encoding.PLAIN:
        return values.view(np.int64)
    one = np.uint64(1)
    signed = ((values >> one) ^ (np.uint64(0) - (values & one))).view(np.int64)
    if encoding == raw.Encoding.ZIGZAG:
        return signed
    if encoding == raw.Encoding.DELTA:
        return np.cumsum(signed, dtype=np.int64)
    raise ValueError(f"unknown encoding {encoding!r}")
