"""Joins GPU events with the host calls that launched them, in bounded memory.

Many rows are joined in parts, divided by correlation id, and read back in ranges of time: no step
has to hold or sort a whole table.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tracemill_analysis.events.given import GPU_ANNOTATIONS, JOINED_TABLES
from tracemill_analysis.events.match import Launches, may_have_copies
from tracemill_analysis.events.staging import BUCKET, BUCKETS, SCRATCH_ROW_GROUP, SEQUENCE, Stage

Int64 = NDArray[np.int64]

_PART_ROWS = 250_000
"""Calls and GPU events that are joined at once."""

_RANGE_ROWS = 65_536
"""Rows of one table that are sorted at once, about."""

_BATCH_ROWS = 65_536

_ROWS = f"SELECT * EXCLUDE ({SEQUENCE}, {BUCKET}), {SEQUENCE} FROM {{name}} WHERE {{part}}"
_ONCE = f"""SELECT * EXCLUDE ({SEQUENCE}, {BUCKET}), min({SEQUENCE}) AS {SEQUENCE}
    FROM {{name}} WHERE {{part}} GROUP BY ALL"""

_ANNOTATIONS = f"""
CREATE TABLE gpu_extents AS
    SELECT external_id, min(start_ns)::BIGINT AS gpu_start_ns,
        max(start_ns + dur_ns)::BIGINT AS gpu_end_ns
    FROM {GPU_ANNOTATIONS} WHERE external_id <> 0 GROUP BY external_id;
CREATE TEMP VIEW linked_annotations AS
    SELECT annotations.*, gpu_start_ns, gpu_end_ns
    FROM annotations LEFT JOIN gpu_extents USING (external_id);
CREATE TEMP VIEW linked_operators AS SELECT * FROM operators;
CREATE TEMP VIEW linked_syncs AS SELECT * FROM syncs;
CREATE TEMP VIEW runs AS
    SELECT launch_thread, launch_start_ns, start_ns, start_ns + dur_ns AS end_ns
    FROM linked_kernels WHERE calls = 1
    UNION ALL SELECT launch_thread, launch_start_ns, start_ns, start_ns + dur_ns
    FROM linked_memory_ops WHERE calls = 1;
"""

_JOINED = tuple(table.name for table in JOINED_TABLES)


class Linker:
    """The staged rows of one process, linked; context manager.

    Launch and GPU event share a correlation id. Exact copies of calls and GPU events count once; an
    id that several calls use links nothing.
    """

    def __init__(self, folder: Path, memory_bytes: int, threads: int) -> None:
        self._folder = folder
        self._stages: dict[str, Stage] = {}
        self._connection = duckdb.connect(
            ":memory:",
            config={
                "threads": threads,
                "memory_limit": f"{memory_bytes >> 20}MiB",
                "temp_directory": str(folder / "duckdb"),
                "preserve_insertion_order": False,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            },
        )

    def __enter__(self) -> Linker:
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()

    def load(self, stages: dict[str, Stage]) -> None:
        """Read the stages and link them."""
        self._stages = stages
        for stage in stages.values():
            stage.register(self._connection)
        parts = min(-(-sum(stages[name].rows for name in _JOINED) // _PART_ROWS), BUCKETS)
        if parts <= 1:
            for name, rows in self._join("true").items():
                self._connection.register(f"linked_{name}", rows)
        else:
            self._join_in_parts(parts)
        self._connection.execute(_ANNOTATIONS)

    def count(self, name: str, where: str = "true") -> int:
        """Count linked rows of a table."""
        query = f"SELECT count(*) FROM linked_{name} WHERE {where}"
        return int(self._connection.execute(query).fetchall()[0][0])

    def ordered(self, name: str, *, longest_first: bool = False) -> Iterator[Any]:
        """Yield the rows of a table as ``pyarrow.Table``, ordered by start, then as they came.

        ``longest_first`` puts falling duration before the order of coming.
        """
        keys = [("start_ns", "ascending"), (SEQUENCE, "ascending")]
        if longest_first:
            keys.insert(1, ("dur_ns", "descending"))
        for condition in _ranges(self._stages[name].quantiles(_RANGE_ROWS)):
            query = f"SELECT * FROM linked_{name} WHERE {condition}"
            rows = self._connection.sql(query).to_arrow_table()
            rows = rows.take(pc.sort_indices(rows, sort_keys=keys))
            for first in range(0, rows.num_rows, _BATCH_ROWS):
                yield rows.slice(first, _BATCH_ROWS)

    def launching_threads(self) -> Int64:
        """Return the threads that launched GPU events."""
        rows = self._connection.execute("SELECT DISTINCT launch_thread FROM runs").fetchall()
        return np.array([thread for (thread,) in rows], np.int64)

    def runs_launched(self, from_ns: int, until_ns: int) -> Iterator[dict[str, Int64]]:
        """Yield linked GPU events launched in ``[from_ns, until_ns)``, each batch by launch."""
        query = (
            "SELECT launch_thread, launch_start_ns, start_ns, end_ns FROM runs"
            f" WHERE launch_start_ns >= {int(from_ns)} AND launch_start_ns < {int(until_ns)}"
        )
        for batch in self._connection.sql(query).to_arrow_reader(_BATCH_ROWS):
            table = pa.Table.from_batches([batch]).sort_by("launch_start_ns")
            yield {name: table.column(name).to_numpy() for name in table.column_names}

    def _join(self, part: str) -> dict[str, Any]:
        """Return the rows of a part, linked, by table."""
        calls, kernels, memory_ops = (self._once(name, part) for name in _JOINED)
        launches = Launches(calls)
        kernels, memory_ops = launches.join(kernels), launches.join(memory_ops)
        calls = launches.with_runs(calls, launches.first_runs(kernels, memory_ops))
        return dict(zip(_JOINED, (calls, kernels, memory_ops), strict=True))

    def _once(self, name: str, part: str) -> Any:
        """Return the rows of a table in a part, without exact copies."""
        rows = self._connection.sql(_ROWS.format(name=name, part=part)).to_arrow_table()
        # Comparing all columns of all rows costs much more than to see that none are alike.
        if may_have_copies(rows):
            rows = self._connection.sql(_ONCE.format(name=name, part=part)).to_arrow_table()
        return rows

    def _join_in_parts(self, parts: int) -> None:
        folder = str(self._folder).replace("'", "''")
        for number in range(parts):
            first, last = BUCKETS * number // parts, BUCKETS * (number + 1) // parts
            linked = self._join(f"{BUCKET} >= {first} AND {BUCKET} < {last}")
            for name, rows in linked.items():
                pq.write_table(
                    rows.take(pc.sort_indices(rows, sort_keys=[("start_ns", "ascending")])),
                    self._folder / f"linked_{name}-{number:06d}.parquet",
                    compression="lz4",
                    use_dictionary=False,
                    row_group_size=SCRATCH_ROW_GROUP,
                )
        for name in _JOINED:
            self._connection.execute(
                f"CREATE TEMP VIEW linked_{name} AS"
                f" SELECT * FROM read_parquet('{folder}/linked_{name}-*.parquet')"
            )


def _ranges(bounds: Int64) -> Iterator[str]:
    """SQL conditions of consecutive ranges of ``start_ns`` that cover all times."""
    if not len(bounds):
        yield "true"
        return
    yield f"start_ns < {bounds[0]}"
    for low, high in zip(bounds[:-1], bounds[1:], strict=True):
        yield f"start_ns >= {low} AND start_ns < {high}"
    yield f"start_ns >= {bounds[-1]}"
