from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tracemill_analysis.events.extents import GpuExtents
from tracemill_analysis.events.nesting import NestingDepth
from tracemill_analysis.events.steps import StepCollector, StepIndex

_RANGES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(0, 8)), max_size=25)


def _brute_force(ranges: list[tuple[int, int, int]]) -> list[int]:
    depths = []
    for place, (thread, start, _) in enumerate(ranges):
        open_before = [1 for t, s, d in ranges[:place] if t == thread and s <= start < s + d]
        depths.append(len(open_before))
    return depths


@given(_RANGES, st.integers(1, 5))
def test_depth_equals_brute_force_in_any_batches(
    ranges: list[tuple[int, int, int]], size: int
) -> None:
    ranges.sort(key=lambda r: (r[1], -r[2]))
    nesting = NestingDepth()
    got: list[int] = []
    for first in range(0, len(ranges), size):
        columns = np.array(ranges[first : first + size], np.int64).T
        got += nesting.depths(*columns).tolist()
    assert got == _brute_force(ranges)


_LAUNCHES = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(0, 30), st.integers(0, 9)),
    max_size=20,
)


@given(_RANGES, _LAUNCHES, st.integers(1, 6), st.integers(0, 3))
def test_gpu_extent_equals_brute_force(
    ranges: list[tuple[int, int, int]],
    launches: list[tuple[int, int, int, int]],
    size: int,
    every: int,
) -> None:
    launches.sort(key=lambda launch: launch[1])
    threads, starts, durations = np.array(ranges, np.int64).reshape(-1, 3).T
    is_step = np.arange(len(ranges)) % 4 < every
    launching = {thread for thread, *_ in launches}
    extents = GpuExtents(
        threads, starts, starts + durations, is_step, np.array(sorted(launching), np.int64)
    )
    names = ("launch_thread", "launch_start_ns", "start_ns", "end_ns")
    for first in range(0, len(launches), size):
        batch = np.array([(t, s, g, g + d) for t, s, g, d in launches[first : first + size]])
        extents.add([dict(zip(names, batch.T, strict=True))])

    firsts, lasts, none = extents.result()
    for place, (thread, start, duration) in enumerate(ranges):
        inside = [x for x in launches if start <= x[1] < start + duration]
        own = [x for x in inside if x[0] == thread]
        taken = inside if is_step[place] or (not own and thread in launching) else own
        assert none[place] == (not taken)
        if taken:
            assert firsts[place] == min(g for _, _, g, _ in taken)
            assert lasts[place] == max(g + d for _, _, g, d in taken)


def test_step_of_a_time() -> None:
    def array(*values: int) -> np.ndarray:
        return np.array(values, np.int64)

    steps = StepIndex(array(20, 10), array(10, 8), array(5, 4))
    found, outside = steps.find(array(9, 10, 17, 18, 20, 29, 30))
    assert outside.tolist() == [True, False, False, True, False, False, True]
    assert found[~outside].tolist() == [4, 4, 5, 5]


def test_own_steps_go_before_those_of_the_profiler() -> None:
    collector = StepCollector()
    one = np.array([0], np.int64)
    collector.add("ProfilerStep", one, one + 10, [7])
    assert collector.index().find(one)[0].tolist() == [7]
    collector.add("step", one, one + 10, [3])
    assert collector.index().find(one)[0].tolist() == [3]
