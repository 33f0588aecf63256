from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
import tracemill

from tests.sdk.conftest import Recorder
from tests.support import tmraw
from tests.support.recording import run


def test_threads_have_their_own_rows(recorder: Recorder) -> None:
    threads = 8
    rounds = 2000
    ids: dict[int, int] = {}

    def work(number: int) -> None:
        ids[number] = threading.get_native_id()
        for i in range(rounds):
            with tracemill.annotate(f"thread{number}_{i}"), tracemill.annotate("inner"):
                pass

    def body() -> None:
        started = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()

    segment = recorder.record(body, flush_interval_ms=10)
    assert segment.drops() == {}
    for number in range(threads):
        own = [
            (row["index"], row["depth"], row["thread"])
            for row in segment.rows["annotations"]
            if segment.strings[row["series_id"]] == f"thread{number}"
        ]
        assert sorted(own) == [(i, 0, ids[number]) for i in range(rounds)]


def test_a_range_open_when_its_thread_ends_is_counted(recorder: Recorder) -> None:
    def body() -> None:
        thread = threading.Thread(target=lambda: tracemill.annotation_begin("lost"))
        thread.start()
        thread.join()
        tracemill.annotation_begin("open at stop")

    segment = recorder.record(body)
    assert segment.names() == []
    assert segment.drops() == {"unfinished": 2}


def test_many_short_threads_leave_nothing_behind(recorder: Recorder) -> None:
    def body() -> None:
        for i in range(300):
            thread = threading.Thread(target=lambda i=i: tracemill.annotate(f"t_{i}").__enter__())
            thread.start()
            thread.join()

    def touch() -> None:
        with tracemill.annotate("main"):
            pass

    recorder.start(flush_interval_ms=10)
    touch()
    body()
    recorder.stop()
    assert tracemill.status()["drops"]["unfinished"] >= 300


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_stop_leaves_no_thread_and_no_file_open(recorder: Recorder) -> None:
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    def threads() -> int:
        return len(list(Path("/proc/self/task").iterdir()))

    recorder.start(cpu_interval_ms=10)
    recorder.stop()
    before = (open_files(), threads())
    for _ in range(20):
        recorder.start(cpu_interval_ms=10)
        assert threads() == before[1] + 1
        recorder.stop()
    assert (open_files(), threads()) == before


def test_exit_without_stop_writes_everything(tmp_path: Path) -> None:
    run(
        tmp_path,
        """
        import tracemill
        tracemill.start(flush_interval_ms=60_000)
        for i in range(5):
            with tracemill.step(i):
                pass
        """,
    )
    segment = tmraw.read_one(tmp_path)
    assert segment.names() == [f"step_{i}" for i in range(5)]
    last = segment.metas[-1]
    assert (last["end_reason"], last["failed"]) == ("exit", False)


@pytest.mark.parametrize("how", ["raise ValueError('secret')", "sys.exit(3)"])
def test_a_failed_script_is_told_apart(tmp_path: Path, how: str) -> None:
    done = run(
        tmp_path,
        f"import sys, tracemill\ntracemill.start()\nwith tracemill.step(1): pass\n{how}\n",
        check=False,
    )
    assert done.returncode in (1, 3)
    last = tmraw.read_one(tmp_path).metas[-1]
    assert last["end_reason"] == "exit"
    if "raise" in how:
        assert "ValueError: secret" in done.stderr
        assert (last["failed"], last["exception"]) == (True, "ValueError")
    assert "secret" not in json.dumps(last)


def test_a_forked_child_records_into_its_own_file(tmp_path: Path) -> None:
    run(
        tmp_path,
        """
        import os, time, tracemill
        tracemill.start(flush_interval_ms=20)
        with tracemill.annotate("parent before"):
            pass
        handle = tracemill.annotation_begin("open across fork")
        silent = os.fork()
        if silent == 0:
            time.sleep(0.1)
            os._exit(0)
        busy = os.fork()
        if busy == 0:
            tracemill.annotation_end(handle)  # the parent's range: not here
            with tracemill.annotate("child_1"):
                pass
            tracemill.stop()
            os._exit(0)
        with tracemill.annotate("parent after"):
            pass
        tracemill.annotation_end(handle)
        for child in (silent, busy):
            assert os.waitpid(child, 0)[1] == 0
        """,
    )
    segments = {segment.meta["pid"]: segment for segment in tmraw.read_all(tmp_path)}
    assert len(segments) == 2
    (child,) = [s for s in segments.values() if "parent_pid" in s.meta]
    parent = segments[child.meta["parent_pid"]]
    assert sorted(parent.names()) == ["open across fork", "parent after", "parent before"]
    assert child.names() == ["child_1"]
    assert child.meta["end_reason"] == "stopped"
    assert child.drops() == parent.drops() == {}
    assert {row["thread"] for row in child.rows["annotations"]} == {child.meta["pid"]}


def test_workers_of_multiprocessing_are_written_to_their_end(tmp_path: Path) -> None:
    run(
        tmp_path,
        """
        import multiprocessing, tracemill

        def work(number):
            with tracemill.annotate(f"item_{number}"):
                return number

        if __name__ == "__main__":
            tracemill.start(flush_interval_ms=60_000)
            context = multiprocessing.get_context("fork")
            workers = [context.Process(target=work, args=(n,)) for n in range(3)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            with tracemill.annotate("main"):
                pass
        """,
    )
    segments = tmraw.read_all(tmp_path)
    assert sorted(s.names()[0] for s in segments) == ["item_0", "item_1", "item_2", "main"]
    assert {s.meta["end_reason"] for s in segments} == {"exit"}


def test_forking_while_threads_annotate_never_hangs(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import os, threading, tracemill, warnings
        warnings.simplefilter("ignore")
        tracemill.start(flush_interval_ms=10, cpu_interval_ms=10, max_steps=0)
        stop = False

        def work():
            while not stop:
                with tracemill.annotate("busy"), tracemill.step(1):
                    pass

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for i in range(15):
            child = os.fork()
            if child == 0:
                with tracemill.annotate(f"child_{i}"):
                    pass
                tracemill.stop()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        stop = True
        for thread in threads:
            thread.join()
        print("done")
        """,
    )
    assert done.stdout == "done\n"
    names = [s.names() for s in tmraw.read_all(tmp_path) if "parent_pid" in s.meta]
    assert sorted(names) == sorted([f"child_{i}"] for i in range(15))


def test_exit_by_os_exit_loses_at_most_the_interval(tmp_path: Path) -> None:
    run(
        tmp_path,
        """
        import os, time, tracemill
        tracemill.start(flush_interval_ms=50)
        for i in range(5):
            with tracemill.step(i):
                pass
        time.sleep(0.5)
        os._exit(0)
        """,
    )
    segment = tmraw.read_one(tmp_path)
    assert segment.names() == [f"step_{i}" for i in range(5)]
    assert "end_reason" not in segment.meta


def test_daemon_threads_at_the_interpreters_end_do_not_change_the_exit_code(tmp_path: Path) -> None:
    """Python ends such a thread when it asks for the GIL again; the process must not abort."""
    run(
        tmp_path,
        """
import threading, time, tracemill
tracemill.start()
def ask():
    while True:
        tracemill.status()
for _ in range(3):
    threading.Thread(target=ask, daemon=True).start()
time.sleep(0.05)
""",
    )
