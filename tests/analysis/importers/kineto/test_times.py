from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracemill_analysis.importers.kineto.times import LIMIT_NS, parse_us


def _parse(*texts: bytes) -> tuple[list[int], list[bool]]:
    values, ok = parse_us(texts)
    return values.tolist(), ok.tolist()


def test_full_epoch_with_three_decimals_is_exact() -> None:
    assert _parse(b"1716398122009853.422", b"1") == ([1716398122009853422, 1000], [True, True])
    assert float("1716398122009853.422") * 1000 != 1716398122009853422


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        (b"5", 5000),
        (b"5.2", 5200),
        (b"5.25", 5250),
        (b"5.2509", 5250),
        (b"5.2509999", 5250),
        (b"0.0001", 0),
        (b"-0.0001", -1),
        (b"-2.5", -2500),
        (b"1.5e3", 1_500_000),
        (b'"7.125"', 7125),
        (b"0.12345678901234567890", 123),
    ],
)
def test_one_value_alone_and_among_others(text: bytes, nanoseconds: int) -> None:
    assert _parse(text) == ([nanoseconds], [True])
    assert _parse(b"1", text, b"2.001") == ([1000, nanoseconds, 2001], [True] * 3)


@pytest.mark.parametrize(
    "text", [b"", b"null", b"true", b'"soon"', b"[1]", b'"NaN"', b"1e30", b"9223372036854775807"]
)
def test_unusable_values_are_told_apart(text: bytes) -> None:
    assert _parse(b"1", text, b"2.5") == ([1000, 0, 2500], [True, False, True])


def test_nothing() -> None:
    values, ok = parse_us([])
    assert values.dtype == np.int64 and len(values) == len(ok) == 0


_LIMIT_US = Decimal(LIMIT_NS - 1) / 1000


@given(
    st.lists(
        st.decimals(-_LIMIT_US, _LIMIT_US, allow_nan=False, places=3)
        | st.decimals(-_LIMIT_US, _LIMIT_US, allow_nan=False)
        | st.integers(0, 1 << 50).map(Decimal),
        max_size=20,
    )
)
def test_equals_exact_decimal_arithmetic(values: list[Decimal]) -> None:
    texts = [format(value, "f").encode() for value in values]
    nanoseconds, ok = parse_us(texts)
    assert nanoseconds.tolist() == [_floor(value * 1000) for value in values]
    assert ok.all()


def _floor(value: Decimal) -> int:
    numerator, denominator = value.as_integer_ratio()
    return numerator // denominator
