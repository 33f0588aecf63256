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

_TRACK = RawColumn("track_id", Encoding.DELTA, "stream it ran on (``gpu_tracks``)")
_CORRELATION = RawColumn("correlation", Encoding.DELTA, "id shared with the call that launched it")
_GAP = RawColumn(
    "gap_ns",
    Encoding.ZIGZAG,
    "start less the end of the row before in the block (first row: less zero); CLOCK_MONOTONIC",
)
_DUR = RawColumn("dur_ns", Encoding.PLAIN, "duration")

GPU_TRACKS = RawKind(
    20,
    "gpu_tracks",
    "Streams. A row stands in the segment before the first record that uses its id.",
    (
        RawColumn("track_id", Encoding.DELTA, "id within the process"),
        RawColumn("device", Encoding.PLAIN, "CUDA device ordinal"),
        RawColumn("context", Encoding.PLAIN, "CUPTI's id of the context"),
        RawColumn("stream", Encoding.PLAIN, "CUPTI's id of the stream"),
    ),
)
GPU_SIGNATURES = RawKind(
    21,
    "gpu_signatures",
    "Kernel launches that differ in nothing but time. A row stands in the segment before the first "
    "kernel that uses its id.",
    (
        RawColumn("signature_id", Encoding.DELTA, "id within the process"),
        RawColumn("name_id", Encoding.PLAIN, "string id of the kernel's name, demangled"),
        RawColumn("grid_x", Encoding.PLAIN, "grid size in blocks"),
        RawColumn("grid_y", Encoding.PLAIN, "grid size in blocks"),
        RawColumn("grid_z", Encoding.PLAIN, "grid size in blocks"),
        RawColumn("block_x", Encoding.PLAIN, "block size in threads"),
        RawColumn("block_y", Encoding.PLAIN, "block size in threads"),
        RawColumn("block_z", Encoding.PLAIN, "block size in threads"),
        RawColumn("registers", Encoding.PLAIN, "registers per thread"),
        RawColumn("static_shared_bytes", Encoding.PLAIN, "static shared memory per block"),
        RawColumn("dynamic_shared_bytes", Encoding.PLAIN, "dynamic shared memory per block"),
    ),
)
KERNELS = RawKind(
    22,
    "kernels",
    "Kernel runs, by stream and start within a block.",
    (
        _TRACK,
        RawColumn("signature_id", Encoding.PLAIN, "what ran (``gpu_signatures``)"),
        _CORRELATION,
        _GAP,
        RawColumn(
            "dur_delta_ns",
            Encoding.ZIGZAG,
            "duration less that of the row before with the same signature in the block, of any "
            "stream (first: less zero)",
        ),
        RawColumn("graph_node", Encoding.PLAIN, "id of the CUDA-graph node, 0 without one"),
    ),
)
GRAPH_RUNS = RawKind(
    23,
    "graph_runs",
    "Runs of whole CUDA graphs, where graphs are not recorded node by node.",
    (
        _TRACK,
        RawColumn("graph_id", Encoding.PLAIN, "CUPTI's id of the graph"),
        _CORRELATION,
        _GAP,
        _DUR,
    ),
)
MEMCPYS = RawKind(
    24,
    "memcpys",
    "Memory copies, by stream and start within a block.",
    (
        _TRACK,
        RawColumn("copy_kind", Encoding.PLAIN, "direction, CUpti_ActivityMemcpyKind"),
        RawColumn("src_kind", Encoding.PLAIN, "memory copied from, CUpti_ActivityMemoryKind"),
        RawColumn("dst_kind", Encoding.PLAIN, "memory copied to, CUpti_ActivityMemoryKind"),
        RawColumn("peer", Encoding.PLAIN, "1 + device copied to, 0 if it is no peer copy"),
        RawColumn("bytes", Encoding.PLAIN, "size"),
        _CORRELATION,
        _GAP,
        _DUR,
    ),
)
MEMSETS = RawKind(
    25,
    "memsets",
    "Memory sets, by stream and start within a block.",
    (
        _TRACK,
        RawColumn("memory_kind", Encoding.PLAIN, "memory set, CUpti_ActivityMemoryKind"),
        RawColumn("value", Encoding.PLAIN, "value it is set to"),
        RawColumn("bytes", Encoding.PLAIN, "size"),
        _CORRELATION,
        _GAP,
        _DUR,
    ),
)
API_CALLS = RawKind(
    26,
    "api_calls",
    "Host calls that launch, copy, set or wait, by thread and start within a block.",
    (
        RawColumn("thread", Encoding.DELTA, "operating system thread id"),
        RawColumn("api", Encoding.PLAIN, "0 runtime, 1 driver"),
        RawColumn("name_id", Encoding.PLAIN, "string id of the call's name"),
        RawColumn("correlation", Encoding.DELTA, "id shared with what it launched"),
        _GAP,
        _DUR,
    ),
)
GPU_SYNCS = RawKind(
    27,
    "gpu_syncs",
    "Synchronisations as CUPTI reports them.",
    (
        RawColumn("type", Encoding.PLAIN, "CUpti_ActivitySynchronizationType"),
        RawColumn("context", Encoding.PLAIN, "CUPTI's id of the context"),
        RawColumn("stream", Encoding.ZIGZAG, "CUPTI's id of the stream, -1 for all"),
        RawColumn("correlation", Encoding.DELTA, "id shared with the call"),
        RawColumn("start_ns", Encoding.DELTA, "CLOCK_MONOTONIC"),
        _DUR,
    ),
)
GPU_OVERHEADS = RawKind(
    28,
    "gpu_overheads",
    "Time that CUPTI and the driver say they took from the program.",
    (
        RawColumn("overhead_kind", Encoding.PLAIN, "CUpti_ActivityOverheadKind"),
        RawColumn("thread", Encoding.DELTA, "operating system thread id, 0 if it is no thread's"),
        RawColumn("start_ns", Encoding.DELTA, "CLOCK_MONOTONIC"),
        _DUR,
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
    GPU_TRACKS,
    GPU_SIGNATURES,
    KERNELS,
    GRAPH_RUNS,
    MEMCPYS,
    MEMSETS,
    API_CALLS,
    GPU_SYNCS,
    GPU_OVERHEADS,
)


class EndReason(StrEnum):
    """Why a recording ended, in the last ``meta`` block. Without one the process was killed."""

    STOPPED = "stopped"
    EXIT = "exit"
    STEP_LIMIT = "step_limit"
    BYTE_BUDGET = "byte_budget"
    SIGNAL = "signal"
