"""The truth's partition of GPU time, against counting nanosecond by nanosecond."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tracemill_simulate.sweep import COMMUNICATION, COMPUTE, MEMORY, Sweep

interval = st.tuples(
    st.integers(0, 60), st.integers(0, 25), st.sampled_from([COMPUTE, COMMUNICATION, MEMORY])
)


def brute_force(intervals: list[tuple[int, int, int]]) -> dict[str, int]:
    running = np.zeros((3, 100), bool)
    for start, length, kind in intervals:
        running[kind, start : start + length] = True
    compute, comm, mem = running
    return {
        "compute_ns": int(compute.sum()),
        "comm_ns": int(comm.sum()),
        "mem_ns": int(mem.sum()),
        "overlap_ns": int((compute & comm).sum()),
        "exposed_comm_ns": int((comm & ~compute).sum()),
        "exposed_mem_ns": int((mem & ~comm & ~compute).sum()),
    }


@given(st.lists(interval, min_size=1, max_size=25), st.lists(st.integers(0, 90), max_size=4))
def test_any_horizons_give_what_counting_gives(
    intervals: list[tuple[int, int, int]], horizons: list[int]
) -> None:
    sweep, left = Sweep(), sorted(intervals)
    for horizon in sorted(horizons):
        now = [one for one in left if one[0] < horizon]
        left = left[len(now) :]
        give(sweep, now)
        sweep.advance(horizon)
    give(sweep, left)
    sweep.advance()
    found = sweep.partition
    expected = brute_force(intervals)
    assert {name: getattr(found, name) for name in expected} == expected
    assert found.start_ns == min(start for start, _, _ in intervals)
    assert found.end_ns == max(start + length for start, length, _ in intervals)
    assert found.busy_ns + found.idle_ns == found.window_ns


def give(sweep: Sweep, intervals: list[tuple[int, int, int]]) -> None:
    for start, length, kind in intervals:
        sweep.add(np.array([start]), np.array([start + length]), kind)
