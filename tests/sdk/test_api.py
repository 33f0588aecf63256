from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import pytest
import tracemill

from tests.sdk.conftest import Recorder
from tests.support import tmraw


def test_nested_ranges_have_series_index_depth_and_nest_in_time(recorder: Recorder) -> None:
    def body() -> None:
        for i in range(3):
            with tracemill.step(i), tracemill.annotate("Forward"):
                handle = tracemill.annotation_begin("Layer_7")
                tracemill.annotation_end(handle)

    segment = recorder.record(body)
    assert segment.ranges() == [
        row for i in range(3) for row in (("step", i, 0), ("Forward", -1, 1), ("Layer", 7, 2))
    ]
    rows = sorted(segment.rows["annotations"], key=lambda r: (r["start_ns"], r["depth"]))
    for outer, inner in ((0, 1), (1, 2), (3, 4), (6, 8)):
        assert rows[outer]["start_ns"] <= rows[inner]["start_ns"]
        end_outer = rows[outer]["start_ns"] + rows[outer]["dur_ns"]
        assert rows[inner]["start_ns"] + rows[inner]["dur_ns"] <= end_outer
    assert segment.drops() == {}
    assert segment.meta["end_reason"] == "stopped"


def test_times_are_monotonic_clock_nanoseconds(recorder: Recorder) -> None:
    marks: list[int] = []

    def body() -> None:
        for _ in range(5):
            marks.append(time.monotonic_ns())
            with tracemill.annotate("sleep"):
                marks.append(time.monotonic_ns())
                time.sleep(0.03)
                marks.append(time.monotonic_ns())
            marks.append(time.monotonic_ns())

    rows = recorder.record(body, flush_interval_ms=20).rows["annotations"]
    slack_ns = 2_000  # the counter is read between two system clock readings
    for row, (before, inside, last_inside, after) in zip(
        rows, zip(*[iter(marks)] * 4, strict=True), strict=True
    ):
        end = row["start_ns"] + row["dur_ns"]
        assert before - slack_ns <= row["start_ns"] <= inside + slack_ns
        assert last_inside - slack_ns <= end <= after + slack_ns


def test_calls_without_a_recording_do_nothing() -> None:
    assert tracemill.annotation_begin("x") == 0
    tracemill.annotation_end(0)
    tracemill.stop()
    with tracemill.annotate("x"), tracemill.step(1):
        pass
    assert not tracemill.is_recording()
    assert tracemill.status()["state"] == "idle"


def test_wrong_and_late_handles_are_ignored_and_counted(recorder: Recorder) -> None:
    before = tracemill.status()["ignored_ends"]

    def body() -> None:
        handle = tracemill.annotation_begin("once")
        tracemill.annotation_end(handle)
        tracemill.annotation_end(handle)
        for nonsense in (12345, -1, 2**64, 2**80, None, "text", 1.5, object(), True):
            tracemill.annotation_end(nonsense)  # type: ignore[arg-type]

    segment = recorder.record(body)
    assert segment.names() == ["once"]
    assert tracemill.status()["ignored_ends"] - before == 10


def test_ranges_may_end_in_any_order(recorder: Recorder) -> None:
    def body() -> None:
        first, second, third = (tracemill.annotation_begin(name) for name in "abc")
        tracemill.annotation_end(first)
        tracemill.annotation_end(third)
        tracemill.annotation_end(second)
        with tracemill.annotate("after"):
            pass

    segment = recorder.record(body)
    assert segment.ranges() == [("a", -1, 0), ("b", -1, 1), ("c", -1, 2), ("after", -1, 0)]


def test_a_range_ended_by_another_thread_belongs_to_the_one_that_began_it(
    recorder: Recorder,
) -> None:
    def body() -> None:
        handle = tracemill.annotation_begin("handed over")
        other = threading.Thread(target=lambda: tracemill.annotation_end(handle))
        other.start()
        other.join()
        tracemill.annotation_end(handle)
        with tracemill.annotate("next"):
            pass

    segment = recorder.record(body)
    assert segment.ranges() == [("handed over", -1, 0), ("next", -1, 0)]
    assert {row["thread"] for row in segment.rows["annotations"]} == {threading.get_native_id()}
    assert segment.drops() == {}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (7, "7"),
        (None, "None"),
        ("bad \ud800 text", "bad ? text"),
        ("ünïcode/日本_3", "ünïcode/日本_3"),
        ("", ""),
    ],
)
def test_any_object_may_be_a_name(recorder: Recorder, given: Any, shown: str) -> None:
    def body() -> None:
        with tracemill.annotate(given):
            pass

    assert recorder.record(body).names() == [shown]


def test_a_name_whose_str_raises_does_not_reach_the_script(recorder: Recorder) -> None:
    class Broken:
        def __str__(self) -> str:
            raise RuntimeError("no")

    def body() -> None:
        with tracemill.annotate(Broken()):  # type: ignore[arg-type]
            pass

    assert recorder.record(body).drops() == {"name_limit": 1}


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (0, "step_0"),
        (-1, "step_-1"),
        (10**18, f"step_{10**18}"),
        ("a", "step_a"),
        (1.5, "step_1.5"),
    ],
)
def test_step_takes_any_number(recorder: Recorder, number: Any, name: str) -> None:
    def body() -> None:
        with tracemill.step(number):
            pass

    assert recorder.record(body).names() == [name]


def test_the_same_object_may_be_entered_again(recorder: Recorder) -> None:
    def body() -> None:
        again = tracemill.annotate("again")
        with again, again:
            pass
        with again:
            pass

    assert recorder.record(body).ranges() == [("again", -1, d) for d in (0, 1, 0)]


def test_decorated_functions_keep_what_they_are(recorder: Recorder) -> None:
    @tracemill.annotate("plain")
    def plain(a: int, b: int = 2) -> int:
        """Doc."""
        return a + b

    @tracemill.annotate("generator")
    def generator() -> Generator[int, int, None]:
        received = yield 1
        yield received

    @tracemill.annotate("coroutine")
    async def coroutine(value: int) -> int:
        await asyncio.sleep(0)
        return value

    @tracemill.annotate("async generator")
    async def async_generator() -> AsyncGenerator[int, None]:
        try:
            yield 1
            yield 2
        except ValueError:
            yield 3

    class Thing:
        @tracemill.annotate("method")
        def method(self) -> int:
            return 1

        @tracemill.annotate("static")
        @staticmethod
        def static() -> int:
            return 2

        @classmethod
        @tracemill.annotate("class")
        def klass(cls) -> type:
            return cls

    assert plain.__name__ == "plain"
    assert plain.__doc__ == "Doc."
    assert inspect.iscoroutinefunction(coroutine)
    assert inspect.isasyncgenfunction(async_generator)

    async def use_async() -> list[int]:
        values = [await coroutine(5)]
        values += [item async for item in async_generator()]
        thrown = async_generator()
        values.append(await thrown.__anext__())
        values.append(await thrown.athrow(ValueError()))
        await thrown.aclose()
        return values

    def body() -> None:
        assert plain(1) == 3
        running = generator()
        assert next(running) == 1
        assert running.send(9) == 9
        assert list(running) == []
        assert asyncio.run(use_async()) == [5, 1, 2, 1, 3]
        thing = Thing()
        assert (thing.method(), thing.static(), Thing.klass()) == (1, 2, Thing)

    names = recorder.record(body).names()
    expected = ["plain", "generator", "coroutine", "async generator", "async generator"]
    assert names == [*expected, "method", "static", "class"]


def test_decorated_coroutines_that_interleave_are_all_recorded(recorder: Recorder) -> None:
    @tracemill.annotate("task")
    async def task(turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)

    async def together() -> None:
        await asyncio.gather(*(task(turns) for turns in (5, 1, 3)))

    segment = recorder.record(lambda: asyncio.run(together()))
    assert segment.names() == ["task"] * 3
    assert segment.drops() == {}


def test_an_exception_in_the_block_passes_through(recorder: Recorder) -> None:
    def body() -> None:
        with pytest.raises(KeyError), tracemill.annotate("failing"):
            raise KeyError("x")

    assert recorder.record(body).names() == ["failing"]


@pytest.mark.parametrize("call", [tracemill.annotate, tracemill.annotation_begin])
def test_wrong_arguments_are_a_type_error(call: Any) -> None:
    assert call(name="x") is not None
    for arguments, keywords in (((), {}), (("a", "b"), {}), ((), {"nam": "a"})):
        with pytest.raises(TypeError, match="takes one argument, name"):
            call(*arguments, **keywords)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_step": 5}, "unknown option 'max_step'; the options are output, job"),
        ({"max_steps": "many"}, "option max_steps: expected a whole number, not 'many'"),
        ({"max_steps": True}, "option max_steps: expected a whole number"),
        ({"max_steps": 1.5}, "option max_steps: expected a whole number"),
        ({"max_steps": -1}, "option max_steps: -1 is outside 0.."),
        ({"flush_interval_ms": 0}, "option flush_interval_ms: 0 is outside 10.."),
        ({"cpu_interval_ms": 3}, "option cpu_interval_ms: take 0 \\(off\\) or at least 10"),
        ({"ring_events": 1}, "option ring_events: 1 is outside 16.."),
        ({"enabled": "maybe"}, "option enabled: expected 1 or 0, not 'maybe'"),
        ({"output": ""}, "option output: expected a non-empty text"),
        ({"output": 5}, "option output: expected a non-empty text"),
        ({"job": "a/b"}, "job name 'a/b' cannot be used"),
        ({"schedule": (1, 2)}, "schedule: expected tracemill.schedule"),
    ],
)
def test_misuse_is_a_value_error_and_nothing_is_started(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        tracemill.start(**{"output": str(tmp_path), **options})
    assert not tracemill.is_recording()
    assert list(tmp_path.iterdir()) == []


def test_profile_checks_its_options_at_once() -> None:
    with pytest.raises(ValueError, match="unknown option 'colour'"):
        tracemill.profile(colour="red")
    with pytest.raises(ValueError, match="schedule: active must be a whole number from 1"):
        tracemill.schedule(active=0)


def test_profile_records_its_block_and_says_if_it_failed(tmp_path: Path) -> None:
    options = {"output": str(tmp_path), "job": "job", "max_steps": 0}
    inside = tracemill.annotate("inside")
    with tracemill.profile(**options), tracemill.profile(**options), inside:
        pass
    with pytest.raises(RuntimeError), tracemill.profile(**options):
        raise RuntimeError("secret text")
    first, second = tmraw.read_all(tmp_path)
    assert first.names() == ["inside"]
    assert first.meta["failed"] is False
    assert second.meta["failed"] is True
    assert second.meta["exception"] == "RuntimeError"
    assert "secret" not in str(second.metas)


def test_start_and_stop_any_number_of_times(recorder: Recorder) -> None:
    for epoch in range(3):
        recorder.start()
        recorder.start()  # already running: nothing happens
        for i in range(2):
            with tracemill.annotate(f"step_{i}"):
                pass
        with tracemill.annotate(f"epoch {epoch}"):
            pass
        recorder.stop()
        recorder.stop()
        with tracemill.annotate("between"):
            pass
    segments = tmraw.read_all(recorder.folder)
    assert [s.names() for s in segments] == [["step_0", "step_1", f"epoch {e}"] for e in range(3)]
    assert [s.meta["segment"] for s in segments] == [0, 1, 2]
    assert len({path.parent for path in recorder.folder.rglob("*.tmraw")}) == 1
    assert "end_reason" not in segments[0].metas[0]
    assert segments[1].metas[0]["end_reason"] is None


def test_disabled_turns_everything_off(tmp_path: Path) -> None:
    tracemill.start(output=str(tmp_path), enabled="0")
    assert not tracemill.is_recording()
    assert list(tmp_path.iterdir()) == []


def test_status_tells_folder_bytes_and_drops(recorder: Recorder) -> None:
    recorder.start()
    with tracemill.annotate("x" * 5000):
        pass
    recorder.stop()
    status = tracemill.status()
    (file,) = recorder.folder.rglob("*.tmraw")
    assert Path(status["folder"]) == file.parent
    assert status["written_bytes"] >= file.stat().st_size
    assert status["drops"]["name_limit"] >= 1
    assert status["recording"] is False
