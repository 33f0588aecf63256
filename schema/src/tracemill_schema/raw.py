"""The raw segment format (``.tmraw``): block frame, record kinds, column encodings.

A segment is a sequence of blocks. Each block is a fixed 48-byte little-endian frame and a payload.
Blocks are written whole with one ``write``; a reader stops at the first block that is cut or whose
checksum fails, so everything before it survives whatever happened to the process.

Frame (``FRAME`` below): magic, kind, codec, flags, rows, stored length, raw length, block sequence,
first and last time, CRC-32C of frame (with the checksum field zero) and stored payload.

Payload of a columnar kind, before compression: for each column in declared order one byte ``width``
(0-8), then ``width`` byte planes of ``rows`` bytes each, least significant plane first. The values
in the planes are 64-bit integers after the column's encoding; planes above ``width`` are zero.

The first block of a segment is ``meta``: a JSON object that also carries this list of kinds and
columns, so that a later reader can decode a segment of any version by name.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum, StrEnum

BLOCK_MAGIC = 0x314B4D54
"""The bytes ``TMK1`` read as a little-endian integer."""

FRAME = struct.Struct("<IHBBIIIIQQII")
"""magic, kind, codec, flags (zero), rows, stored_length, raw_length, sequence, first_ns, last_ns,
reserved (zero), crc32c."""

MAX_BLOCK_ROWS = 65_536
MAX_BLOCK_BYTES = 64 * 1024 * 1024
"""A reader refuses a block that claims more, so a damaged length cannot exhaust memory."""


class Codec(IntEnum):
    """How a payload is stored."""

    NONE = 0
    ZSTD = 1


class Encoding(StrEnum):
    """How a column's 64-bit values become the unsigned integers of the byte planes."""

    PLAIN = "plain"
    """The value itself, unsigned."""
    ZIGZAG = "zigzag"
    """Signed value, zigzag."""
    DELTA = "delta"
    """Difference to the previous row (first row: to zero), zigzag."""


@dataclass(frozen=True)
class RawColumn:
    """One column of a record kind."""

    name: str
    encoding: Encoding
    doc: str


@dataclass(frozen=True)
class RawKind:
    """One record kind. A kind without columns has a payload of its own, described in ``doc``."""

    id: int
    name: str
    doc: str
    columns: tuple[RawColumn, ...] = ()


META = RawKind(
    1,
    "meta",
    "JSON object. The first block of a segment; later ones add to or replace its keys "
    "(for example ``end_reason`` when the recording ends).",
)
STRINGS = RawKind(
    2,
    "strings",
    "Interned names: for each row a 32-bit id, a 32-bit length and that many bytes of UTF-8. "
    "A name stands in the segment before the first record that uses it.",
)
CLOCK = RawKind(
    3,
    "clock",
    "Readings of the clocks, taken together.",
    (
        RawColumn("monotonic_ns", Encoding.DELTA, "CLOCK_MONOTONIC"),
        RawColumn(
            "realtime_ns", Encoding.DELTA, "CLOCK_REALTIME, nanoseconds since the Unix epoch"
        ),
        RawColumn("tsc", Encoding.DELTA, "time stamp counter, zero where there is none"),
    ),
)
ANNOTATIONS = RawKind(
    4,
    "annotations",
    "Finished user ranges. ``<name>_<n>`` is folded into series and index.",
    (
        RawColumn("thread", Encoding.DELTA, "operating system thread id"),
        RawColumn("series_id", Encoding.PLAIN, "string id of the series"),
        RawColumn("index", Encoding.DELTA, "number folded from the name, -1 without one"),
        RawColumn("depth", Encoding.PLAIN, "ranges open on the thread when this one began"),
        RawColumn("start_ns", Encoding.DELTA, "CLOCK_MONOTONIC"),
        RawColumn("dur_ns", Encoding.PLAIN, "duration"),
    ),
)
OPEN_ANNOTATIONS = RawKind(
    5,
    "open_annotations",
    "Snapshot of the ranges open at a flush. Only the last one of a process counts, and only if "
    "the recording did not end by itself.",
    (
        RawColumn("thread", Encoding.DELTA, "operating system thread id"),
        RawColumn("series_id", Encoding.PLAIN, "string id of the series"),
        RawColumn("index", Encoding.DELTA, "number folded from the name, -1 without one"),
        RawColumn("depth", Encoding.PLAIN, "ranges open on the thread when this one began"),
        RawColumn("start_ns", Encoding.DELTA, "CLOCK_MONOTONIC"),
    ),
)
SAMPLES = RawKind(
    6,
    "samples",
    "Values of the metrics of ``metrics.py``.",
    (
        RawColumn("metric_id", Encoding.PLAIN, "id of the metric"),
        RawColumn("index", Encoding.DELTA, "core or device, -1 for node and process metrics"),
        RawColumn("time_ns", Encoding.DELTA, "CLOCK_MONOTONIC"),
        RawColumn("value", Encoding.DELTA, "value in the metric's unit"),
    ),
)
DROPS = RawKind(
    7,
    "drops",
    "Events that could not be recorded since the previous block of this kind.",
    (
        RawColumn("reason_id", Encoding.PLAIN, "string id of the reason (``vocab.DropReason``)"),
        RawColumn("events", Encoding.PLAIN, "how many"),
    ),
)
CAPTURE = RawKind(
    8,
    "capture",
    "Times at which capturing annotations began (state 1) and ended (state 0).",
    (
        RawColumn("time_ns", Encoding.DELTA, "CLOCK_MONOTONIC"),
        RawColumn("state", Encoding.PLAIN, "1 begun, 0 ended"),
    ),
)

RAW_KINDS: tuple[RawKind, ...] = (
    META,
    STRINGS,
    CLOCK,
    ANNOTATIONS,
    OPEN_ANNOTATIONS,
    SAMPLES,
    DROPS,
    CAPTURE,
)


class EndReason(StrEnum):
    """Why a recording ended, in the last ``meta`` block. Without one the process was killed."""

    STOPPED = "stopped"
    EXIT = "exit"
    STEP_LIMIT = "step_limit"
    BYTE_BUDGET = "byte_budget"
    SIGNAL = "signal"
