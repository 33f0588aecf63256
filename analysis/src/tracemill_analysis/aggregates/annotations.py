"""``annotation_summary``: user ranges by rank and series."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracemill_analysis import intervals as iv
from tracemill_analysis.aggregates.ranges import Ranges
from tracemill_analysis.aggregates.source import Process
from tracemill_analysis.aggregates.statistics import distribution
from tracemill_analysis.aggregates.steps import Step, assign_steps


def annotation_summary(process: Process, ranges: Ranges, steps: list[Step]) -> list[dict[str, Any]]:
    """Return one row per series, longest total first; the slowest is the earliest longest range."""
    if not len(ranges):
        return []
    capture_ns = int(ranges.end.max() - ranges.start.min())
    order = np.argsort(ranges.series, kind="stable")
    edges = np.searchsorted(ranges.series[order], np.arange(len(ranges.series_names) + 1))
    rows = []
    slowest = np.empty(len(ranges.series_names), np.int64)
    for code, series in enumerate(ranges.series_names):
        own = order[edges[code] : edges[code + 1]]
        starts, ends = ranges.start[own], ranges.end[own]
        ties = (ranges.index[own], ranges.thread[own], starts, starts - ends)
        longest = own[np.lexsort(ties)[0]]
        slowest[code] = longest
        busy_ns = iv.length(iv.union(starts, ends))
        rows.append(
            {
                **process.where,
                "series": series,
                **distribution(ends - starts),
                "busy_ns": busy_ns,
                "slowest_index": _at(ranges.index, ranges.has_index[longest], longest),
                "slowest_start_ns": int(ranges.start[longest]),
                "share_of_capture": busy_ns / capture_ns if capture_ns else 0.0,
            }
        )
    at_step = assign_steps(steps, ranges.thread[slowest], ranges.start[slowest]).tolist()
    for row, position in zip(rows, at_step, strict=True):
        row["slowest_step"] = steps[position].number if position >= 0 else None
    return sorted(rows, key=lambda row: (-row["total_ns"], row["series"]))


def _at(values: iv.Int64s, known: np.bool_, place: np.int64) -> int | None:
    return int(values[place]) if known else None
