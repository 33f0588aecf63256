"""Sorting and grouping by several columns agrees with plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tracemill_analysis.aggregates.order import (
    by_code,
    coded,
    combined,
    grouped_sorted,
    order_by,
    run_starts,
)

_ROWS = st.lists(st.tuples(*[st.integers(-3, 3) | st.integers(-(1 << 60), 1 << 60)] * 3))


def _columns(rows: list[tuple[int, int, int]]) -> list[np.ndarray]:
    return [np.array([row[at] for row in rows], np.int64) for at in range(3)]


@given(_ROWS)
def test_order_by_sorts_by_one_column_after_the_other(rows: list[tuple[int, int, int]]) -> None:
    first, second, third = _columns(rows)
    order = order_by(first, second, third)
    assert sorted(order.tolist()) == list(range(len(rows)))
    assert [rows[at] for at in order] == sorted(rows)


@given(_ROWS)
def test_codes_keep_the_order_of_values(rows: list[tuple[int, int, int]]) -> None:
    values = _columns(rows)[0]
    codes, distinct = coded(values)
    assert distinct.tolist() == sorted(set(values.tolist()))
    assert distinct[codes].tolist() == values.tolist()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2))))
def test_combined_codes_and_their_places(rows: list[tuple[int, int]]) -> None:
    columns = [np.array([row[at] for row in rows], np.int64) for at in range(2)]
    codes, size = combined(columns, [4, 3])
    assert size == 12
    assert codes.tolist() == [first * 3 + second for first, second in rows]
    places = [found.tolist() for found in by_code(codes, size)]
    assert places == [[n for n, c in enumerate(codes.tolist()) if c == code] for code in range(12)]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-9, 9) | st.integers(0, 1 << 61))))
def test_values_sorted_within_their_keys(rows: list[tuple[int, int]]) -> None:
    keys, values = (np.array([row[at] for row in rows], np.int64) for at in range(2))
    sorted_keys, sorted_values, begins = grouped_sorted(keys, values)
    assert list(zip(sorted_keys.tolist(), sorted_values.tolist(), strict=True)) == sorted(rows)
    assert sorted_keys[begins].tolist() == sorted(set(keys.tolist()))
    assert begins.tolist() == run_starts(sorted_keys).tolist()
