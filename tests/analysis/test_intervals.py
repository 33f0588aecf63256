"""Interval sets against a model that marks every nanosecond."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracemill_analysis import intervals as iv

SPAN = 60
Pairs = list[tuple[int, int]]

pairs = st.lists(
    st.tuples(st.integers(0, SPAN), st.integers(0, 12)).map(lambda p: (p[0], min(SPAN, sum(p)))),
    max_size=14,
)


def arrays(items: Pairs) -> tuple[iv.Int64s, iv.Int64s]:
    return (
        np.array([start for start, _ in items], np.int64),
        np.array([end for _, end in items], np.int64),
    )


def make(items: Pairs) -> iv.Intervals:
    return iv.union(*arrays(items))


def marks(items: Pairs) -> set[int]:
    return {t for start, end in items for t in range(start, end)}


def points(intervals: iv.Intervals) -> set[int]:
    return marks(list(zip(intervals.starts.tolist(), intervals.ends.tolist(), strict=True)))


def assert_canonical(intervals: iv.Intervals) -> None:
    assert intervals.starts.dtype == intervals.ends.dtype == np.int64
    assert (intervals.ends > intervals.starts).all()
    assert (intervals.starts[1:] > intervals.ends[:-1]).all()


@given(pairs)
def test_union_covers_exactly_the_marked_nanoseconds(items: Pairs) -> None:
    result = make(items)
    assert_canonical(result)
    assert points(result) == marks(items)
    assert iv.length(result) == len(marks(items))


@given(pairs, pairs)
def test_set_operations_equal_the_model(left: Pairs, right: Pairs) -> None:
    first, second = make(left), make(right)
    for result, expected in (
        (iv.intersect(first, second), marks(left) & marks(right)),
        (iv.subtract(first, second), marks(left) - marks(right)),
        (iv.merge(first, second), marks(left) | marks(right)),
    ):
        assert_canonical(result)
        assert points(result) == expected


@given(pairs, st.integers(-5, SPAN + 5), st.integers(0, SPAN))
def test_clip_and_gaps_partition_the_window(items: Pairs, start: int, size: int) -> None:
    window = set(range(start, start + size))
    inside, outside = (
        iv.clip(make(items), start, start + size),
        iv.gaps(make(items), start, start + size),
    )
    assert_canonical(inside)
    assert_canonical(outside)
    assert points(inside) == marks(items) & window
    assert points(outside) == window - marks(items)
    assert iv.length(inside) + iv.length(outside) == size


@given(pairs, st.integers(-7, 20), st.integers(1, 9), st.integers(0, 12))
def test_bins_hold_the_marked_nanoseconds(
    items: Pairs, origin: int, bin_ns: int, bins: int
) -> None:
    result = iv.bin_lengths(*arrays(items), origin, bin_ns, bins)
    expected = [
        sum(origin + i * bin_ns <= t < origin + (i + 1) * bin_ns for t in marks(items))
        for i in range(bins)
    ]
    assert result.dtype == np.int64
    assert result.tolist() == expected


@given(pairs)
def test_bins_that_span_everything_conserve_busy_time(items: Pairs) -> None:
    result = iv.bin_lengths(*arrays(items), 0, 7, SPAN // 7 + 1)
    assert int(result.sum()) == iv.length(make(items))


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([], []),
        ([(5, 5)], []),
        ([(5, 3)], []),
        ([(0, 2), (2, 4)], [(0, 4)]),
        ([(0, 9), (2, 4)], [(0, 9)]),
        ([(1, 3), (1, 3), (1, 3)], [(1, 3)]),
        ([(6, 8), (0, 2), (3, 5)], [(0, 2), (3, 5), (6, 8)]),
        ([(0, 10), (1, 2), (9, 12)], [(0, 12)]),
    ],
)
def test_union_of_special_cases(items: Pairs, expected: Pairs) -> None:
    result = make(items)
    assert list(zip(result.starts.tolist(), result.ends.tolist(), strict=True)) == expected


def test_full_epoch_nanoseconds_stay_exact() -> None:
    base = 1_790_000_000_123_456_789
    result = make([(base, base + 3), (base + 1, base + 7), (base + 8, base + 9)])
    assert iv.length(result) == 8
    assert iv.covered_before(result, np.array([base + 5, base + 100], np.int64)).tolist() == [5, 8]


def test_many_nested_intervals_do_not_overflow_membership() -> None:
    first = make([(2 * i, 2 * i + 1) for i in range(1000)])
    second = make([(0, 2000)])
    assert iv.length(iv.intersect(first, second)) == 1000
    assert iv.length(iv.subtract(second, first)) == 1000


def test_inputs_are_not_changed() -> None:
    starts, ends = arrays([(5, 9), (1, 3), (2, 2)])
    iv.bin_lengths(starts, ends, 0, 2, 4)
    assert starts.tolist() == [5, 1, 2]
    assert ends.tolist() == [9, 3, 2]
