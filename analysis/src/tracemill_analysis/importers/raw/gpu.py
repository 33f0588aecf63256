"""GPU records of raw segments as rows of the event tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tracemill_schema.columns import Table
from tracemill_schema.tables.events import API_CALLS, KERNELS, MEMORY_OPS, SYNCS
from tracemill_schema.vocab import DropReason, MemoryOpKind

from tracemill_analysis.events import EventWriter
from tracemill_analysis.importers.base import DropCounter
from tracemill_analysis.importers.raw.segment import Segment

Int64 = NDArray[np.int64]
Columns = dict[str, Int64]

_UNKNOWN_NAME = "(unknown name)"
_COPY_KINDS = {
    1: MemoryOpKind.HTOD,
    2: MemoryOpKind.DTOH,
    8: MemoryOpKind.DTOD,
    9: MemoryOpKind.HTOH,
    10: MemoryOpKind.PTOP,
}
_MEMORY_KINDS = (
    None, "pageable", "pinned", "device", "array", "managed", "device_static", "managed_static",
)  # fmt: skip
_SYNC_KINDS = ("other", "event", "stream_wait_event", "stream", "device")
_SYNC_NAMES = ("Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync")
_ALL_STREAMS = -1


class GpuEvents:
    """Takes segments one by one and gives their GPU records to an ``EventWriter``."""

    def __init__(self, writer: EventWriter, drops: DropCounter) -> None:
        self._writer = writer
        self._drops = drops
        self.rows = 0
        """Rows given to the writer."""

    def add(self, segment: Segment) -> None:
        """Take the GPU records of one segment; ids are looked up within it."""
        tracks = _Lookup(segment.columns.get("gpu_tracks", {}), "track_id")
        self._take(segment, "kernels", lambda s, k: self._kernels(s, timed(s, k), tracks))
        self._take(segment, "graph_runs", lambda s, k: self._graph_runs(s, timed(s, k), tracks))
        self._take(segment, "memcpys", lambda s, k: self._copies(s, timed(s, k), tracks))
        self._take(segment, "memsets", lambda s, k: self._sets(s, timed(s, k), tracks))
        self._take(segment, "api_calls", lambda s, k: self._calls(s, timed(s, k)))
        self._take(segment, "gpu_syncs", lambda s, k: self._syncs(s.columns[k], s))

    def _take(self, segment: Segment, kind: str, method: Callable[[Segment, str], None]) -> None:
        if kind not in segment.columns:
            return
        try:
            method(segment, kind)
        except (KeyError, ValueError, OverflowError) as error:  # no recorder writes such values
            rows = sum(segment.block_rows[kind])
            self._drops.add(DropReason.CHECKSUM, rows, f"{kind}: {error}")

    def _give(self, table: Table, columns: dict[str, Any], rows: int) -> None:
        self._writer.add(table, columns, rows)
        self.rows += rows

    def _kernels(self, segment: Segment, rows: Columns, tracks: _Lookup) -> None:
        signatures = _Lookup(segment.columns.get("gpu_signatures", {}), "signature_id")
        place = signatures.places(rows["signature_id"])

        def of(column: str) -> Int64:
            return signatures.take(column, place)

        sizes = {
            f"{what}_{axis}": pa.array(of(f"{what}_{axis}"), mask=place < 0)
            for what in ("grid", "block")
            for axis in "xyz"
        }
        shared = of("static_shared_bytes") + of("dynamic_shared_bytes")
        columns = {
            **_run(rows, tracks),
            "name": self._names(segment, np.where(place < 0, -1, of("name_id"))),
            **sizes,
            "registers": pa.array(of("registers"), mask=place < 0),
            "shared_bytes": pa.array(shared, mask=place < 0),
            "graph_node": pa.array(rows["graph_node"], mask=rows["graph_node"] == 0),
        }
        self._give(KERNELS, columns, len(place))

    def _graph_runs(self, _segment: Segment, rows: Columns, tracks: _Lookup) -> None:
        graphs, places = np.unique(rows["graph_id"], return_inverse=True)
        names = self._ids([f"CUDA graph {graph}" for graph in graphs])
        self._give(KERNELS, {**_run(rows, tracks), "name": names[places]}, len(places))

    def _copies(self, _segment: Segment, rows: Columns, tracks: _Lookup) -> None:
        shapes = np.stack([rows[c] for c in ("copy_kind", "src_kind", "dst_kind")], axis=1)
        unique, places = np.unique(shapes, axis=0, return_inverse=True)
        places = places.reshape(-1)
        kinds = [_COPY_KINDS.get(int(k), MemoryOpKind.OTHER) for k in unique[:, 0]]
        sources, targets = ([_memory_kind(k) for k in unique[:, c]] for c in (1, 2))
        names = [
            f"Memcpy {kind} ({_title(source)} -> {_title(target)})"
            for kind, source, target in zip(kinds, sources, targets, strict=True)
        ]
        columns = {
            **_run(rows, tracks),
            "name": self._ids(names)[places],
            "kind": self._ids([str(kind) for kind in kinds])[places],
            "src_kind": pa.array(sources, pa.string()).take(pa.array(places)),
            "dst_kind": pa.array(targets, pa.string()).take(pa.array(places)),
            "bytes": rows["bytes"],
        }
        self._give(MEMORY_OPS, columns, len(places))

    def _sets(self, _segment: Segment, rows: Columns, tracks: _Lookup) -> None:
        unique, places = np.unique(rows["memory_kind"], return_inverse=True)
        kinds = [_memory_kind(kind) for kind in unique]
        columns = {
            **_run(rows, tracks),
            "name": self._ids([f"Memset ({_title(kind)})" for kind in kinds])[places],
            "kind": self._ids([str(MemoryOpKind.MEMSET)])[np.zeros(len(places), np.int64)],
            "dst_kind": pa.array(kinds, pa.string()).take(pa.array(places)),
            "bytes": rows["bytes"],
        }
        self._give(MEMORY_OPS, columns, len(places))

    def _calls(self, segment: Segment, rows: Columns) -> None:
        driver = rows["api"] == 1
        # The driver call inside a call of the runtime has its id; the outer one is the launch.
        inner = driver & np.isin(rows["correlation"], rows["correlation"][~driver])
        self._drops.add(DropReason.NOT_USED, int(inner.sum()), "driver calls inside runtime calls")
        kept = {name: values[~inner] for name, values in rows.items()}
        columns = {
            "thread": kept["thread"],
            "name": self._names(segment, kept["name_id"]),
            "api": self._ids(["runtime", "driver"])[np.minimum(kept["api"], 1)],
            "correlation": kept["correlation"],
            "start_ns": kept["start_ns"],
            "dur_ns": kept["dur_ns"],
        }
        self._give(API_CALLS, columns, len(kept["thread"]))

    def _syncs(self, rows: Columns, segment: Segment) -> None:
        count = len(rows["type"])
        kind = np.where((rows["type"] < 0) | (rows["type"] >= len(_SYNC_KINDS)), 0, rows["type"])
        device = _device_of_context(segment, rows["context"])
        columns = {
            "side": self._ids(["device"])[np.zeros(count, np.int64)],
            "kind": self._ids(list(_SYNC_KINDS))[kind],
            "name": self._ids(list(_SYNC_NAMES))[kind],
            "device": pa.array(device, mask=device < 0),
            "stream": pa.array(rows["stream"], mask=rows["stream"] == _ALL_STREAMS),
            "correlation": rows["correlation"],
            "start_ns": rows["start_ns"],
            "dur_ns": rows["dur_ns"],
        }
        self._give(SYNCS, columns, count)

    def _ids(self, texts: list[str]) -> NDArray[np.int32]:
        return self._writer.strings.ids(texts, len(texts))

    def _names(self, segment: Segment, string_ids: Int64) -> NDArray[np.int32]:
        unique, places = np.unique(string_ids, return_inverse=True)
        return self._ids([segment.strings.get(int(i), _UNKNOWN_NAME) for i in unique])[places]


class _Lookup:
    """Rows of a defining kind by their id."""

    def __init__(self, columns: Columns, key: str) -> None:
        ids = columns.get(key, np.empty(0, np.int64))
        # A later definition of the same id replaces the earlier one.
        self._order = np.argsort(ids, kind="stable")
        self._ids = ids[self._order]
        self._columns = columns

    def places(self, ids: Int64) -> Int64:
        """Return the place of each id, -1 where it was never defined."""
        place = np.searchsorted(self._ids, ids, side="right") - 1
        known = (place >= 0) & (self._ids[np.maximum(place, 0)] == ids) if len(self._ids) else False
        return np.where(known, place, -1).astype(np.int64)

    def take(self, column: str, places: Int64) -> Int64:
        """Return a column's values at ``places``, 0 where the place is -1."""
        if not len(self._ids):
            return np.zeros(len(places), np.int64)
        return np.where(places < 0, 0, self._columns[column][self._order[places]])


def timed(segment: Segment, kind: str) -> Columns:
    """Return the columns of a kind with ``start_ns`` and ``dur_ns`` in place of differences."""
    columns = segment.columns[kind]
    starts, durations = [], []
    first = 0
    for rows in segment.block_rows[kind]:
        part = {name: values[first : first + rows] for name, values in columns.items()}
        first += rows
        if "dur_delta_ns" in part:
            duration = _sums_by(part["signature_id"], part["dur_delta_ns"])
        else:
            duration = part["dur_ns"]
        starts.append(np.cumsum(part["gap_ns"] + duration) - duration)
        durations.append(duration)
    rest = {n: v for n, v in columns.items() if n not in ("gap_ns", "dur_delta_ns", "dur_ns")}
    return {**rest, "start_ns": np.concatenate(starts), "dur_ns": np.concatenate(durations)}


def _sums_by(keys: Int64, differences: Int64) -> Int64:
    """Return for each row the sum of the differences of its key so far."""
    order = np.argsort(keys, kind="stable")
    sums = np.cumsum(differences[order])
    sorted_keys = keys[order]
    begins = np.flatnonzero(np.r_[True, sorted_keys[1:] != sorted_keys[:-1]])
    before = np.r_[0, sums[begins[1:] - 1]]
    lengths = np.diff(np.r_[begins, len(keys)])
    result = np.empty_like(differences)
    result[order] = sums - np.repeat(before, lengths)
    return result


def _run(rows: Columns, tracks: _Lookup) -> dict[str, Any]:
    place = tracks.places(rows["track_id"])
    return {
        "device": tracks.take("device", place),
        "stream": tracks.take("stream", place),
        "correlation": rows["correlation"],
        "start_ns": rows["start_ns"],
        "dur_ns": rows["dur_ns"],
    }


def _device_of_context(segment: Segment, contexts: Int64) -> Int64:
    tracks = segment.columns.get("gpu_tracks")
    if tracks is None:
        return np.full(len(contexts), -1, np.int64)
    lookup = _Lookup({"context": tracks["context"], "device": tracks["device"]}, "context")
    place = lookup.places(contexts)
    return np.where(place < 0, -1, lookup.take("device", place))


def _memory_kind(kind: int) -> str | None:
    return _MEMORY_KINDS[int(kind)] if 0 <= kind < len(_MEMORY_KINDS) else None


def _title(kind: str | None) -> str:
    return (kind or "unknown").replace("_", " ").title()


def device_name(meta: dict[str, Any]) -> str | None:
    """Return the name of the first GPU that the recorder saw in the process."""
    found = meta.get("gpu")
    devices = found.get("devices") if isinstance(found, dict) else None
    for device in devices if isinstance(devices, list) else ():
        name = device.get("name") if isinstance(device, dict) else None
        if isinstance(name, str) and name:
            return name
    return None
