"""Robust statistics on integer nanoseconds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MAD_TO_SIGMA = 1.4826
"""Median absolute deviation times this estimates the standard deviation of normal data."""


def median(values: Iterable[int]) -> int:
    """Return the median, the lower of the two middle values; 0 for no values."""
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2] if ordered else 0


def mad(values: Sequence[int]) -> int:
    """Return the median absolute deviation from the median."""
    middle = median(values)
    return median(abs(value - middle) for value in values)


def outlier_threshold(values: Sequence[int], sigmas: float, factor: float) -> float:
    """Return the value above which one of ``values`` stands out.

    It has to be both ``sigmas`` robust standard deviations above the median and ``factor`` times
    it: the first keeps noisy runs quiet, the second runs without any noise.
    """
    middle = median(values)
    return max(middle + sigmas * MAD_TO_SIGMA * mad(values), factor * middle)
