"""The dashboard's filter: nodes, ranks, GPUs and a range of steps, applied to tables as masks."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tracemill_ui.errors import ApiError


@dataclass(frozen=True)
class Filter:
    """What to show. An empty tuple or None means everything. Steps are both included."""

    nodes: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    devices: tuple[int, ...] = ()
    steps: tuple[int, int] | None = None

    def apply(self, table: Any, device_column: str = "device") -> Any:
        """Return the rows of a table that match; a column the table lacks does not restrict it."""
        masks = []
        if self.nodes and "node" in table.column_names:
            masks.append(pc.is_in(table["node"], pa.array(self.nodes)))
        if self.ranks and "rank" in table.column_names:
            masks.append(pc.is_in(table["rank"], pa.array(self.ranks, pa.int32())))
        if self.devices and device_column in table.column_names:
            masks.append(pc.is_in(table[device_column], pa.array(self.devices, pa.int32())))
        if not masks:
            return table
        return table.filter(functools.reduce(pc.and_, masks))

    def apply_steps(self, steps: Any) -> Any:
        """Return the rows of a ``step_summary`` table that match, the range of steps included."""
        steps = self.apply(steps)
        if self.steps is None:
            return steps
        first, last = self.steps
        return steps.filter(
            pc.and_(pc.greater_equal(steps["step"], first), pc.less_equal(steps["step"], last))
        )


def parse_filter(query: Mapping[str, str]) -> Filter:
    """Read ``node``, ``rank``, ``device`` (comma separated) and ``steps`` (``first-last``)."""
    return Filter(
        nodes=tuple(part for part in query.get("node", "").split(",") if part),
        ranks=_numbers(query, "rank"),
        devices=_numbers(query, "device"),
        steps=_steps(query.get("steps", "")),
    )


def _numbers(query: Mapping[str, str], name: str) -> tuple[int, ...]:
    try:
        numbers = tuple(int(part) for part in query.get(name, "").split(",") if part)
    except ValueError:
        numbers = (-1,)
    if any(not 0 <= number < 2**31 for number in numbers):
        raise ApiError(400, f"The {name} filter is not usable.", "Write numbers, as in 0,1,2.")
    return numbers


def _steps(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    first, dash, last = text.partition("-")
    try:
        steps = (int(first), int(last if dash else first))
    except ValueError:
        steps = (1, 0)
    if steps[0] > steps[1] or steps[1] >= 2**62:
        raise ApiError(400, "The range of steps is not usable.", "Write it as first-last: 100-200.")
    return steps
