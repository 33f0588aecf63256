"""``operator_summary``: framework operators by name, with the kernels launched within them.

Operators and kernel launches of all threads stand in one sequence, by thread and start. What an
operator contains is then a range of places, from its own to the first that begins at its end or
later; so nesting, recursion and launches are all answered by sums and maxima over such ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tracemill_schema.tables.events import OPERATORS

from tracemill_analysis.aggregates.launches import LAUNCH, NO_VALUE, GpuRuns
from tracemill_analysis.aggregates.order import coded, combined, order_by, run_starts
from tracemill_analysis.aggregates.source import EventSource, Process, integers, texts
from tracemill_analysis.intervals import Int64s

Rows = list[dict[str, Any]]

_TEXTS = ("category", "name", "module")
_TIMES = ("thread", "start_ns", "dur_ns", "depth")
_SMALL = 1 << 16


@dataclass(frozen=True)
class _Sequence:
    """Operators and launched kernels by thread and start; what is launched has ``key`` -1.

    ``until`` is the first place that begins at or after the end, or on another thread. ``delay_ns``
    counts where ``launches`` is 1: at the first run of a launch.
    """

    key: Int64s
    start: Int64s
    end: Int64s
    until: Int64s
    gpu_ns: Int64s
    launches: Int64s
    delay_ns: Int64s


def operator_summary(source: EventSource, process: Process, runs: GpuRuns) -> Rows:
    """Return one row per category, name and module of a process's operators, by these."""
    data = source.columns(OPERATORS, (*_TIMES, *_TEXTS), process.process_id)
    if not data.num_rows:
        return []
    words = {name: texts(data, name) for name in _TEXTS}
    sizes = [len(distinct) for _, distinct in words.values()]
    key, found = coded(combined([codes for codes, _ in words.values()], sizes)[0])
    entries = _sequence(key, [integers(data, name) for name in _TIMES], runs)
    columns = {**_own(entries, len(found)), **_within(entries, len(found))}
    rows = []
    for at, places in enumerate(zip(*np.unravel_index(found, sizes), strict=True)):
        name = {n: words[n][1][int(i)] for n, i in zip(_TEXTS, places, strict=True)}
        row: dict[str, Any] = {**process.where, **name}
        row.update((column, int(values[at])) for column, values in columns.items())
        row["mean_ns"] = row.pop("sum_ns") / row["count"]
        rows.append(row)
    return rows


def parents(until: Int64s) -> Int64s:
    """Return for each place the last earlier place that contains it, -1 without one.

    Place ``j`` contains the places from ``j`` + 1 up to, not including, ``until[j]``. Ranges may
    overlap in any way. O(n log n) in a few passes over whole arrays: every range is written as two
    blocks of a power of two, and blocks are halved until they are single places.
    """
    places = np.arange(len(until))
    size = until - places - 1
    level = np.frexp(np.maximum(size, 0).astype(np.float64))[1] - 1
    result = np.full(len(until), -1, np.int64)
    for power in range(int(level.max(initial=-1)), -1, -1):
        block = 1 << power
        halves = result.copy()
        np.maximum(result[block:], halves[:-block], out=result[block:])
        chosen = places[level == power]
        np.maximum.at(result, chosen + 1, chosen)
        np.maximum.at(result, until[chosen] - block, chosen)
    return result


def _sequence(key: Int64s, times: Sequence[Int64s], runs: GpuRuns) -> _Sequence:
    """Bring operators (``_TIMES``) and the kernels launched on a known thread into one sequence."""
    thread, start, dur, depth = times
    kernels = runs.select((runs.name >= 0) & (runs.columns["launch_thread"] != NO_VALUE))
    launched, run_start, gpu = kernels.of("launch_start_ns", "start_ns", "dur_ns")
    first = np.zeros(len(launched), np.int64)
    first[run_starts(*kernels.of(*LAUNCH))] = 1
    none, zero = np.zeros(len(key), np.int64), np.zeros(len(launched), np.int64)
    columns = [
        np.concatenate(pair)
        for pair in (
            (key, zero - 1),
            (start, launched),
            (start + dur, launched),
            (none, gpu),
            (none, first),
            (none, (run_start - launched) * first),
        )
    ]
    # At one start the operator contains the launch, and the longer operator the shorter one.
    is_launch, length = (columns[0] < 0).astype(np.int64), columns[2] - columns[1]
    levels = np.concatenate((depth, zero))
    order = order_by(columns[1], is_launch, -length, levels, columns[0])
    lane, threads = coded(np.concatenate((thread, kernels.columns["launch_thread"])))
    lane = lane[order]
    small = lane.astype(np.uint16) if len(threads) <= _SMALL else lane
    by_thread = np.argsort(small, kind="stable")
    order = order[by_thread]
    key, start, end, *rest = (column[order] for column in columns)
    until = _until(start, end, np.append(run_starts(lane[by_thread]), len(order)).tolist())
    return _Sequence(key, start, end, until, *rest)


def _until(start: Int64s, end: Int64s, edges: Sequence[int]) -> Int64s:
    """Return for each entry the first place of its thread that begins at its end or later.

    ``edges`` are the places at which threads begin, and the length.
    """
    until = np.empty(len(start), np.int64)
    for begin, stop in zip(edges[:-1], edges[1:], strict=True):
        until[begin:stop] = begin + np.searchsorted(start[begin:stop], end[begin:stop])
    return until


def _own(entries: _Sequence, keys: int) -> dict[str, Int64s]:
    """Return what operators spend and launch themselves, and how long single runs are, by key."""
    parent = parents(entries.until)
    has_parent = parent >= 0
    above = parent[has_parent]
    inside = np.minimum(entries.end[has_parent], entries.end[above]) - entries.start[has_parent]
    is_operator = entries.key >= 0
    key = entries.key[is_operator]
    dur = (entries.end - entries.start)[is_operator]
    sums = _sums(key, dur, keys)
    launched = has_parent & ~is_operator
    launcher = entries.key[parent[launched]]
    least = np.full(keys, np.iinfo(np.int64).max)
    most = np.zeros(keys, np.int64)
    np.minimum.at(least, key, dur)
    np.maximum.at(most, key, dur)
    return {
        "count": np.bincount(key, minlength=keys),
        "sum_ns": sums,
        "self_ns": sums - _sums(entries.key[above], inside, keys),
        "min_ns": least,
        "max_ns": most,
        "self_kernels": np.bincount(launcher, minlength=keys),
        "self_gpu_ns": _sums(launcher, entries.gpu_ns[launched], keys),
    }


def _within(entries: _Sequence, keys: int) -> dict[str, Int64s]:
    """Return time and launches within at least one operator of each key, counted once."""
    places = np.flatnonzero(entries.key >= 0)
    places = places[np.argsort(entries.key[places], kind="stable")]
    key, until = entries.key[places], entries.until[places]
    # Keys are set apart by the length, so that no operator reaches into those of the next key.
    base = key * len(entries.key)
    last = np.maximum(until, places)
    reach = np.maximum.accumulate(base + last)
    opens = np.flatnonzero(np.append(True, (base + places)[1:] >= reach[:-1]))
    first = places[opens]
    stop = np.maximum.reduceat(last, opens)
    end = np.maximum.reduceat(entries.end[places], opens)
    columns = {"total_ns": _sums(key[opens], end - entries.start[first], keys)}
    for name, values in (
        ("kernels", (entries.key < 0).astype(np.int64)),
        ("gpu_ns", entries.gpu_ns),
        ("launches", entries.launches),
        ("launch_delay_ns", entries.delay_ns),
    ):
        before = np.concatenate((np.zeros(1, np.int64), np.cumsum(values)))
        columns[name] = _sums(key[opens], before[stop] - before[first], keys)
    return columns


def _sums(key: Int64s, values: Int64s, keys: int) -> Int64s:
    """Return the exact sum of the values of each key."""
    sums = np.zeros(keys, np.int64)
    np.add.at(sums, key, values)
    return sums
