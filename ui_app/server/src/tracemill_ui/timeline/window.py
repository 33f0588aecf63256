"""The marks of lanes in a window of time: exact events, or bins of at most a pixel.

The pyramid's coarsest level whose bins are at most a pixel serves from afar; below its finest one
exact events are read. Whichever it is, a lane that has more marks than two per pixel is summed up
further, so the answer is bounded by pixels times lanes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tracemill_analysis import intervals as iv
from tracemill_analysis.aggregates.pyramid import coarsen

from tracemill_ui.errors import ApiError
from tracemill_ui.timeline import lanes as ln
from tracemill_ui.timeline import nodes
from tracemill_ui.timeline.groups import GroupFile
from tracemill_ui.timeline.lanes import Lane
from tracemill_ui.timeline.marks import Marks, Window, bounded, joined, marks_of
from tracemill_ui.timeline.source import Events, Source

MAX_EXACT_ROWS = 8_000_000


def lane_marks(source: Source, lane: Lane, window: Window) -> tuple[Marks, int]:
    """Return a lane's marks and the length of its bins in ns (0: all marks are exact)."""
    if lane.of_node:
        return nodes.node_marks(source, lane, window, lane_marks)
    bins = [b for b in source.level_bins(lane.owner) if b <= window.pixel_ns]
    if bins:
        marks = level_marks(source, lane, bins[-1], window.start, window.end)
        return bounded(marks, bins[-1], window, source.clocks.of_process(lane.owner))
    tables = ln.EVENT_TABLES[lane.kind]
    if source.cost(lane.owner, tables, window.start, window.end) > MAX_EXACT_ROWS:
        raise ApiError(
            409,
            "This profile has no timeline levels, and the window holds too many events to read.",
            "Process or import it again, or zoom in.",
        )
    return exact_marks(source, source.events(lane, window.start, window.end), lane, window)


def exact_marks(source: Source, events: Events, lane: Lane, window: Window) -> tuple[Marks, int]:
    """Return the marks of events that were read exactly."""
    if lane.kind in (ln.DEVICE, ln.DEVICE_COMM):
        busy = iv.union(events.start, events.end)
        word = "busy" if lane.kind == ln.DEVICE else "communication"
        ids = np.full(len(busy.starts), source.names.id_of(word), np.int32)
        events = Events(busy.starts, busy.ends, ids, ids)
    if len(events) <= window.limit:
        return marks_of(events), 0
    bin_ns = max(int(np.ceil(window.pixel_ns)), 1)
    while True:
        level = coarsen(events.start, events.end, bin_ns)
        if len(level.start) <= window.limit:
            break
        bin_ns *= 2
    marks = Marks(
        level.start,
        level.start + level.duration,
        level.busy,
        level.count,
        events.name[level.event],
        events.category[level.event],
        level.exact,
    )
    return marks, bin_ns


def level_groups(file: GroupFile, key: tuple[Any, ...], start: int, end: int) -> list[int]:
    """Return the groups of the pyramid that may have rows of a lane, by its key, in a time."""
    groups = file.touching(start, end)
    for column, value in zip(ln.LEVEL_COLUMNS, key, strict=True):
        if value is not None:
            groups = file.within(column, value, groups)
    return groups


def groups_needed(source: Source, lane: Lane, window: Window) -> list[tuple[GroupFile, int]]:
    """Return the row groups that ``lane_marks`` will read for a lane."""
    if lane.of_node:
        found = [groups_needed(source, one, window) for one in nodes.devices(source, lane)]
        return [one for part in found for one in part]
    bins = [b for b in source.level_bins(lane.owner) if b <= window.pixel_ns]
    if bins:
        file = source.file(ln.LEVELS, lane.owner)
        assert file is not None
        key = _level_key(lane, bins[-1])
        return [(file, number) for number in level_groups(file, key, window.start, window.end)]
    files = [source.file(table, lane.owner) for table in ln.EVENT_TABLES[lane.kind]]
    return [
        (file, number)
        for file in files
        if file is not None
        for number in file.touching(window.start, window.end)
    ]


def _level_key(lane: Lane, bin_ns: int) -> tuple[Any, ...]:
    place = dict(zip(ln.PLACE_COLUMNS[lane.kind], lane.place, strict=True))
    return (bin_ns, lane.kind, *(place.get(name) for name in ln.LEVEL_COLUMNS[2:]))


def level_marks(source: Source, lane: Lane, bin_ns: int, start: int, end: int) -> Marks:
    """Return the rows of a lane at a level of the pyramid that touch ``[start, end)`` ns."""
    file = source.file(ln.LEVELS, lane.owner)
    assert file is not None
    key = _level_key(lane, bin_ns)
    parts = []
    for number in level_groups(file, key, start, end):
        group = file.group(number)
        if key not in group.lanes:
            continue
        assert group.count is not None
        assert group.busy is not None
        assert group.exact is not None
        first, last = group.lanes[key]
        last = first + int(np.searchsorted(group.start[first:last], end))
        rows = first + np.flatnonzero(group.end[first:last] > start)
        parts.append(
            Marks(
                group.start[rows],
                group.end[rows],
                group.busy[rows],
                group.count[rows],
                group.name[rows],
                group.category[rows],
                group.exact[rows],
            )
        )
    return joined(parts)
