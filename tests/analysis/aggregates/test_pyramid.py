"""The timeline pyramid: nothing is lost at any level."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tracemill_analysis import aggregates
from tracemill_analysis.aggregates.pyramid import coarsen, level_bins, levels

from tests.support import tables as t

MS = 1 << 20


def test_levels_follow_the_length_of_the_profile() -> None:
    assert level_bins(64 * MS - 1) == []
    assert level_bins(64 * MS) == [MS]
    assert level_bins(3600 * 10**9) == [MS * 4**i for i in range(8)]


events = st.lists(st.tuples(st.integers(-30, 200), st.integers(0, 40)), max_size=20)


@given(events, st.sampled_from([1, 4, 16, 64]))
def test_counts_and_covered_time_are_conserved(items: list[tuple[int, int]], bin_ns: int) -> None:
    items = sorted(items)
    start = np.array([at for at, _ in items], np.int64)
    end = start + np.array([dur for _, dur in items], np.int64)
    level = coarsen(start, end, bin_ns)
    assert int(level.count.sum()) == len(items)
    exact = [(at, dur) for at, dur in items if dur >= bin_ns]
    kept = zip(level.start[level.exact], level.duration[level.exact], strict=True)
    assert sorted((int(at), int(dur)) for at, dur in kept) == exact
    short = [(at, dur) for at, dur in items if dur < bin_ns]
    covered = {ns for at, dur in short for ns in range(at, at + dur)}
    rows = zip(*(a[~level.exact].tolist() for a in _columns(level)), strict=True)
    for begin, duration, count, busy, event in rows:
        assert (begin % bin_ns, duration) == (0, bin_ns)
        assert busy == len(covered & set(range(begin, begin + bin_ns)))
        here = [dur for at, dur in short if begin <= at < begin + bin_ns]
        assert count == len(here)
        if here:
            assert items[event][1] == max(here)
        else:
            assert items[event][0] < begin
    assert int(level.busy[~level.exact].sum()) == len(covered)
    assert (np.diff(level.start) >= 0).all()


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3) | st.integers(0, 90)), max_size=25),
    st.integers(-40, 0),
    st.booleans(),
)
def test_levels_made_from_finer_ones_are_those_made_from_events(
    items: list[tuple[int, int]], origin: int, overlapping: bool
) -> None:
    starts, ends, at = [], [], origin
    for gap, duration in items:
        at += gap
        starts.append(at)
        ends.append(at + duration)
        at += 0 if overlapping else duration
    start, end = np.array(starts, np.int64), np.array(ends, np.int64)
    bins = [1, 4, 16, 64]
    for bin_ns, level in zip(bins, levels(start, end, bins), strict=True):
        direct = coarsen(start, end, bin_ns)
        for name in ("exact", "start", "duration", "count", "busy", "event"):
            assert getattr(level, name).tolist() == getattr(direct, name).tolist(), name


def _columns(level: object) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]:
    return tuple(getattr(level, n) for n in ("start", "duration", "count", "busy", "event"))


def test_lanes_of_a_process(tmp_path: Path) -> None:
    second = 1000 * MS
    store = t.store_with(
        tmp_path,
        processes=[t.process(start_ns=0, end_ns=second)],
        kernels=[
            t.kernel(MS + 10, 100, stream=7, name="a"),
            t.kernel(MS + 200, 300, stream=7, name="b"),
            t.comm(10 * MS, 5 * MS, stream=8),
        ],
        memory_ops=[t.memory_op(MS + 600, 50, stream=7, name="copy")],
        annotations=[t.annotation("step", 1, 0, second, thread=3)],
        operators=[t.row("operators", name="add", thread=3, depth=1, start_ns=5, dur_ns=9)],
        api_calls=[t.row("api_calls", name="launch", thread=3, start_ns=4, dur_ns=2)],
    )
    aggregates.build(store, t.JOB)
    rows = t.rows_of(store, "timeline_levels")
    assert {row["bin_ns"] for row in rows} == {MS, 4 * MS}
    names = ("lane", "device", "stream", "thread", "depth", "exact", "start_ns", "dur_ns", "count")
    finest = [row for row in rows if row["bin_ns"] == MS]
    assert t.only(finest, *names, "busy_ns", "name", "category") == [
        ("annotation", None, None, 3, 0, True, 0, second, 1, second, "step_1", "host"),
        ("api", None, None, 3, None, False, 0, MS, 1, 2, "launch", "host"),
        ("device", 0, None, None, None, False, MS, MS, 3, 450, "busy", "busy"),
        ("device", 0, None, None, None, True, 10 * MS, 5 * MS, 1, 5 * MS, "busy", "busy"),
        (
            *("device_comm", 0, None, None, None, True, 10 * MS, 5 * MS, 1, 5 * MS),
            *("communication", "communication"),
        ),
        ("operator", None, None, 3, 1, False, 0, MS, 1, 9, "add", "host"),
        ("stream", 0, 7, None, None, False, MS, MS, 3, 450, "b", "compute"),
        (
            *("stream", 0, 8, None, None, True, 10 * MS, 5 * MS, 1, 5 * MS),
            *("ncclKernel_AllReduce", "communication"),
        ),
    ]


def test_a_short_profile_has_no_levels(tmp_path: Path) -> None:
    store = t.store_with(tmp_path, processes=[t.process()], kernels=[t.kernel(0, 5)])
    aggregates.build(store, t.JOB)
    assert "timeline_levels" not in store.list_folders("tables/")
