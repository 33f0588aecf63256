"""Rows on their way to the event tables: gathered in memory, moved to scratch files when many."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tracemill_analysis.events.strings import StringPool

SEQUENCE = "seq"
"""Staged column: position of the row in the order in which rows came; breaks ties in sorting."""

SCRATCH_ROW_GROUP = 16_384
"""Rows of a row group in scratch files: what is read at least to find a range of time."""

BUCKET = "bucket"
"""Staged column of tables that are joined: a number below ``BUCKETS`` made from the id that joins.

Scratch files are sorted by it, so that the rows of some buckets are read without the others: the
cost of a join in parts grows with the rows, not with rows times parts.
"""

BUCKETS = 4096
_BUCKET_BITS = 12
_BUCKET_ROW_GROUP = 4096
_SPREAD = np.uint64(0x9E3779B97F4A7C15)

_SAMPLE_EVERY = 64


class Stage:
    """Staged rows of one table: numbers, and texts as ids of a ``StringPool``.

    ``columns`` gives each column's Arrow type; a column of type ``string`` is staged as an id of
    type ``int32``. Columns that a batch lacks become null (id -1).
    """

    def __init__(
        self,
        name: str,
        columns: Mapping[str, Any],
        strings: StringPool,
        folder: Path,
        *,
        joined: bool = False,
    ) -> None:
        self.name = name
        self._joined = joined
        self.rows = 0
        self._columns = dict(columns)
        self._strings = strings
        self._folder = folder
        self._schema = pa.schema(
            [
                (column, pa.int32() if pa.types.is_string(kind) else kind)
                for column, kind in self._columns.items()
            ]
            + [(SEQUENCE, pa.int64())]
            + ([(BUCKET, pa.int32())] if joined else [])
        )
        self._held: list[Any] = []
        self._sampled_starts: list[NDArray[np.int64]] = []
        self._files: list[Path] = []
        self.held_bytes = 0

    def add(self, data: Mapping[str, Any], rows: int) -> None:
        """Append ``rows`` rows. Values are numpy or Arrow arrays of that length.

        A text column may come as strings or as an ``int32`` numpy array of ids of the pool.
        """
        if not rows:
            return
        unknown = set(data) - set(self._columns)
        if unknown:
            raise ValueError(f"table {self.name}: no column {', '.join(sorted(unknown))}")
        arrays = [self._array(column, data.get(column), rows) for column in self._columns]
        arrays.append(pa.array(np.arange(self.rows, self.rows + rows, dtype=np.int64)))
        if self._joined:
            arrays.append(_buckets(dict(zip(self._schema.names, arrays, strict=False))))
        batch = pa.Table.from_arrays(arrays, schema=self._schema)
        self._held.append(batch)
        self._sampled_starts.append(batch.column("start_ns").to_numpy()[::_SAMPLE_EVERY])
        self.held_bytes += batch.nbytes
        self.rows += rows

    def spill(self) -> None:
        """Move the rows held in memory to a scratch file."""
        if not self._held:
            return
        path = self._folder / f"{self.name}-{len(self._files):06d}.parquet"
        rows = self._all_held()
        if self._joined:
            buckets = rows.column(BUCKET).to_numpy().astype(np.uint16)
            rows = rows.take(pa.array(np.argsort(buckets, kind="stable")))
        pq.write_table(
            rows,
            path,
            compression="lz4",
            use_dictionary=False,
            row_group_size=_BUCKET_ROW_GROUP if self._joined else SCRATCH_ROW_GROUP,
        )
        self._files.append(path)
        self._held.clear()
        self.held_bytes = 0

    def quantiles(self, rows: int) -> NDArray[np.int64]:
        """Return times that divide the rows into ranges of about ``rows`` rows; none if few."""
        ranges = -(-self.rows // rows)
        if ranges <= 1:
            return np.empty(0, np.int64)
        starts = np.sort(np.concatenate(self._sampled_starts))
        places = (np.arange(1, ranges) * len(starts)) // ranges
        return np.unique(starts[places])

    def register(self, connection: Any) -> None:
        """Make the rows readable in DuckDB as a view called like the stage."""
        parts = []
        if self._held or not self._files:
            connection.register(f"held_{self.name}", self._all_held())
            parts.append(f"SELECT * FROM held_{self.name}")
        if self._files:
            pattern = str(self._folder / f"{self.name}-*.parquet").replace("'", "''")
            parts.append(f"SELECT * FROM read_parquet('{pattern}')")
        connection.execute(f"CREATE TEMP VIEW {self.name} AS {' UNION ALL '.join(parts)}")

    def _all_held(self) -> Any:
        if not self._held:
            return self._schema.empty_table()
        return pa.concat_tables(self._held).combine_chunks()

    def _array(self, column: str, values: Any, rows: int) -> Any:
        kind = self._schema.field(column).type
        is_text = pa.types.is_string(self._columns[column])
        if values is None:
            return pa.array(np.full(rows, -1, np.int32)) if is_text else pa.nulls(rows, kind)
        if is_text:
            if not isinstance(values, np.ndarray):
                values = self._strings.ids_of_array(values)
            return pa.array(values, pa.int32())
        if isinstance(values, np.ndarray):
            return pa.array(values, kind)
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        return values.cast(kind)


def _buckets(columns: Mapping[str, Any]) -> Any:
    """Bucket of each row from its correlation id, or from its start where it has none."""
    ids = pc.coalesce(columns["correlation"], columns["start_ns"]).to_numpy(zero_copy_only=False)
    spread = ids.astype(np.int64).view(np.uint64) * _SPREAD
    return pa.array((spread >> np.uint64(64 - _BUCKET_BITS)).astype(np.int32))
