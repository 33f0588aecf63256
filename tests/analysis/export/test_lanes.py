"""Slices on lanes: whatever overlaps, what a viewer reads back is what was recorded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tracemill_analysis.export.lanes import Lanes

SLICES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 15)), max_size=25)


def _read_back(slices: list[tuple[int, int]]) -> tuple[list[tuple[int, int]], int]:
    lanes = Lanes()
    moves = []
    for start, dur in sorted(slices, key=lambda s: (s[0], -s[1])):
        moves += list(lanes.add(start, dur))
    moves += list(lanes.close())
    found, used = [], {lane for lane, _, _ in moves}
    for lane in used:
        stack: list[int] = []
        times = [(time, begins) for one, time, begins in moves if one == lane]
        assert [t for t, _ in times] == sorted(t for t, _ in times)
        for time, begins in times:
            if begins:
                stack.append(time)
            else:
                found.append((stack[-1], time - stack.pop()))
        assert not stack
    return sorted(found), len(used)


@given(SLICES)
def test_every_slice_is_read_back_with_its_length(slices: list[tuple[int, int]]) -> None:
    assert _read_back(slices)[0] == sorted(slices)


def test_slices_that_nest_or_follow_share_a_lane() -> None:
    assert _read_back([(0, 10), (0, 5), (2, 3), (5, 5), (10, 0), (10, 4)])[1] == 1


def test_slices_that_overlap_do_not() -> None:
    assert _read_back([(0, 10), (5, 10), (7, 10)])[1] == 3
