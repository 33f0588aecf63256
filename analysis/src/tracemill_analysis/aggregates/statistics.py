"""Counts, sums and exact quantiles of durations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracemill_analysis.aggregates.order import combined, grouped_sorted
from tracemill_analysis.intervals import Int64s


def quantile(ordered: NDArray[Any], percent: int) -> Any:
    """Return the ``percent``-th percentile of ascending values: the least observed value that at
    least that share of the values does not exceed (nearest rank; the median is the lower of two).

    The same value as DuckDB's ``quantile_disc``. IndexError if there are no values.
    """
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(rank, 1) - 1]


def distribution(durations: Int64s) -> dict[str, int | float]:
    """Return the columns of a distribution of at least one duration in ns."""
    return _of_ordered(np.sort(durations))


def distributions(
    keys: Mapping[str, tuple[Int64s, Sequence[Any]]], durations: Int64s
) -> list[dict[str, Any]]:
    """Return the distribution for each combination of keys that occurs, in their order.

    ``keys`` gives for each name the position of every duration's value among the distinct ones.
    """
    sizes = [len(values) for _, values in keys.values()]
    combination, _ = combined([codes for codes, _ in keys.values()], sizes)
    found, ordered, begins = grouped_sorted(combination, durations)
    rows: list[dict[str, Any]] = []
    for begin, end in zip(
        begins.tolist(), np.append(begins, len(ordered))[1:].tolist(), strict=True
    ):
        places = np.unravel_index(int(found[begin]), sizes)
        words = {
            name: values[int(at)]
            for (name, (_, values)), at in zip(keys.items(), places, strict=True)
        }
        rows.append({**words, **_of_ordered(ordered[begin:end])})
    return rows


def _of_ordered(ordered: Int64s) -> dict[str, int | float]:
    total = int(ordered.sum())
    return {
        "count": len(ordered),
        "total_ns": total,
        "min_ns": int(ordered[0]),
        "max_ns": int(ordered[-1]),
        "mean_ns": total / len(ordered),
        "p50_ns": int(quantile(ordered, 50)),
        "p95_ns": int(quantile(ordered, 95)),
        "p99_ns": int(quantile(ordered, 99)),
    }
