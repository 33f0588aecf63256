"""Events of planes to rows of the event tables."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tracemill_schema.columns import Table
from tracemill_schema.tables.events import (
    ANNOTATIONS,
    API_CALLS,
    KERNELS,
    MEMORY_OPS,
    OPERATORS,
)
from tracemill_schema.vocab import DropReason

from tracemill_analysis.events import EventWriter
from tracemill_analysis.importers.base import DropCounter
from tracemill_analysis.importers.numbers import integers
from tracemill_analysis.importers.xplane.labels import (
    KernelDetails,
    api_call,
    copy_details,
    kernel_details,
    operator_category,
    stream_of,
)
from tracemill_analysis.importers.xplane.space import Line, Name, Plane, Space
from tracemill_analysis.importers.xplane.stats import EventStats
from tracemill_analysis.importers.xplane.wire import BYTES, decode_many

Int64 = NDArray[np.int64]
Bools = NDArray[np.bool_]

DEVICE = re.compile(r"/device:(GPU|TPU):(\d{1,9})")
HOST = re.compile(r"/host:(?!metadata)")

LIMIT_NS = 1 << 61
_UNKNOWN = "(unknown name)"
_NO_DETAILS = KernelDetails()
_DEVICE_OPS = "XLA Ops"


class XplaneEvents:
    """Gives events to an ``EventWriter``. Counts ``read`` and ``kept`` events."""

    def __init__(self, space: Space, writer: EventWriter, drops: DropCounter) -> None:
        self.read = 0
        self.kept = 0
        self.damaged = 0
        self.first_ns: int | None = None
        self.tensorflow = False
        self._space = space
        self._writer = writer
        self._drops = drops

    def add(self, plane: Plane) -> None:
        """Take a plane's events; those of planes of no device or host are counted as not used."""
        device = DEVICE.fullmatch(plane.name)
        for start, end in plane.lines:
            line = self._space.line(start, end)
            for starts, ends in self._space.events(line):
                self.read += len(starts)
                batch = _Batch(self, plane, line, starts, ends)
                if device is not None:
                    self._device_events(batch, device[1], int(device[2]))
                elif HOST.match(plane.name):
                    self._host_events(batch)
                else:
                    self._not_used(len(starts), f"plane {plane.name[:40]!r}")

    def _device_events(self, batch: _Batch, kind: str, device: int) -> None:
        stream = stream_of(batch.line.name)
        if kind == "TPU":
            stream = batch.line.id if batch.line.name == _DEVICE_OPS else None
        if stream is None:
            self._not_used(batch.rows, f"lines derived from others: {batch.line.name[:40]!r}")
            return
        timed = batch.timed()
        if not timed.rows:
            return
        names, places = timed.names(display=kind == "TPU")
        details, detail_places = timed.stats.texts("kernel_details")
        copies, copy_places = timed.stats.texts("memcpy_details")
        sets, set_places = timed.stats.texts("memset_details")
        place = {
            "device": np.full(timed.rows, device, np.int64),
            "stream": np.full(timed.rows, stream, np.int64),
            "correlation": timed.correlation(),
            "start_ns": timed.start_ns,
            "dur_ns": timed.dur_ns,
        }
        texts = [
            copies[c] if c >= 0 else sets[s] if s >= 0 else ""
            for c, s in zip(copy_places.tolist(), set_places.tolist(), strict=True)
        ]
        moved = [
            copy_details(names[name], text) if kind == "GPU" else None
            for name, text in zip(places.tolist(), texts, strict=True)
        ]
        is_copy = np.array([one is not None for one in moved], np.bool_)
        found = [one for one in moved if one is not None]
        name_ids = self._texts(names)[places]
        self._give(
            MEMORY_OPS,
            {
                **_picked(place, is_copy),
                "name": name_ids[is_copy],
                "kind": self._texts([str(one.kind) for one in found]),
                "src_kind": pa.array([one.source for one in found], pa.string()),
                "dst_kind": pa.array([one.target for one in found], pa.string()),
                "bytes": pa.array([one.size for one in found], pa.int64()),
            },
        )
        shapes = [kernel_details(text) for text in details]
        chosen = [shapes[d] if d >= 0 else _NO_DETAILS for d in detail_places[~is_copy].tolist()]
        self._give(
            KERNELS,
            {**_picked(place, ~is_copy), "name": name_ids[~is_copy], **self._shape(chosen)},
        )

    def _shape(self, details: list[KernelDetails]) -> dict[str, Any]:
        columns: dict[str, Any] = {
            f"{name}_{axis}": self._small([None if s is None else s[n] for s in sizes])
            for name, sizes in (
                ("grid", [one.grid for one in details]),
                ("block", [one.block for one in details]),
            )
            for n, axis in enumerate("xyz")
        }
        columns["registers"] = self._small([one.registers for one in details])
        columns["shared_bytes"] = pa.array([one.shared_bytes for one in details], pa.int64())
        return columns

    def _small(self, values: list[int | None]) -> Any:
        return integers(
            [v if v is None or v < 1 << 31 else "too large" for v in values],
            self._drops,
            pa.int32(),
        )

    def _host_events(self, batch: _Batch) -> None:
        timed = batch.timed()
        if not timed.rows:
            return
        names, places = timed.names(display=False)
        thread = np.full(timed.rows, batch.line.id, np.int64)
        times = {"thread": thread, "start_ns": timed.start_ns, "dur_ns": timed.dur_ns}
        correlation, is_call = timed.stats.integers("correlation_id")
        numbers, is_step = timed.stats.integers("step_num")
        is_step &= ~is_call
        instant = ~is_call & ~is_step & (timed.dur_ns == 0)
        self._not_used(int(instant.sum()), "instants on the host")
        calls = [api_call(name) for name in names]
        self._give(
            API_CALLS,
            _picked(
                {
                    **times,
                    "name": self._texts([name for name, _ in calls])[places],
                    "api": self._texts([api for _, api in calls])[places],
                    "correlation": correlation,
                },
                is_call,
            ),
        )
        steps = [f"step_{number}" for number in numbers[is_step].tolist()]
        self._give(ANNOTATIONS, {**_picked(times, is_step), "name": self._texts(steps)})
        rest = ~is_call & ~is_step & ~instant
        categories = [operator_category(name) for name in names]
        self.tensorflow |= "tf_op" in categories
        shapes, shape_places = timed.stats.texts("shape")
        shape_texts = pa.array(shapes, pa.string()).take(
            pa.array(shape_places[rest], mask=shape_places[rest] < 0)
        )
        columns = {**times, "name": self._texts(names)[places]}
        columns["category"] = self._texts(categories)[places]
        self._give(OPERATORS, {**_picked(columns, rest), "shapes": shape_texts})

    def _give(self, table: Table, columns: dict[str, Any]) -> None:
        rows = len(columns["start_ns"])
        self._writer.add(table, columns, rows)
        self.kept += rows

    def _not_used(self, events: int, what: str) -> None:
        self._drops.add(DropReason.NOT_USED, events, what)

    def _texts(self, texts: list[str]) -> NDArray[np.int32]:
        return self._writer.strings.ids(texts, len(texts))


class _Batch:
    """Some events of a line."""

    def __init__(
        self, taker: XplaneEvents, plane: Plane, line: Line, starts: Int64, ends: Int64
    ) -> None:
        self.line = line
        self.rows = len(starts)
        self._taker = taker
        self._plane = plane
        self._starts, self._ends = starts, ends

    def timed(self) -> _Timed:
        """Decode the events; those that are damaged or have no usable time are counted."""
        taker = self._taker
        fields = decode_many(taker._space.bytes, self._starts, self._ends)
        kinds, _ = fields.last(1)
        offsets, _ = fields.last(2)
        durations, _ = fields.last(3)
        _, repeated = fields.last(5)
        repeated &= ~fields.bad & (offsets == 0)
        usable = ~fields.bad & ~repeated
        start, end, in_range = _times(self.line.timestamp_ns, offsets, durations)
        negative = usable & in_range & (end < start)
        bad_time = usable & ~in_range
        drops = taker._drops
        place = f"line {self.line.name[:40]!r}"
        taker.damaged += int(fields.bad.sum())
        drops.add(DropReason.DAMAGED, int(fields.bad.sum()), place)
        drops.add(DropReason.NOT_USED, int(repeated.sum()), "events summed up by the recorder")
        drops.add(DropReason.BAD_TIME, int(bad_time.sum()), place)
        drops.add(DropReason.NEGATIVE_DURATION, int(negative.sum()), place)
        good = usable & in_range & ~negative
        if good.any():
            first = int(start[good].min())
            taker.first_ns = first if taker.first_ns is None else min(taker.first_ns, first)
        number = np.cumsum(good) - 1
        rows = fields.where(4, BYTES)
        rows = rows[good[fields.owner[rows]]]
        begin = fields.value[rows].view(np.int64)
        stats = EventStats(
            taker._space, self._plane, begin, begin + fields.length[rows],
            number[fields.owner[rows]], int(good.sum()),
        )  # fmt: skip
        drops.add(DropReason.BAD_FIELD, stats.bad, place)
        return _Timed(self._plane, kinds[good], start[good], (end - start)[good], stats, drops)


class _Timed:
    """Events with usable times."""

    def __init__(
        self, plane: Plane, kinds: Int64, start_ns: Int64, dur_ns: Int64, stats: EventStats,
        drops: DropCounter,
    ) -> None:  # fmt: skip
        self.rows = len(kinds)
        self.start_ns = start_ns
        self.dur_ns = dur_ns
        self.stats = stats
        self._plane = plane
        self._kinds = kinds
        self._drops = drops

    def names(self, *, display: bool) -> tuple[list[str], Int64]:
        """Return the distinct names and each event's place among them."""
        unique, places = np.unique(self._kinds, return_inverse=True)
        entries = [self._plane.event_names.get(kind, Name()) for kind in unique.tolist()]
        names = [(one.display if display else "") or one.name or one.display for one in entries]
        nameless = np.array([not name for name in names], np.bool_)[places]
        self._drops.add(DropReason.BAD_FIELD, int(nameless.sum()), "events without a name")
        return [name or _UNKNOWN for name in names], places

    def correlation(self) -> Any:
        """Return correlation ids as an Arrow array."""
        values, present = self.stats.integers("correlation_id")
        return pa.array(values, mask=~present)


def _times(base_ns: int, offset_ps: Int64, duration_ps: Int64) -> tuple[Int64, Int64, Bools]:
    """Return start and end in whole nanoseconds, both rounded down, and where they are usable."""
    usable = (np.abs(offset_ps) < 1 << 62) & (np.abs(duration_ps) < 1 << 62)
    usable &= abs(base_ns) < LIMIT_NS
    offset, duration = np.where(usable, offset_ps, 0), np.where(usable, duration_ps, 0)
    base = base_ns if abs(base_ns) < LIMIT_NS else 0
    start = base + offset // 1000
    end = base + (offset + duration) // 1000
    usable &= (start >= 0) & (start <= LIMIT_NS) & (end <= LIMIT_NS)
    return start, end, usable


def _picked(columns: dict[str, Any], rows: Bools) -> dict[str, Any]:
    return {
        name: values[rows] if isinstance(values, np.ndarray) else values.filter(pa.array(rows))
        for name, values in columns.items()
    }
