"""Writes ordered rows as time slices, each sorted by the table's own order."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from tracemill_schema import layout
from tracemill_schema.columns import Table

from tracemill_analysis.importers.base import WorkItem
from tracemill_analysis.parquet import ROW_GROUP_ROWS, TableWriter
from tracemill_analysis.store import Store


class SliceWriter:
    """Takes the rows of one table in order of time and cuts them into slices (row groups).

    Context manager. No object is made if there are no rows.
    """

    def __init__(self, store: Store, table: Table, job: str, item: WorkItem) -> None:
        self.rows = 0
        self._store = store
        self._table = table
        self._job = job
        self._item = item
        self._held: list[Any] = []
        self._held_rows = 0
        self._stack = ExitStack()
        self._writer: TableWriter | None = None

    def __enter__(self) -> SliceWriter:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None and self._held_rows:
            self._write(pa.concat_tables(self._held))
        self._stack.__exit__(kind, error, trace)

    def add(self, columns: dict[str, Any], rows: int) -> None:
        """Append rows; the columns ``process_id`` and ``rank`` are filled in."""
        if not rows:
            return
        rank = pa.scalar(self._item.rank, pa.int32())
        columns = {
            "process_id": pa.repeat(pa.scalar(self._item.process_id, pa.int32()), rows),
            "rank": pa.repeat(rank, rows),
            **columns,
        }
        self._held.append(pa.table({n: columns[n] for n in self._table.column_names}))
        self._held_rows += rows
        if self._held_rows >= ROW_GROUP_ROWS:
            gathered = pa.concat_tables(self._held)
            whole = self._held_rows - self._held_rows % ROW_GROUP_ROWS
            for first in range(0, whole, ROW_GROUP_ROWS):
                self._write(gathered.slice(first, ROW_GROUP_ROWS))
            self._held = [gathered.slice(whole)]
            self._held_rows -= whole

    def _write(self, data: Any) -> None:
        if self._writer is None:
            part = layout.process_part(self._item.process_id)
            writer = TableWriter(self._store, self._table, self._job, part)
            self._writer = self._stack.enter_context(writer)
        keys = pa.table({name: _plain(data.column(name)) for name in self._table.sort})
        order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in self._table.sort])
        # Texts stay references to a dictionary until here: a slice of kernel names is large.
        self._writer.write(data.unify_dictionaries().take(order))
        self.rows += data.num_rows
        pa.default_memory_pool().release_unused()


def _plain(values: Any) -> Any:
    if isinstance(values, (pa.Array, pa.ChunkedArray)) and pa.types.is_dictionary(values.type):
        return values.cast(pa.string())
    return values
