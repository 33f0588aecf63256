"""``timeline_levels``: lanes at coarser and coarser bins, for drawing a profile from afar.

Long events stay exact at every level, so a step of a second is no smear of bins; only events
shorter than the level's bin are summed up. Nothing is lost: at each level the counts add up to the
events, and exact durations and busy times of bins to what the lane's events cover.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tracemill_schema.tables.timeline import TIMELINE_LEVELS

from tracemill_analysis import intervals as iv
from tracemill_analysis.aggregates.gpu import GpuEvents
from tracemill_analysis.aggregates.lanes import Lane, lanes_of
from tracemill_analysis.aggregates.source import EventSource, Process
from tracemill_analysis.aggregates.widen import NO_SUMS, widen
from tracemill_analysis.intervals import Int64s
from tracemill_analysis.parquet import arrow_schema

FINEST_BIN_NS = 1 << 20
FACTOR = 4
FEWEST_BINS = 64
"""A level whose bins are fewer over the span would show nothing the finer one does not."""

_PLACE = ("lane", "device", "stream", "thread", "depth")


@dataclass(frozen=True)
class Level:
    """One lane at one level, by start; ``event`` is the position of the named event in the lane."""

    exact: NDArray[np.bool_]
    start: Int64s
    duration: Int64s
    count: Int64s
    busy: Int64s
    event: Int64s


def level_bins(span_ns: int) -> list[int]:
    """Return the bins (ns) of the levels of a profile of ``span_ns``; none if it is short."""
    bins = []
    bin_ns = FINEST_BIN_NS
    while bin_ns * FEWEST_BINS <= span_ns:
        bins.append(bin_ns)
        bin_ns *= FACTOR
    return bins


def timeline_levels(source: EventSource, process: Process, events: GpuEvents, span_ns: int) -> Any:
    """Return the rows of one process as a ``pyarrow.Table``, finest level first."""
    if not level_bins(span_ns):
        return arrow_schema(TIMELINE_LEVELS).empty_table()
    lanes = sorted(lanes_of(source, process.process_id, events), key=_lane_order)
    bins = level_bins(span_ns)
    of_lanes = [(lane, levels(lane.start, lane.end, bins)) for lane in lanes]
    tables = [
        _rows(process, bin_ns, lane, found[number])
        for number, bin_ns in enumerate(bins)
        for lane, found in of_lanes
    ]
    return pa.concat_tables(tables) if tables else arrow_schema(TIMELINE_LEVELS).empty_table()


def _lane_order(lane: Lane) -> list[tuple[bool, Any]]:
    values = [lane.place.get(name) for name in _PLACE]
    return [(value is not None, value) for value in values]


def levels(start: Int64s, end: Int64s, bins: list[int]) -> list[Level]:
    """Return the levels of a lane's events (ns, by start), one for each bin, finest first.

    Where no two events overlap, each level is made from the one before, so that all of them
    together cost little more than the finest; ``bins`` must then each divide the next.
    """
    if (start[1:] < end[:-1]).any():
        return [coarsen(start, end, bin_ns) for bin_ns in bins]
    duration = end - start
    long = np.arange(len(start))
    sums, result = NO_SUMS, []
    for bin_ns in bins:
        is_short = duration[long] < bin_ns
        newly, long = long[is_short], long[~is_short]
        sums = widen(sums, start[newly], end[newly], newly, bin_ns)
        result.append(
            _level(start, duration, long, sums.bins, sums.counts, sums.busy, sums.event, bin_ns)
        )
    return result


def coarsen(start: Int64s, end: Int64s, bin_ns: int) -> Level:
    """Return a lane's events (ns, by start) at the level of ``bin_ns``."""
    long = np.flatnonzero(end - start >= bin_ns)
    short = np.flatnonzero(end - start < bin_ns)
    bins, count, busy, event = _sum_up(start[short], end[short], bin_ns)
    return _level(start, end - start, long, bins, count, busy, short[event], bin_ns)


def _level(
    start: Int64s,
    duration: Int64s,
    long: Int64s,
    bins: Int64s,
    count: Int64s,
    busy: Int64s,
    event: Int64s,
    bin_ns: int,
) -> Level:
    """Put long events, given by position, and the sums of the short ones together, by start."""
    begins = np.concatenate((start[long], bins))
    order = np.argsort(begins, kind="stable")
    lasting = duration[long]
    return Level(
        exact=order < len(long),
        start=begins[order],
        duration=np.concatenate((lasting, np.full(len(bins), bin_ns)))[order],
        count=np.concatenate((np.ones(len(long), np.int64), count))[order],
        busy=np.concatenate((lasting, busy))[order],
        event=np.concatenate((long, event))[order],
    )


def _sum_up(start: Int64s, end: Int64s, bin_ns: int) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """Sum up events shorter than a bin: bin starts, counts, busy times, events that give the name.

    That is the longest which starts in the bin, or, where only the end of an event of the bin
    before reaches in, the last one before.
    """
    own = start // bin_ns * bin_ns
    last = np.maximum(end - 1, start) // bin_ns * bin_ns
    bins = np.unique(np.concatenate((own[_changes(own)], last[last != own])))
    first = np.searchsorted(own, bins)
    count = np.searchsorted(own, bins, side="right") - first
    covered = iv.union(start, end)
    busy = iv.covered_before(covered, bins + bin_ns) - iv.covered_before(covered, bins)
    return bins, count, busy, np.where(count > 0, _longest(end - start, own, first), first - 1)


def _changes(values: Int64s) -> NDArray[np.bool_]:
    """Tell for each value whether it differs from the one before."""
    return np.concatenate((np.ones(min(1, len(values)), bool), values[1:] != values[:-1]))


def _longest(duration: Int64s, own: Int64s, first: Int64s) -> Int64s:
    """Return for each bin the first of its longest events; ``first`` is where its events begin."""
    if not len(own):
        return first
    begins = np.flatnonzero(_changes(own))
    most = np.maximum.reduceat(duration, begins)
    sizes = np.diff(np.append(begins, len(own)))
    candidates = np.flatnonzero(duration == np.repeat(most, sizes))
    place = np.searchsorted(candidates, first)
    return candidates[np.minimum(place, len(candidates) - 1)]


def _rows(process: Process, bin_ns: int, lane: Lane, level: Level) -> Any:
    """Return a level of a lane as rows of the table."""
    size = len(level.start)
    schema = arrow_schema(TIMELINE_LEVELS)

    def same(name: str, value: Any) -> Any:
        return pa.repeat(pa.scalar(value, schema.field(name).type), size)

    columns = {
        "process_id": same("process_id", process.process_id),
        "rank": same("rank", process.rank),
        "bin_ns": same("bin_ns", bin_ns),
        **{name: same(name, lane.place.get(name)) for name in _PLACE},
        "exact": pa.array(level.exact),
        "start_ns": pa.array(level.start),
        "dur_ns": pa.array(level.duration),
        "count": pa.array(level.count),
        "busy_ns": pa.array(level.busy),
        "name": pa.array(lane.names, pa.string()).take(pa.array(lane.name[level.event])),
        "category": pa.array(lane.categories, pa.string()).take(
            pa.array(lane.category[level.event])
        ),
    }
    return pa.Table.from_arrays([columns[name] for name in schema.names], schema=schema)
