"""Several nodes on one axis of time: what is added to the times of each process and node.

Event tables hold the times of the node that recorded them. ``processes.alignment_ns`` brings them
to one clock; it is added where files are read, so that all else knows aligned times only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from tracemill_analysis.units import duration
from tracemill_schema.tables import events
from tracemill_schema.tables.timeline import TIMELINE_LEVELS

Row = dict[str, Any]
TIME_COLUMNS = frozenset(
    column.name
    for table in (*events.TABLES, TIMELINE_LEVELS)
    for column in table.columns
    if column.name == "time_ns" or column.name.endswith("start_ns")
)
"""Columns of events and of the pyramid that hold a point in time, not a length."""


class Clocks:
    """Shifts in ns of the processes (rows of ``processes``) and nodes; 0 where none is known."""

    def __init__(self, processes: Iterable[Row]) -> None:
        self._processes = list(processes)
        known = [p for p in self._processes if p["alignment_ns"] is not None]
        self._of_process: dict[int, int] = {p["process_id"]: p["alignment_ns"] for p in known}
        self._of_node: dict[str, int] = {p["node"]: p["alignment_ns"] for p in known}

    def of_process(self, process_id: int) -> int:
        """Return what to add to the times of a process."""
        return self._of_process.get(process_id, 0)

    def of_node(self, node: str) -> int:
        """Return what to add to what was sampled on a node."""
        return self._of_node.get(node, 0)

    def of_rows(self, process_ids: Any) -> Any:
        """Return what to add to the times of rows, given their column of process ids."""
        found, index = np.unique(process_ids.to_numpy(), return_inverse=True)
        shifts = np.array([self.of_process(number) for number in found.tolist()], np.int64)
        return pa.array(shifts[index], pa.int64())

    def bounds(self, start: int, end: int) -> tuple[int, int]:
        """Return start and end of all processes; those given if no process is shifted."""
        if not any(self._of_process.values()):
            return start, end
        shifted = [(p, self.of_process(p["process_id"])) for p in self._processes]
        starts = [p["start_ns"] + by for p, by in shifted if p["start_ns"] is not None]
        ends = [p["end_ns"] + by for p, by in shifted if p["end_ns"] is not None]
        return min(starts, default=start), max(ends, default=end)

    def note(self) -> str | None:
        """Say how well the nodes can be compared; None if there is but one."""
        nodes = {p["node"] for p in self._processes}
        if len(nodes) < 2:
            return None
        unknown = len(nodes - set(self._of_node))
        if unknown:
            return (
                f"The clocks of {unknown} of {len(nodes)} nodes could not be compared with the"
                " others: times of different nodes may be milliseconds apart."
            )
        left = [p["alignment_residual_ns"] for p in self._processes]
        worst = max((value for value in left if value is not None), default=0)
        return (
            f"The clocks of {len(nodes)} nodes are aligned by the ends of shared collectives;"
            f" 95 % of these agree within {duration(worst)}."
        )


def shifted(table: Any, columns: Iterable[str], by: Any) -> Any:
    """Return a table with ``by`` (ns, one for all rows or one per row) added to these columns."""
    if isinstance(by, int):
        if not by:
            return table
        by = pa.scalar(by, pa.int64())
    for name in columns:
        at = table.schema.get_field_index(name)
        if at >= 0:
            table = table.set_column(at, name, pc.add(table[name], by))
    return table
