"""Rows of an export to rows of the event tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from tracemill_schema.columns import Table
from tracemill_schema.tables import events
from tracemill_schema.vocab import DropReason, MemoryOpKind

from tracemill_analysis.events import EventWriter
from tracemill_analysis.importers.base import DropCounter
from tracemill_analysis.importers.nsys import tables as t
from tracemill_analysis.importers.nsys.nvtx import DOMAIN, RANGES, operator
from tracemill_analysis.importers.nsys.strings import Strings
from tracemill_analysis.importers.nsys.tables import Kind, Tables, Wanted

Int64 = NDArray[np.int64]
Columns = dict[str, Any]

LIMIT_NS = 1 << 61
_THREAD_MASK = (1 << t.THREAD_BITS) - 1
_VERSION = re.compile(r"_v\d+(_pt[sd][sz])?$")
_DRIVER = re.compile(r"cu[A-Z]")
_COPY_KINDS = {
    1: MemoryOpKind.HTOD, 2: MemoryOpKind.DTOH, 8: MemoryOpKind.DTOD, 9: MemoryOpKind.HTOH,
    10: MemoryOpKind.PTOP, 11: MemoryOpKind.HTOD, 12: MemoryOpKind.DTOH, 13: MemoryOpKind.DTOD,
}  # fmt: skip
_MEMORY_KINDS = (
    "pageable", "pinned", "device", "array", "managed", "device_static", "managed_static",
)  # fmt: skip
_SYNC_KINDS = ("other", "event", "stream_wait_event", "stream", "device")
_SYNC_NAMES = ("Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync")
_RUN = ("start", "end", "deviceId", "streamId", "correlationId")
_GRID = ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ")
_NAMES = ("demangledName", "shortName", "mangledName")


def _integers(*names: str) -> dict[str, Kind]:
    return dict.fromkeys(names, Kind.INTEGER)


class NsysEvents:
    """Gives the rows of one process to an ``EventWriter``. Counts ``read`` and ``kept`` rows."""

    def __init__(
        self,
        source: Tables,
        writer: EventWriter,
        drops: DropCounter,
        strings: Strings,
        process: int,
        *,
        takes_orphans: bool,
    ) -> None:
        self.read = 0
        self.kept = 0
        self.first_ns: int | None = None
        self.last_ns: int | None = None
        self.pytorch = False
        self._source = source
        self._writer = writer
        self._drops = drops
        self._strings = strings
        self._process = process
        self._orphans = takes_orphans

    def run(self, stop_ns: int | None, progress: Callable[[float], None]) -> None:
        """Read all tables. Ranges that never ended end at ``stop_ns`` or with the last event."""
        steps = (
            self._kernels, self._graphs, self._copies, self._sets, self._calls, self._syncs,
        )  # fmt: skip
        for number, step in enumerate(steps):
            progress(number / (len(steps) + 1))
            step()
        progress(len(steps) / (len(steps) + 1))
        self._ranges(max(stop_ns or 0, self.last_ns or 0))

    def _kernels(self) -> None:
        kinds = _integers(*_RUN, *_NAMES, *_GRID, "registersPerThread", "staticSharedMemory",
                          "dynamicSharedMemory", "graphNodeId")  # fmt: skip
        for rows, times in self._batches(t.KERNELS, kinds):
            shared = [rows.get(n) for n in ("staticSharedMemory", "dynamicSharedMemory")]
            sizes = {
                f"{name[:-1]}_{name[-1].lower()}": self._small(rows[name])
                for name in _GRID
                if name in rows
            }
            self._give(
                events.KERNELS,
                {
                    **_run(rows),
                    **times,
                    **sizes,
                    "name": self._strings.ids(
                        _first_of([rows.get(n) for n in _NAMES]), len(times["start_ns"])
                    ),
                    "registers": self._small(rows.get("registersPerThread")),
                    "shared_bytes": _sum(shared),
                    "graph_node": rows.get("graphNodeId"),
                },
            )

    def _graphs(self) -> None:
        for rows, times in self._batches(t.GRAPHS, _integers(*_RUN, "graphId")):
            graphs = _values(rows.get("graphId"), len(times["start_ns"]))
            unique, places = np.unique(graphs, return_inverse=True)
            names = self._texts([f"CUDA graph {graph}" for graph in unique.tolist()])
            self._give(events.KERNELS, {**_run(rows), **times, "name": names[places]})

    def _copies(self) -> None:
        kinds = _integers(*_RUN, "bytes", "copyKind", "srcKind", "dstKind")
        for rows, times in self._batches(t.COPIES, kinds):
            count = len(times["start_ns"])
            shapes = np.stack(
                [_values(rows.get(n), count, -1) for n in ("copyKind", "srcKind", "dstKind")], 1
            )
            unique, places = np.unique(shapes, axis=0, return_inverse=True)
            places = places.reshape(-1)
            copied = [_COPY_KINDS.get(k, MemoryOpKind.OTHER) for k in unique[:, 0].tolist()]
            sources, targets = ([_memory_kind(k) for k in unique[:, c].tolist()] for c in (1, 2))
            names = [
                f"Memcpy {kind} ({_title(source)} -> {_title(target)})"
                for kind, source, target in zip(copied, sources, targets, strict=True)
            ]
            self._give(
                events.MEMORY_OPS,
                {
                    **_run(rows),
                    **times,
                    "name": self._texts(names)[places],
                    "kind": self._texts([str(kind) for kind in copied])[places],
                    "src_kind": pa.array(sources, pa.string()).take(pa.array(places)),
                    "dst_kind": pa.array(targets, pa.string()).take(pa.array(places)),
                    "bytes": rows.get("bytes"),
                },
            )

    def _sets(self) -> None:
        for rows, times in self._batches(t.SETS, _integers(*_RUN, "bytes", "memKind")):
            count = len(times["start_ns"])
            unique, places = np.unique(_values(rows.get("memKind"), count, -1), return_inverse=True)
            targets = [_memory_kind(kind) for kind in unique.tolist()]
            self._give(
                events.MEMORY_OPS,
                {
                    **_run(rows),
                    **times,
                    "name": self._texts([f"Memset ({_title(one)})" for one in targets])[places],
                    "kind": np.full(count, self._texts([str(MemoryOpKind.MEMSET)])[0], np.int32),
                    "dst_kind": pa.array(targets, pa.string()).take(pa.array(places)),
                    "bytes": rows.get("bytes"),
                },
            )

    def _calls(self) -> None:
        kinds = _integers("start", "end", "globalTid", "correlationId", "nameId")
        for rows, times in self._batches(t.CALLS, kinds):
            recorded, places = self._strings.distinct(rows.get("nameId"), len(times["start_ns"]))
            names = [_VERSION.sub("", name) for name in recorded]
            apis = ["driver" if _DRIVER.match(name) else "runtime" for name in names]
            self._give(
                events.API_CALLS,
                {
                    **times,
                    "thread": _threads(rows),
                    "name": self._texts(names)[places],
                    "api": self._texts(apis)[places],
                    "correlation": rows.get("correlationId"),
                },
            )

    def _syncs(self) -> None:
        for rows, times in self._batches(t.SYNCS, _integers(*_RUN, "syncType")):
            count = len(times["start_ns"])
            types = _values(rows.get("syncType"), count)
            types = np.where((types < 0) | (types >= len(_SYNC_KINDS)), 0, types)
            stream = _values(rows.get("streamId"), count, -1)
            self._give(
                events.SYNCS,
                {
                    **times,
                    "side": np.full(count, self._texts(["device"])[0], np.int32),
                    "kind": self._texts(list(_SYNC_KINDS))[types],
                    "name": self._texts(list(_SYNC_NAMES))[types],
                    "device": self._small(rows.get("deviceId")),
                    # All streams are meant where the number is that of none.
                    "stream": pa.array(stream, mask=(stream < 0) | (stream >= 0xFFFF_FFFF)),
                    "correlation": rows.get("correlationId"),
                },
            )

    def _ranges(self, stop_ns: int) -> None:
        domains = self._domains()
        kinds = {
            **_integers("start", "end", "eventType", "globalTid", "textId", "domainId"),
            "text": Kind.TEXT,
        }
        for rows, count in self._read(t.NVTX, kinds):
            types = _values(rows.get("eventType"), count)
            used = np.isin(types, RANGES)
            self._drops.add(DropReason.NOT_USED, count - int(used.sum()), "NVTX marks and names")
            rows = _filtered(rows, used)
            rows, times = self._timed(t.NVTX, rows, int(used.sum()), open_end_ns=stop_ns)
            if len(times["start_ns"]):
                self._range_batch(rows, times, domains)

    def _range_batch(self, rows: Columns, times: Columns, domains: Mapping[int, str]) -> None:
        count = len(times["start_ns"])
        texts, places = self._strings.texts_or_ids(rows.get("text"), rows.get("textId"), count)
        of_domain = _values(rows.get("domainId"), count)
        pairs, places = np.unique(np.stack([of_domain, places], 1), axis=0, return_inverse=True)
        places = places.reshape(-1)
        names = [
            f"{domains[domain]}:{texts[text]}" if domain in domains else texts[text]
            for domain, text in pairs.tolist()
        ]
        found = [operator(name) for name in names]
        is_operator = np.array([one is not None for one in found], np.bool_)[places]
        threads = _threads(rows)
        self._give(
            events.ANNOTATIONS,
            _filtered(
                {**times, "thread": threads, "name": self._texts(names)[places]}, ~is_operator
            ),
        )
        if not is_operator.any():
            return
        self.pytorch |= any(one is not None and one.name.startswith("aten::") for one in found)
        columns = {
            "name": [one.name if one else "" for one in found],
            "category": [one.category if one else "" for one in found],
            "shapes": [one.shapes if one else None for one in found],
            "module": [one.module if one else None for one in found],
        }
        picked = pa.array(places[is_operator])
        self._give(
            events.OPERATORS,
            {
                **_filtered({**times, "thread": threads}, is_operator),
                **{n: pa.array(v, pa.string()).take(picked) for n, v in columns.items()},
            },
        )

    def _domains(self) -> dict[int, str]:
        """Names of the NVTX domains of the process; its default domain has none."""
        names: dict[int, str] = {}
        kinds = {**_integers("domainId", "textId"), "text": Kind.TEXT}
        wanted = Wanted(t.NVTX, kinds, self._process, ("eventType", DOMAIN))
        for rows, count in self._source.read(wanted):
            texts, places = self._strings.texts_or_ids(rows.get("text"), rows.get("textId"), count)
            numbers = _values(rows.get("domainId"), count).tolist()
            names.update({n: texts[p] for n, p in zip(numbers, places.tolist(), strict=True)})
        return {number: name for number, name in names.items() if number != 0}

    def _batches(self, table: str, kinds: Mapping[str, Kind]) -> Any:
        for rows, count in self._read(table, kinds):
            kept, times = self._timed(table, rows, count)
            if len(times["start_ns"]):
                yield kept, times

    def _read(self, table: str, kinds: Mapping[str, Kind]) -> Any:
        wanted = Wanted(table, kinds, self._process, absent_process=self._orphans)
        for rows, count in self._source.read(wanted):
            self.read += count
            yield rows, count

    def _timed(
        self, table: str, rows: Columns, count: int, open_end_ns: int | None = None
    ) -> tuple[Columns, Columns]:
        """Return the rows with usable times, and those times."""
        start, no_start = _with_absent(rows.get("start"), count)
        end, no_end = _with_absent(rows.get("end"), count)
        if open_end_ns is not None:
            unfinished = no_end & ~no_start
            self._drops.add(DropReason.UNFINISHED, int(unfinished.sum()), table)
            end = np.where(unfinished, np.maximum(start, open_end_ns), end)
            no_end &= no_start
        bad = no_start | no_end | (start < 0) | (start > LIMIT_NS) | (end < 0) | (end > LIMIT_NS)
        negative = ~bad & (end < start)
        self._drops.add(DropReason.BAD_TIME, int(bad.sum()), table)
        self._drops.add(DropReason.NEGATIVE_DURATION, int(negative.sum()), table)
        good = ~bad & ~negative
        start, end = start[good], end[good]
        if len(start):
            first, last = int(start.min()), int(end.max())
            self.first_ns = first if self.first_ns is None else min(self.first_ns, first)
            self.last_ns = last if self.last_ns is None else max(self.last_ns, last)
        return _filtered(rows, good), {"start_ns": start, "dur_ns": end - start}

    def _give(self, table: Table, columns: Columns) -> None:
        rows = len(columns["start_ns"])
        self._writer.add(table, {n: v for n, v in columns.items() if v is not None}, rows)
        self.kept += rows

    def _texts(self, texts: list[str]) -> NDArray[np.int32]:
        return self._writer.strings.ids(texts, len(texts))

    def _small(self, values: Any) -> Any:
        """Values of 32 bits; larger ones become null and are counted."""
        return None if values is None else small(values, self._drops)


def small(values: Any, drops: DropCounter) -> Any:
    """Return an ``int64`` array as ``int32``; what does not fit becomes null and is counted."""
    fits = pc.and_(pc.greater_equal(values, -(1 << 31)), pc.less(values, 1 << 31))
    drops.add(DropReason.BAD_FIELD, pc.sum(pc.invert(fits)).as_py() or 0)
    return pc.if_else(fits, values, pa.scalar(None, pa.int64())).cast(pa.int32())


def _run(rows: Columns) -> Columns:
    count = len(next(iter(rows.values())))
    device = _values(rows.get("deviceId"), count)
    usable = (device >= 0) & (device < 1 << 31)
    return {
        "device": np.where(usable, device, 0).astype(np.int32),
        "stream": _values(rows.get("streamId"), count),
        "correlation": rows.get("correlationId"),
    }


def _threads(rows: Columns) -> Int64:
    count = len(next(iter(rows.values())))
    return _values(rows.get("globalTid"), count) & _THREAD_MASK


def _values(array: Any, count: int, absent: int = 0) -> Int64:
    """Return an ``int64`` array, null and an absent column as ``absent``."""
    if array is None:
        return np.full(count, absent, np.int64)
    filled = pc.fill_null(array.cast(pa.int64()), absent)
    return np.asarray(filled.to_numpy(zero_copy_only=False), np.int64)


def _with_absent(array: Any, count: int) -> tuple[Int64, NDArray[np.bool_]]:
    if array is None:
        return np.zeros(count, np.int64), np.ones(count, np.bool_)
    return _values(array, count), np.asarray(array.is_null().to_numpy(zero_copy_only=False), bool)


def _filtered(rows: Columns, keep: NDArray[np.bool_]) -> Columns:
    if keep.all():
        return rows
    mask = pa.array(keep)
    return {n: v[keep] if isinstance(v, np.ndarray) else v.filter(mask) for n, v in rows.items()}


def _first_of(arrays: list[Any]) -> Any:
    present = [array for array in arrays if array is not None]
    return pc.coalesce(*present) if present else None


def _sum(arrays: list[Any]) -> Any:
    present = [array.cast(pa.int64()) for array in arrays if array is not None]
    return present[0] if len(present) == 1 else pc.add(*present) if present else None


def _memory_kind(kind: int) -> str | None:
    return _MEMORY_KINDS[kind] if 0 <= kind < len(_MEMORY_KINDS) else None


def _title(kind: str | None) -> str:
    return (kind or "unknown").replace("_", " ").title()
