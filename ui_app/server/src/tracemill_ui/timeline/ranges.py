"""Statistics of a range of time over lanes: count, time, busy union, by name and by category.

All times are what lies within the range. An event counts if it touches the range. A range with too
many events to read is answered from the pyramid: then ``exact`` is false, bins count wholly and go
by their longest event.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from tracemill_analysis import intervals as iv

from tracemill_ui.timeline import lanes as ln
from tracemill_ui.timeline.lanes import Lane
from tracemill_ui.timeline.marks import Window, marks_of
from tracemill_ui.timeline.source import Source
from tracemill_ui.timeline.window import level_marks

MAX_ROWS = 4_000_000
MAX_NAMES = 200


def range_statistics(source: Source, lanes: list[Lane], start: int, end: int) -> dict[str, Any]:
    """Return the statistics of ``[start, end)`` (ns since the profile's start) over lanes.

    Lanes that show use over time are left out: they would count events twice.
    """
    low, high = start + source.start_ns, end + source.start_ns
    lanes = [
        lane for lane in lanes if not lane.of_node and lane.kind not in (ln.DEVICE, ln.DEVICE_COMM)
    ]
    processes = {lane.owner for lane in lanes}
    cost = sum(source.cost(p, tuple(ln.LANE_OF_TABLE), low, high) for p in processes)
    exact = cost <= MAX_ROWS
    parts = [_of_lane(source, lane, low, high, exact) for lane in lanes]
    rows = {name: _joined([part[name] for part in parts]) for name in _COLUMNS}
    return {
        "start": start,
        "dur": end - start,
        "exact": exact,
        "lanes": len(lanes),
        "count": int(rows["count"].sum()),
        "total_ns": int(rows["inside"].sum()),
        "busy_ns": iv.length(iv.union(rows["start"], rows["end"])),
        "names_total": len(np.unique(rows["name"])),
        "by_name": _grouped(source, rows, "name")[:MAX_NAMES],
        "by_category": _grouped(source, rows, "category"),
    }


_COLUMNS = ("start", "end", "inside", "count", "name", "category")


def _of_lane(source: Source, lane: Lane, low: int, high: int, exact: bool) -> dict[str, Any]:
    bins = source.level_bins(lane.owner)
    if exact or not bins:
        marks = marks_of(source.events(lane, low, high))
    else:
        fitting = [b for b in bins if b <= Window(low, high, 1_000).pixel_ns]
        marks = level_marks(source, lane, (fitting or bins[:1])[-1], low, high)
    start, end = np.maximum(marks.start, low), np.minimum(marks.end, high)
    inside = np.where(marks.exact, np.maximum(end - start, 0), marks.busy)
    return {
        "start": start,
        "end": np.where(marks.exact, end, start + np.minimum(inside, end - start)),
        "inside": inside,
        "count": marks.count,
        "name": marks.name,
        "category": marks.category,
    }


def _joined(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.empty(0, np.int64)


def _grouped(source: Source, rows: dict[str, Any], by: str) -> list[dict[str, Any]]:
    """Sum up by name or category: most time first."""
    if not len(rows[by]):
        return []
    ids, index = np.unique(rows[by], return_inverse=True)
    order = np.argsort(index, kind="stable")
    edges = np.append(np.searchsorted(index[order], np.arange(len(ids))), len(order))
    found = []
    for at, number in enumerate(ids.tolist()):
        chosen = order[edges[at] : edges[at + 1]]
        inside = rows["inside"][chosen]
        found.append(
            {
                by: source.names.text(number),
                "count": int(rows["count"][chosen].sum()),
                "total_ns": int(inside.sum()),
                "busy_ns": iv.length(iv.union(rows["start"][chosen], rows["end"][chosen])),
                "max_ns": int(inside.max()),
            }
        )
    return sorted(found, key=lambda row: (-row["total_ns"], row[by]))
