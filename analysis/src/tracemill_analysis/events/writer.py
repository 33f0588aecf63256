"""Writes the event tables of one process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tracemill_schema.columns import Table
from tracemill_schema.tables.events import (
    ANNOTATIONS,
    API_CALLS,
    COLLECTIVES,
    KERNELS,
    OPERATORS,
    SYNCS,
)
from tracemill_schema.vocab import DropReason

from tracemill_analysis.events import build
from tracemill_analysis.events.given import (
    EVENT_TABLES,
    GPU_ANNOTATION_COLUMNS,
    GPU_ANNOTATIONS,
    JOINED_TABLES,
    given_columns,
)
from tracemill_analysis.events.link import Linker
from tracemill_analysis.events.names import host_sync_kind
from tracemill_analysis.events.series import STEP_SERIES, fold
from tracemill_analysis.events.slices import SliceWriter
from tracemill_analysis.events.staging import Stage
from tracemill_analysis.events.steps import StepCollector
from tracemill_analysis.events.strings import StringPool
from tracemill_analysis.importers.base import DropCounter, WorkItem
from tracemill_analysis.store import Store, scratch_folder

_STAGED_BYTES = 24 << 20
"""Staged rows held in memory before they move to scratch files."""

_STRING_BYTES = 24 << 20
"""Distinct texts held in memory, with their overhead."""

_LINK_MEMORY_BYTES = 112 << 20
_LINK_THREADS = 1


@dataclass
class EventSummary:
    """What was written. Times are those of the tables (offset included)."""

    rows: dict[str, int] = field(default_factory=dict)
    start_ns: int | None = None
    end_ns: int | None = None
    devices: set[int] = field(default_factory=set)
    duplicates: int = 0
    """Rows left out because they are exact copies."""

    def cover(self, starts_ns: NDArray[np.int64], durations_ns: NDArray[np.int64]) -> None:
        """Widen ``start_ns`` and ``end_ns`` to include ranges."""
        if not len(starts_ns):
            return
        start, end = int(starts_ns.min()), int((starts_ns + durations_ns).max())
        self.start_ns = start if self.start_ns is None else min(self.start_ns, start)
        self.end_ns = end if self.end_ns is None else max(self.end_ns, end)


def write_events(
    store: Store,
    job: str,
    item: WorkItem,
    frames: Mapping[Table, Any | Iterable[Any]],
    drops: DropCounter,
    offset_ns: int = 0,
) -> EventSummary:
    """Link, order and write the event tables of one process.

    ``frames`` maps KERNELS, MEMORY_OPS, API_CALLS, SYNCS, ANNOTATIONS, OPERATORS to a
    ``pyarrow.Table`` or an iterator of them, with the columns of ``given_columns(table)`` (nullable
    ones may be absent). Worked out here: process_id, rank, the launch of each GPU event (calls and
    GPU events share a correlation id), step, category, precision, series, index, depth, GPU times
    of annotations, host-side rows of SYNCS, and COLLECTIVES (from communication kernels).
    ``offset_ns`` is added to all times. Counts DUPLICATE, DUPLICATE_ID and UNLINKED in ``drops``.
    The objects are ``tables/<table>/job_name=<job>/p<process>.parquet``; a table without rows has
    none.
    """
    with scratch_folder() as folder, EventWriter(folder) as writer:
        for table, frame in frames.items():
            for data in [frame] if isinstance(frame, pa.Table) else frame:
                columns = {name: data.column(name) for name in data.column_names}
                writer.add(table, columns, data.num_rows)
        return writer.finish(store, job, item, drops, offset_ns)


class EventWriter:
    """Takes rows batch by batch, in any order, and writes the event tables at the end.

    Memory stays bounded: rows wait in ``folder`` once they are many. Context manager.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.strings = StringPool(folder, _STRING_BYTES)
        self._steps = StepCollector()
        columns = {table.name: given_columns(table) for table in EVENT_TABLES}
        columns[GPU_ANNOTATIONS] = GPU_ANNOTATION_COLUMNS
        joined = {table.name for table in JOINED_TABLES}
        self._stages = {
            name: Stage(name, given, self.strings, folder, joined=name in joined)
            for name, given in columns.items()
        }

    def __enter__(self) -> EventWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.strings.close()

    def add(self, table: Table, columns: dict[str, Any], rows: int) -> None:
        """Take ``rows`` rows of ``table``; columns as in ``write_events`` and ``Stage.add``."""
        if not rows:
            return
        if table in (ANNOTATIONS, API_CALLS):
            columns = {**columns, "name": self._name_ids(columns["name"])}
            look = self._note_steps if table is ANNOTATIONS else self._note_syncs
            look(columns)
        self._stages[table.name].add(columns, rows)
        self._spill_if_full()

    def add_gpu_annotations(self, columns: dict[str, Any], rows: int) -> None:
        """Take GPU times of annotations: ``external_id``, ``start_ns``, ``dur_ns``."""
        self._stages[GPU_ANNOTATIONS].add(columns, rows)

    def finish(
        self, store: Store, job: str, item: WorkItem, drops: DropCounter, offset_ns: int = 0
    ) -> EventSummary:
        """Link and write everything; see ``write_events``."""
        summary = EventSummary()
        context = build.Context(self.strings, self._steps.index(), offset_ns)
        with Linker(self._folder, _LINK_MEMORY_BYTES, _LINK_THREADS) as linker:
            linker.load(self._stages)
            summary.duplicates = self._count(linker, drops)
            with SliceWriter(store, COLLECTIVES, job, item) as collectives:
                for table in EVENT_TABLES:
                    if not self._stages[table.name].rows:
                        continue
                    with SliceWriter(store, table, job, item) as slices:
                        nested = table in (ANNOTATIONS, OPERATORS)
                        for batch in linker.ordered(table.name, longest_first=nested):
                            rows = build.Rows(batch)
                            columns = build.BUILDERS[table.name](rows, context, linker)
                            slices.add(columns, rows.count)
                            _note(summary, table, columns)
                            if table is KERNELS:
                                collectives.add(*build.collectives(rows, columns, context))
                    summary.rows[table.name] = slices.rows
            summary.rows[COLLECTIVES.name] = collectives.rows
        return summary

    def _count(self, linker: Linker, drops: DropCounter) -> int:
        kept = {name: linker.count(name) for name in ("api_calls", "kernels", "memory_ops")}
        for name, rows in kept.items():
            drops.add(DropReason.DUPLICATE, self._stages[name].rows - rows, f"in {name}")
        for name in ("kernels", "memory_ops"):
            drops.add(DropReason.UNLINKED, linker.count(name, "calls IS NULL"), f"in {name}")
            drops.add(DropReason.DUPLICATE_ID, linker.count(name, "calls > 1"), f"in {name}")
        return sum(self._stages[name].rows - rows for name, rows in kept.items())

    def _name_ids(self, names: Any) -> NDArray[np.int32]:
        return names if isinstance(names, np.ndarray) else self.strings.ids_of_array(names)

    def _note_steps(self, columns: dict[str, Any]) -> None:
        names, places = self.strings.texts(columns["name"])
        folded = [fold(name or "") for name in names]
        for series in STEP_SERIES:
            index = np.array([n if s == series and n is not None else -1 for s, n in folded])
            rows = np.flatnonzero(index[places] >= 0)
            if len(rows):
                starts, durations = (
                    np.asarray(columns[c], np.int64)[rows] for c in ("start_ns", "dur_ns")
                )
                self._steps.add(series, starts, durations, index[places][rows])

    def _note_syncs(self, columns: dict[str, Any]) -> None:
        names, places = self.strings.texts(columns["name"])
        kinds = [host_sync_kind(name or "") for name in names]
        waits = np.array([kind is not None for kind in kinds])[places]
        rows = np.flatnonzero(waits)
        if not len(rows):
            return
        kind_ids = np.array([self.strings.id_of(kind or "") for kind in kinds], np.int32)
        picked = {
            name: _take(columns[name], rows)
            for name in ("name", "thread", "start_ns", "dur_ns", "correlation")
            if columns.get(name) is not None
        }
        picked["kind"] = kind_ids[places][rows]
        picked["side"] = np.full(len(rows), self.strings.id_of("host"), np.int32)
        self._stages[SYNCS.name].add(picked, len(rows))

    def _spill_if_full(self) -> None:
        if sum(stage.held_bytes for stage in self._stages.values()) > _STAGED_BYTES:
            for stage in self._stages.values():
                stage.spill()


def _take(values: Any, rows: NDArray[np.int64]) -> Any:
    return values[rows] if isinstance(values, np.ndarray) else values.take(pa.array(rows))


def _note(summary: EventSummary, table: Table, columns: dict[str, Any]) -> None:
    summary.cover(columns["start_ns"], columns["dur_ns"])
    if table.name in ("kernels", "memory_ops"):
        summary.devices.update(columns["device"].unique().to_pylist())
