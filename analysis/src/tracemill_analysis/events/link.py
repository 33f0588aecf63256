"""Joins GPU events with the host calls that launched them, in DuckDB with bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracemill_analysis.events.given import GPU_ANNOTATIONS
from tracemill_analysis.events.staging import SEQUENCE, Stage

Int64 = NDArray[np.int64]

_BATCH_ROWS = 65_536

_LAUNCH_TABLES = f"""
CREATE TABLE calls AS
    SELECT * EXCLUDE ({SEQUENCE}), min({SEQUENCE}) AS {SEQUENCE} FROM api_calls GROUP BY ALL;
CREATE TABLE launches AS
    SELECT correlation, count(*)::BIGINT AS calls, min(start_ns)::BIGINT AS launch_start_ns,
        min(dur_ns)::BIGINT AS launch_dur_ns, min(thread)::BIGINT AS launch_thread
    FROM calls WHERE correlation IS NOT NULL GROUP BY correlation;
"""

_GPU_TABLE = f"""
CREATE TABLE linked_{{name}} AS
    SELECT run.*, calls,
        CASE WHEN calls = 1 THEN launch_start_ns END AS launch_start_ns,
        CASE WHEN calls = 1 THEN launch_dur_ns END AS launch_dur_ns,
        CASE WHEN calls = 1 THEN launch_thread END AS launch_thread
    FROM (
        SELECT * EXCLUDE ({SEQUENCE}), min({SEQUENCE}) AS {SEQUENCE} FROM {{name}} GROUP BY ALL
    ) AS run LEFT JOIN launches USING (correlation);
"""

_RUN_TABLES = f"""
CREATE TABLE runs AS
    SELECT correlation, launch_thread, launch_start_ns, start_ns, start_ns + dur_ns AS end_ns
    FROM linked_kernels WHERE calls = 1
    UNION ALL
    SELECT correlation, launch_thread, launch_start_ns, start_ns, start_ns + dur_ns
    FROM linked_memory_ops WHERE calls = 1;
CREATE TABLE first_runs AS
    SELECT correlation, min(start_ns)::BIGINT AS run_start_ns FROM runs GROUP BY correlation;
CREATE TABLE gpu_extents AS
    SELECT external_id, min(start_ns)::BIGINT AS gpu_start_ns,
        max(start_ns + dur_ns)::BIGINT AS gpu_end_ns
    FROM {GPU_ANNOTATIONS} WHERE external_id <> 0 GROUP BY external_id;
"""

_ORDERED = {
    "kernels": f"SELECT * FROM linked_kernels ORDER BY start_ns, {SEQUENCE}",
    "memory_ops": f"SELECT * FROM linked_memory_ops ORDER BY start_ns, {SEQUENCE}",
    "api_calls": "SELECT calls.*, run_start_ns FROM calls LEFT JOIN first_runs USING (correlation)"
    f" ORDER BY start_ns, {SEQUENCE}",
    "syncs": f"SELECT * FROM syncs ORDER BY start_ns, {SEQUENCE}",
    "annotations": "SELECT annotations.*, gpu_start_ns, gpu_end_ns FROM annotations"
    f" LEFT JOIN gpu_extents USING (external_id) ORDER BY start_ns, dur_ns DESC, {SEQUENCE}",
    "operators": f"SELECT * FROM operators ORDER BY start_ns, dur_ns DESC, {SEQUENCE}",
}


class Linker:
    """The staged rows of one process, linked; context manager.

    Launch and GPU event share a correlation id. Exact copies of calls and GPU events count once; an
    id that several calls use links nothing.
    """

    def __init__(self, folder: Path, memory_bytes: int, threads: int) -> None:
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
        for stage in stages.values():
            stage.register(self._connection)
        self._connection.execute(_LAUNCH_TABLES)
        for name in ("kernels", "memory_ops"):
            self._connection.execute(_GPU_TABLE.format(name=name))
        self._connection.execute(_RUN_TABLES)

    def count(self, table: str, where: str = "true") -> int:
        """Count rows of one of the linked tables."""
        rows = self._connection.execute(f"SELECT count(*) FROM {table} WHERE {where}").fetchall()
        return int(rows[0][0])

    def ordered(self, name: str) -> Iterator[Any]:
        """Yield the rows of a table as ``pyarrow.RecordBatch``, ordered by start."""
        yield from self._connection.sql(_ORDERED[name]).to_arrow_reader(_BATCH_ROWS)

    def launching_threads(self) -> Int64:
        """Return the threads that launched GPU events."""
        cursor = self._connection.cursor()
        rows = cursor.execute("SELECT DISTINCT launch_thread FROM runs").fetchall()
        return np.array([thread for (thread,) in rows], np.int64)

    def runs_launched(self, from_ns: int, until_ns: int) -> Iterator[dict[str, Int64]]:
        """Yield linked GPU events launched in ``[from_ns, until_ns)``, ordered by launch."""
        query = (
            "SELECT launch_thread, launch_start_ns, start_ns, end_ns FROM runs"
            f" WHERE launch_start_ns >= {int(from_ns)} AND launch_start_ns < {int(until_ns)}"
            " ORDER BY launch_start_ns"
        )
        # A connection of its own: the rows of annotations are being read on the other one.
        cursor = self._connection.cursor()
        for batch in cursor.sql(query).to_arrow_reader(_BATCH_ROWS):
            table = pa.Table.from_batches([batch])
            yield {name: table.column(name).to_numpy() for name in table.column_names}
