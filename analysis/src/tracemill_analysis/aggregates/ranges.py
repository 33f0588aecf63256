"""The annotations of one process as arrays, and the ranges that are input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tracemill_schema.tables.events import ANNOTATIONS

from tracemill_analysis import intervals as iv
from tracemill_analysis.aggregates.inputs import is_input
from tracemill_analysis.aggregates.source import EventSource, integers, present, texts
from tracemill_analysis.intervals import Int64s, Intervals


@dataclass(frozen=True)
class Ranges:
    """Annotations, one array element each, in no particular order. Times in ns.

    ``series`` holds positions in ``series_names``; ``index`` counts only where ``has_index``.
    """

    thread: Int64s
    start: Int64s
    end: Int64s
    series: Int64s
    series_names: list[str]
    index: Int64s
    has_index: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.start)

    def of_series(self, name: str) -> Int64s:
        """Return the positions of the annotations of a series."""
        if name not in self.series_names:
            return np.empty(0, np.int64)
        return np.flatnonzero(self.series == self.series_names.index(name))


def load_ranges(source: EventSource, process_id: int) -> Ranges:
    """Read the annotations of a process."""
    names = ("thread", "start_ns", "dur_ns", "series", "index")
    data = source.columns(ANNOTATIONS, names, process_id)
    codes, words = texts(data, "series")
    start = integers(data, "start_ns")
    return Ranges(
        thread=integers(data, "thread"),
        start=start,
        end=start + integers(data, "dur_ns"),
        series=codes,
        series_names=[word or "" for word in words],
        index=integers(data, "index"),
        has_index=present(data, "index"),
    )


def input_time(source: EventSource, process_id: int, ranges: Ranges) -> dict[int, Intervals]:
    """Return per thread the time inside input annotations and input operators (union)."""
    rule = np.array([is_input(name) for name in ranges.series_names], bool)
    chosen = rule[ranges.series] if len(rule) else np.empty(0, bool)
    loads = _input_operators(source, process_id)
    thread = np.concatenate((ranges.thread[chosen], loads[0]))
    start = np.concatenate((ranges.start[chosen], loads[1]))
    end = np.concatenate((ranges.end[chosen], loads[2]))
    return {
        int(one): iv.union(start[thread == one], end[thread == one]) for one in np.unique(thread)
    }


def _input_operators(source: EventSource, process_id: int) -> tuple[Int64s, Int64s, Int64s]:
    """Thread, start and end of the operators that load data (imports)."""
    distinct = source.query(
        "SELECT DISTINCT name FROM operators WHERE process_id = $process_id",
        process_id=process_id,
    )
    names = sorted(name for name in distinct.column("name").to_pylist() if is_input(name))
    if not names:
        empty = np.empty(0, np.int64)
        return empty, empty, empty
    data = source.query(
        "SELECT thread, start_ns, dur_ns FROM operators"
        " WHERE process_id = $process_id AND list_contains($names, name)"
        " ORDER BY thread, start_ns, dur_ns",
        process_id=process_id,
        names=names,
    )
    start = integers(data, "start_ns")
    return integers(data, "thread"), start, start + integers(data, "dur_ns")
