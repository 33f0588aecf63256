from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
import tracemill
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sdk.conftest import Recorder
from tests.support import tmraw

_WORD = st.text("ab_0é", max_size=4)
_NUMBER = st.one_of(
    st.integers(0, 10**19).map(str),
    st.sampled_from(["", "00", "01", "0", "-1", "9" * 18, "9" * 19]),
)
_NAMES = st.lists(st.tuples(_WORD, st.sampled_from(["", "_"]), _NUMBER).map("".join), max_size=40)


@settings(max_examples=60, deadline=None)
@given(_NAMES)
def test_every_name_can_be_rebuilt(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tracemill.start(output=folder, job="job", cpu_interval_ms=0, max_steps=0)
        for name in names:
            with tracemill.annotate(name):
                pass
        tracemill.stop()
        assert tmraw.read_one(Path(folder)).names() == names


@pytest.mark.parametrize(
    ("name", "series", "index"),
    [
        ("step_0", "step", 0),
        ("step_12", "step", 12),
        ("layer_3_4", "layer_3", 4),
        ("__7", "_", 7),
        ("step_" + "9" * 18, "step", 10**18 - 1),
        ("step_" + "1" * 19, "step_" + "1" * 19, -1),
        ("step_01", "step_01", -1),
        ("step_00", "step_00", -1),
        ("step_-1", "step_-1", -1),
        ("step_", "step_", -1),
        ("step1", "step1", -1),
        ("_5", "_5", -1),
        ("5", "5", -1),
        ("step_٣", "step_٣", -1),
    ],
)
def test_canonical_numbers_fold(recorder: Recorder, name: str, series: str, index: int) -> None:
    def body() -> None:
        with tracemill.annotate(name):
            pass

    assert recorder.record(body).ranges() == [(series, index, 0)]


def test_a_series_is_stored_once(recorder: Recorder) -> None:
    def body() -> None:
        for i in range(1000):
            with tracemill.annotate(f"batch_{i}"):
                pass

    segment = recorder.record(body)
    assert list(segment.strings.values()) == ["batch"]
    assert [index for _, index, _ in segment.ranges()] == list(range(1000))
