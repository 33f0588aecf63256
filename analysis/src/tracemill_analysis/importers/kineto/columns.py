"""Decoded events to columns of the event tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
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
    SYNCS,
)
from tracemill_schema.vocab import DropReason

from tracemill_analysis.events import EventWriter
from tracemill_analysis.events.strings import NULL_ID
from tracemill_analysis.importers.base import DropCounter
from tracemill_analysis.importers.kineto.batch import Batch, DecodedBatch
from tracemill_analysis.importers.kineto.categories import (
    KIND_BY_CATEGORY,
    EventKind,
    is_annotation_name,
)
from tracemill_analysis.importers.kineto.model import Complete
from tracemill_analysis.importers.kineto.native import PlainEvents
from tracemill_analysis.importers.kineto.plain_batch import PlainBatch
from tracemill_analysis.importers.kineto.times import parse_us

Int64 = NDArray[np.int64]


class EventSorter:
    """Sorts events into tables. Counts what it leaves out; ``kept`` counts what it passes on."""

    def __init__(self, writer: EventWriter, drops: DropCounter) -> None:
        self.kept = 0
        self.unknown = 0
        self.complete = 0
        self.pid: int | None = None
        self._writer = writer
        self._drops = drops

    def add(self, events: Sequence[Any] | PlainEvents) -> None:
        """Take decoded events, in file order."""
        if isinstance(events, PlainEvents):
            self._add_plain(events)
            return
        complete = [event for event in events if type(event) is Complete]
        self._drops.add(DropReason.NOT_USED, len(events) - len(complete))
        if not complete:
            return
        kinds = np.fromiter(
            map(KIND_BY_CATEGORY.__getitem__, map(attrgetter("cat"), complete)),
            np.int8,
            len(complete),
        )
        used = self._count_kinds(kinds)
        starts, durations, good = self._times(complete, used)
        self._hand_out(
            np.where(good, kinds, EventKind.NOT_USED),
            lambda rows: DecodedBatch(
                [complete[row] for row in rows.tolist()],
                starts[rows],
                durations[rows],
                self._writer.strings,
                self._drops,
            ),
        )

    def _add_plain(self, events: PlainEvents) -> None:
        self._drops.add(DropReason.NOT_USED, len(events) - events.rows)
        if events.rows:
            self._count_kinds(events.kinds)
            strings = self._writer.strings
            pool_ids = np.append(strings.ids(events.texts, len(events.texts)), np.int32(NULL_ID))
            self._hand_out(
                events.kinds, partial(PlainBatch, events, strings=strings, pool_ids=pool_ids)
            )

    def _count_kinds(self, kinds: NDArray[np.int8]) -> NDArray[np.bool_]:
        """Count the events that are not used; return which are."""
        self.complete += len(kinds)
        unused = kinds <= EventKind.UNKNOWN
        self.unknown += int((kinds == EventKind.UNKNOWN).sum())
        self._drops.add(DropReason.NOT_USED, int(unused.sum()))
        return ~unused

    def _hand_out(self, kinds: NDArray[np.int8], batch_of: Callable[[Int64], Batch]) -> None:
        for kind, handler in _HANDLERS.items():
            rows = np.flatnonzero(kinds == kind)
            if len(rows):
                handler(self, batch_of(rows))

    def _times(
        self, events: list[Any], used: NDArray[np.bool_]
    ) -> tuple[Int64, Int64, NDArray[np.bool_]]:
        starts, start_ok = parse_us([event.ts for event in events])
        durations, duration_ok = parse_us([event.dur for event in events])
        timed = start_ok & duration_ok
        bad = np.flatnonzero(used & ~timed)
        negative = used & timed & (durations < 0)
        if len(bad):
            self._drops.add(DropReason.BAD_TIME, len(bad), _place(events[int(bad[0])]))
        if negative.any():
            first = events[int(np.argmax(negative))]
            self._drops.add(DropReason.NEGATIVE_DURATION, int(negative.sum()), _place(first))
        return starts, durations, used & timed & ~negative

    def _keep(self, table: Table, batch: Batch, columns: dict[str, Any]) -> None:
        times = {"start_ns": batch.starts_ns, "dur_ns": batch.durations_ns}
        self._writer.add(table, {**times, **columns}, batch.rows)
        self.kept += batch.rows

    def kernels(self, batch: Batch) -> None:
        """Add kernel runs."""
        self._keep(
            KERNELS,
            batch,
            {
                **batch.gpu_place(),
                "name": batch.text_ids("name"),
                **batch.dimensions("grid"),
                **batch.dimensions("block"),
                "registers": batch.integers("registers", pa.int32()),
                "shared_bytes": batch.integers("shared_bytes"),
                "graph_node": batch.integers("graph_node"),
                **batch.collective(),
            },
        )

    def memory_ops(self, batch: Batch) -> None:
        """Add memory copies and sets."""
        kinds, sources, targets = batch.memory_kinds()
        self._keep(
            MEMORY_OPS,
            batch,
            {
                **batch.gpu_place(),
                "name": batch.text_ids("name"),
                "kind": kinds,
                "src_kind": sources,
                "dst_kind": targets,
                "bytes": batch.sizes(),
            },
        )

    def runtime_calls(self, batch: Batch) -> None:
        """Add calls into the runtime."""
        self._calls(batch, "runtime")

    def driver_calls(self, batch: Batch) -> None:
        """Add calls into the driver."""
        self._calls(batch, "driver")

    def _calls(self, batch: Batch, api: str) -> None:
        self._note_pid(batch)
        self._keep(
            API_CALLS,
            batch,
            {
                "thread": batch.threads(),
                "name": batch.text_ids("name"),
                "api": batch.constant(api),
                "correlation": batch.integers("correlation"),
            },
        )

    def syncs(self, batch: Batch) -> None:
        """Add synchronisations seen from the device."""
        self._keep(
            SYNCS,
            batch,
            {
                **batch.gpu_place(),
                "side": batch.constant("device"),
                "kind": batch.sync_kinds(),
                "name": batch.text_ids("name"),
            },
        )

    def annotations(self, batch: Batch) -> None:
        """Add user ranges."""
        self._note_pid(batch)
        self._keep(
            ANNOTATIONS,
            batch,
            {
                "thread": batch.threads(),
                "name": batch.text_ids("name"),
                "external_id": batch.integers("external_id"),
            },
        )

    def gpu_annotations(self, batch: Batch) -> None:
        """Take the GPU times of annotations; they are no rows of their own."""
        columns = {"start_ns": batch.starts_ns, "dur_ns": batch.durations_ns}
        columns["external_id"] = batch.integers("external_id")
        self._writer.add_gpu_annotations(columns, batch.rows)
        self._drops.add(DropReason.NOT_USED, batch.rows)

    def operators(self, batch: Batch) -> None:
        """Add framework operators and Python functions."""
        self._note_pid(batch)
        self._keep(
            OPERATORS,
            batch,
            {
                "thread": batch.threads(),
                "name": batch.text_ids("name"),
                "category": batch.text_ids("cat"),
                "module": batch.modules(),
                "shapes": batch.shapes(),
            },
        )

    def old_operators(self, batch: Batch) -> None:
        """Add operators of 2021, among which the profiler's own ranges stand."""
        is_range = batch.by_name(is_annotation_name) != 0
        for rows, handler in ((is_range, self.annotations), (~is_range, self.operators)):
            if rows.any():
                handler(batch.part(np.flatnonzero(rows)))

    def mtia(self, batch: Batch) -> None:
        """Add device events of MTIA: transfers, waits and records, kernels."""
        kinds = batch.by_name(lambda name: _MTIA_KINDS.get(name, 0))
        for kind, handler in enumerate((self.kernels, self.memory_ops, self.syncs)):
            rows = np.flatnonzero(kinds == kind)
            if len(rows):
                handler(batch.part(rows))

    def _note_pid(self, batch: Batch) -> None:
        if self.pid is None:
            self.pid = batch.first_pid()


_MTIA_KINDS = {"dma_request": 1, "event_wait": 2, "event_record": 2}
_HANDLERS: dict[EventKind, Callable[[EventSorter, Batch], None]] = {
    EventKind.KERNEL: EventSorter.kernels,
    EventKind.MEMORY: EventSorter.memory_ops,
    EventKind.RUNTIME: EventSorter.runtime_calls,
    EventKind.DRIVER: EventSorter.driver_calls,
    EventKind.SYNC: EventSorter.syncs,
    EventKind.ANNOTATION: EventSorter.annotations,
    EventKind.GPU_ANNOTATION: EventSorter.gpu_annotations,
    EventKind.OPERATOR: EventSorter.operators,
    EventKind.OLD_OPERATOR: EventSorter.old_operators,
    EventKind.MTIA: EventSorter.mtia,
}


def _place(event: Any) -> str:
    return f"event {str(event.name)[:80]!r} at ts {bytes(event.ts)[:40].decode('utf-8', 'replace')}"
