"""Numbers for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracemill_analysis import units


@pytest.mark.parametrize(
    ("ns", "shown"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1.00 µs"),
        (51_000_000, "51.0 ms"),
        (412_000_000, "412 ms"),
        (999_600_000, "1.00 s"),
        (1_230_000_000, "1.23 s"),
        (119_000_000_000, "119 s"),
        (150_000_000_000, "2.50 min"),
        (9_000_000_000_000, "2.50 h"),
        (-1_500, "-1.50 µs"),
    ],
)
def test_duration(ns: int, shown: str) -> None:
    assert units.duration(ns) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.50 KiB"),
        (1 << 30, "1.00 GiB"),
        (3 << 49, "1.50 PiB"),
    ],
)
def test_size(count: int, shown: str) -> None:
    assert units.size(count) == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.0, "0 %"),
        (0.00001, "< 0.01 %"),
        (0.0004, "0.04 %"),
        (0.041, "4.1 %"),
        (0.406, "41 %"),
        (0.99, "99.0 %"),
        (0.9997, "99.9 %"),
        (1.0, "100 %"),
        (1.5, "150 %"),
    ],
)
def test_percent_never_rounds_up_to_the_whole(share: float, shown: str) -> None:
    assert units.percent(share) == shown


def test_other_units() -> None:
    assert units.bandwidth(10.1e9) == "10.1 GB/s"
    assert units.integer(1_234_567) == "1,234,567"
    assert (units.factor(8.07), units.factor(20.4)) == ("8.1x", "20x")
    assert (units.plural(1, "process"), units.plural(3, "process")) == ("1 process", "3 processes")
    assert units.hours(12.4) == "12.4 GPU-hours"
    assert units.hours(1 / 3600) == "1.00 s over all GPUs"


@pytest.mark.parametrize(
    ("ns", "gpu_hours", "shown"),
    [
        (0, 0.0, "no time can be put to it"),
        (5_000_000, 0.0, "5.00 ms at stake"),
        (5_000_000, 5e6 / 3.6e12, "5.00 ms at stake"),
        (5_000_000, 2e7 / 3.6e12, "5.00 ms at stake per GPU, 20.0 ms over all GPUs"),
        (3_600_000_000_000, 8.0, "60.0 min at stake per GPU, 8.00 GPU-hours"),
    ],
)
def test_what_is_at_stake(ns: int, gpu_hours: float, shown: str) -> None:
    assert units.at_stake(ns, gpu_hours) == shown


@given(st.integers(0, 10**17))
def test_durations_are_short_and_close(ns: int) -> None:
    number, unit = units.duration(ns).split(" ")
    scale = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 6e10, "h": 3.6e12}[unit]
    assert float(number) * scale == pytest.approx(ns, rel=0.006)
    assert len(number) <= 6
