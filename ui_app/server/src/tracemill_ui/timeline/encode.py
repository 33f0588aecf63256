"""The binary answer of a window: a JSON header, then raw columns that need no decoding.

    bytes 0-7    magic "TMW1", then the header's length as uint32
    header       JSON, padded with blanks to a multiple of 8 bytes
    columns      little-endian, each beginning at a multiple of 8 bytes

The header names the columns with type and length, the lanes with their number of marks, and the
texts that ``name`` and ``category`` count through.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from tracemill_ui.timeline.marks import Marks, Window
from tracemill_ui.timeline.names import shortened
from tracemill_ui.timeline.source import Source

MAGIC = b"TMW1"
_TYPES = {"f8": "<f8", "f4": "<f4", "u4": "<u4", "u2": "<u2", "u1": "<u1"}


def encode_window(source: Source, window: Window, parts: list[tuple[str, Marks, int]]) -> bytes:
    """Encode the marks of lanes, given as ``(key, marks, bin_ns)``."""
    used = [marks.name for _, marks, _ in parts if len(marks)]
    names = np.unique(np.concatenate(used)) if used else np.empty(0, np.int32)
    kinds = [marks.category for _, marks, _ in parts if len(marks)]
    categories = np.unique(np.concatenate(kinds)) if kinds else np.empty(0, np.int32)

    def gathered(name: str) -> Any:
        return np.concatenate([getattr(marks, name) for _, marks, _ in parts])

    start, end = gathered("start"), gathered("end")
    length = end - start
    columns = [
        ("start", "f8", start - source.start_ns),
        ("dur", "f8", length),
        ("share", "f4", np.where(length > 0, gathered("busy") / np.maximum(length, 1), 1)),
        ("count", "u4", gathered("count")),
        ("name", "u4", np.searchsorted(names, gathered("name"))),
        ("category", "u1", np.searchsorted(categories, gathered("category"))),
        ("exact", "u1", gathered("exact")),
    ]
    header = {
        "t0": window.start - source.start_ns,
        "t1": window.end - source.start_ns,
        "px": window.px,
        "lanes": [
            {"key": key, "marks": len(marks), "bin_ns": bin_ns} for key, marks, bin_ns in parts
        ],
        "columns": [[name, kind, len(start)] for name, kind, _ in columns],
        "names": [shortened(source.names.text(number)) for number in names.tolist()],
        "categories": [source.names.text(number) for number in categories.tolist()],
    }
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-(len(head) + 8) % 8)
    pieces = [MAGIC, len(head).to_bytes(4, "little"), head]
    for _, kind, values in columns:
        raw = np.ascontiguousarray(values).astype(_TYPES[kind]).tobytes()
        pieces.append(raw + b"\0" * (-len(raw) % 8))
    return b"".join(pieces)


def decode_window(content: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read an encoded window: its header, and its columns as arrays by name."""
    size = int.from_bytes(content[4:8], "little")
    header: dict[str, Any] = json.loads(content[8 : 8 + size])
    columns, at = {}, 8 + size
    for name, kind, length in header["columns"]:
        columns[name] = np.frombuffer(content, _TYPES[kind], length, at)
        at += -(-columns[name].nbytes // 8) * 8
    return header, columns
