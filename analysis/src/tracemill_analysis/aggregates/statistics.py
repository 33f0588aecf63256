"""Counts, sums and exact quantiles of durations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    ordered = np.sort(durations)
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
