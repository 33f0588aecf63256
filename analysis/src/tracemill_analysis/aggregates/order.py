"""Sorting and grouping of many events by several integer columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracemill_analysis.intervals import Int64s

_SMALL = 1 << 16


def order_by(first: Int64s, *others: Int64s) -> Int64s:
    """Return the positions that sort by ``first``, then by each of ``others``.

    Fast where few values of ``first`` are equal (times): only those are compared further.
    """
    # Event tables are long sorted runs one after the other, which the stable sort merges.
    unsorted = (first[1:] < first[:-1]).any()
    order = np.argsort(first, kind="stable") if unsorted else np.arange(len(first))
    ordered = first[order]
    same = ordered[1:] == ordered[:-1]
    if not same.any():
        return order
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    rows = order[tied]
    order[tied] = rows[np.lexsort((*(column[rows] for column in others[::-1]), first[rows]))]
    return order


def run_starts(*columns: Int64s) -> Int64s:
    """Return the positions at which any of some (grouped) columns changes, the first included."""
    size = len(columns[0])
    if not size:
        return np.empty(0, np.int64)
    differs = np.zeros(size - 1, np.bool_)
    for column in columns:
        differs |= column[1:] != column[:-1]
    return np.concatenate((np.zeros(1, np.int64), np.flatnonzero(differs) + 1))


def by_code(codes: Int64s, count: int) -> list[Int64s]:
    """Return for each code from 0 to ``count`` - 1 the positions that have it, ascending."""
    # numpy sorts 16-bit integers by counting, which takes no comparisons.
    small = codes.astype(np.uint16) if count <= _SMALL else codes
    order = np.argsort(small, kind="stable")
    edges = np.cumsum(np.bincount(codes, minlength=count))[:-1]
    return np.split(order, edges)


def combined(codes: list[Int64s], counts: list[int]) -> tuple[Int64s, int]:
    """Return one code for each combination of codes, in their order, and how many there can be."""
    result, size = np.zeros(len(codes[0]), np.int64), 1
    for code, count in zip(codes, counts, strict=True):
        result = result * count + code
        size *= count
    return result, size


def coded(values: Int64s) -> tuple[Int64s, Int64s]:
    """Return positions in the sorted distinct values, and these values."""
    if not len(values):
        return values, values
    low, high = int(values.min()), int(values.max())
    if low == high:
        return np.zeros(len(values), np.int64), np.array([low], np.int64)
    if high - low < _SMALL:
        met = np.zeros(high - low + 1, np.bool_)
        met[values - low] = True
        return (np.cumsum(met) - 1)[values - low], np.flatnonzero(met) + low
    # Threads and streams: few values, far apart, in long runs.
    begins = run_starts(values)
    distinct, places = np.unique(values[begins], return_inverse=True)
    return np.repeat(places, np.diff(np.append(begins, len(values)))), distinct


def grouped_sorted(keys: Int64s, values: Int64s) -> tuple[Int64s, Int64s, NDArray[np.int64]]:
    """Sort values within their keys: sorted keys, values beside them, where each key begins."""
    bits = int(values.max(initial=0)).bit_length()
    if not len(keys) or int(values.min()) < 0 or int(keys.max()) >= 1 << (62 - bits):
        order = np.lexsort((values, keys))
        keys, values = keys[order], values[order]
    else:
        # Both in one number: sorting plain numbers is several times faster than sorting positions.
        packed = np.sort((keys << bits) | values)
        keys, values = packed >> bits, packed & ((1 << bits) - 1)
    return keys, values, run_starts(keys)
