from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import tracemill

from tests.sdk.conftest import Recorder
from tests.support import tmraw
from tests.support.recording import run


def _states(segment: tmraw.Segment) -> list[int]:
    return [row["state"] for row in segment.rows["capture"]]


def test_the_step_limit_ends_the_capture_and_sampling_goes_on(tmp_path: Path) -> None:
    run(
        tmp_path,
        """
        import time, tracemill
        tracemill.start(max_steps=3, flush_interval_ms=50, cpu_interval_ms=20)
        with tracemill.annotate("epoch"):
            for i in range(6):
                with tracemill.step(i), tracemill.annotate("Forward"):
                    time.sleep(0.05)
        time.sleep(0.3)
        """,
    )
    segment = tmraw.read_one(tmp_path)
    # The range around the steps began inside the capture and is kept.
    assert segment.names() == ["epoch"] + ["step_0", "Forward", "step_1", "Forward", "step_2",
                                           "Forward"]  # fmt: skip
    assert segment.drops() == {"step_limit": 6}
    assert _states(segment) == [1, 0]
    assert {"capture_end_reason": "step_limit"} in segment.metas
    assert segment.metas[-1]["end_reason"] == "step_limit"
    assert segment.metas[-1]["stop_reason"] == "exit"
    ended_ns = segment.rows["capture"][1]["time_ns"]
    assert max(row["time_ns"] for row in segment.rows["samples"]) > ended_ns + 300_000_000


def test_the_step_limit_counts_over_all_recordings_of_a_process(tmp_path: Path) -> None:
    run(
        tmp_path,
        """
        import tracemill
        for epoch in range(3):
            tracemill.start(max_steps=5, cpu_interval_ms=0)
            for i in range(3):
                with tracemill.annotate(f"step_{i}"):
                    pass
            tracemill.stop()
        """,
    )
    first, second, third = tmraw.read_all(tmp_path)
    assert [len(s.ranges()) for s in (first, second, third)] == [3, 2, 0]
    assert [s.metas[-1]["end_reason"] for s in (first, second, third)] == [
        "stopped",
        "step_limit",
        "step_limit",
    ]
    assert "capture" not in third.rows
    assert third.drops() == {"step_limit": 3}


def test_a_schedule_captures_its_windows(recorder: Recorder) -> None:
    def body() -> None:
        for i in range(12):
            with tracemill.step(i), tracemill.annotate("inner"):
                pass

    plan = tracemill.schedule(skip=1, warmup=2, active=2, repeat=2)
    segment = recorder.record(body, schedule=plan)
    assert segment.names() == [name for i in (3, 4, 7, 8) for name in (f"step_{i}", "inner")]
    assert _states(segment) == [1, 0, 1, 0]
    assert segment.drops() == {}
    assert segment.meta["end_reason"] == "stopped"


def test_a_schedule_without_pause_captures_from_the_start(recorder: Recorder) -> None:
    def body() -> None:
        with tracemill.annotate("before"):
            pass
        for i in range(3):
            with tracemill.step(i):
                pass

    segment = recorder.record(body, schedule=tracemill.schedule(active=2, repeat=1))
    assert segment.names() == ["before", "step_0", "step_1"]
    assert _states(segment) == [1, 0]


def test_a_full_ring_drops_and_counts(recorder: Recorder) -> None:
    rounds = 200_000

    def body() -> None:
        for _ in range(rounds):
            tracemill.annotation_end(tracemill.annotation_begin("x"))

    segment = recorder.record(body, ring_events=16)
    kept = len(segment.rows["annotations"])
    assert kept + segment.drops()["ring_full"] == rounds
    assert 16 <= kept < rounds


def test_a_busy_thread_wakes_the_recorder_before_its_ring_is_full(recorder: Recorder) -> None:
    def body() -> None:
        for _ in range(50):
            for _ in range(400):
                tracemill.annotation_end(tracemill.annotation_begin("x"))
            time.sleep(0.005)

    segment = recorder.record(body, ring_events=4096, flush_interval_ms=60_000)
    assert len(segment.rows["annotations"]) == 20_000
    assert segment.drops() == {}


def test_the_byte_budget_holds_and_is_told(tmp_path: Path) -> None:
    budget = 100_000
    run(
        tmp_path,
        f"""
        import random, time, tracemill
        tracemill.start(max_bytes={budget}, flush_interval_ms=10, cpu_interval_ms=10)
        end = time.monotonic() + 2
        while time.monotonic() < end:
            for _ in range(200):
                with tracemill.annotate("noise_" + str(random.getrandbits(59))):
                    pass
            time.sleep(0.002)
        """,
    )
    (file,) = tmp_path.rglob("*.tmraw")
    # It ends before the block that would go over: how early depends on how large that one was.
    assert budget // 4 < file.stat().st_size <= budget
    segment = tmraw.read(file)
    assert segment.tail_bytes == 0
    assert segment.metas[-1]["end_reason"] == "byte_budget"
    assert {"capture_end_reason": "byte_budget"} in segment.metas
    assert _states(segment) == [1, 0]
    assert segment.drops()["byte_budget"] > 1000


def test_a_budget_too_small_for_anything_leaves_the_script_alone(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import tracemill
        tracemill.start(max_bytes=10, flush_interval_ms=10)
        for i in range(100):
            with tracemill.step(i):
                pass
        tracemill.stop()
        print("done")
        """,
    )
    assert done.stdout == "done\n"
    assert all(path.stat().st_size <= 10 for path in tmp_path.rglob("*.tmraw"))


def test_segments_rotate_by_size_and_stand_alone(tmp_path: Path) -> None:
    run(
        tmp_path,
        """
        import random, time, tracemill
        tracemill.start(rotate_bytes=30_000, flush_interval_ms=10, max_steps=0, cpu_interval_ms=0)
        for i in range(20_000):
            with tracemill.annotate("work_" + str(random.getrandbits(59))):
                pass
            if i % 500 == 0:
                time.sleep(0.01)
        tracemill.stop()
        """,
    )
    segments = tmraw.read_all(tmp_path)
    assert len(segments) > 3
    assert sum(len(s.rows["annotations"]) for s in segments) == 20_000
    for number, segment in enumerate(segments):
        assert segment.metas[0]["segment"] == number
        assert [block.sequence for block in segment.blocks] == list(range(len(segment.blocks)))
        assert "clock" in segment.rows
        assert set(segment.strings.values()) <= {"work"}
        assert ("end_reason" in segment.meta) is (segment is segments[-1])


def test_names_beyond_the_table_are_dropped_and_counted(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import json, tracemill
        tracemill.start(max_steps=0, ring_events=262144, cpu_interval_ms=0)
        for i in range(70_000):
            with tracemill.annotate(f"n{i}"):
                pass
        with tracemill.annotate("n5"):
            pass
        with tracemill.annotate("y" * 4097):
            pass
        with tracemill.annotate("y" * 4096):
            pass
        tracemill.stop()
        print(json.dumps(tracemill.status()["drops"]))
        """,
    )
    drops = json.loads(done.stdout)
    segment = tmraw.read_one(tmp_path)
    assert segment.drops() == drops
    kept = len(segment.rows["annotations"])
    # 65,536 names less "step" and the eleven drop reasons, which the recorder holds; n5 once more.
    assert kept == 65_524 + 1
    assert drops == {"name_limit": 70_000 + 3 - kept}


@pytest.mark.parametrize("depth", [10, 5000])
def test_deep_nesting(recorder: Recorder, depth: int) -> None:
    def body() -> None:
        handles = [tracemill.annotation_begin("deep") for _ in range(depth)]
        for handle in reversed(handles):
            tracemill.annotation_end(handle)

    segment = recorder.record(body)
    kept = min(depth, 4096)
    assert [d for _, _, d in segment.ranges()] == list(range(kept))
    assert segment.drops() == ({} if depth == kept else {"ring_full": depth - kept})
