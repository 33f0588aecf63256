from __future__ import annotations

import random
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

from tests.support import tmraw
from tests.support.recording import environment, run, script

_PROGRESS = struct.Struct("<Q")
_KILLS = 20
_LOST_AT_MOST_NS = 1_000_000_000

_KILLED_SCRIPT = """
import mmap, struct, sys, time, tracemill
file = open(sys.argv[1], "r+b")
progress = mmap.mmap(file.fileno(), 0)
tracemill.start(max_steps=0)
with tracemill.annotate("whole run"):
    for i in range(1, len(progress) // 8):
        handle = tracemill.annotation_begin(f"work_{i}")
        time.sleep(0.001)
        tracemill.annotation_end(handle)
        struct.pack_into("<Q", progress, 8 * i, time.monotonic_ns())
        struct.pack_into("<Q", progress, 0, i)
"""


def _start_killed_script(folder: Path) -> subprocess.Popen[bytes]:
    folder.mkdir()
    progress = folder / "progress"
    progress.write_bytes(bytes(8 * 20_000))
    return subprocess.Popen(
        [sys.executable, str(script(folder, _KILLED_SCRIPT)), str(progress)],
        env=environment(TRACEMILL_OUTPUT=str(folder / "store"), TRACEMILL_JOB="job"),
    )


def _check_killed(folder: Path, killed_ns: int) -> int:
    """Check the promise for one killed process; returns how many ranges it had finished."""
    progress = (folder / "progress").read_bytes()
    done = int(_PROGRESS.unpack_from(progress, 0)[0])
    ends = {i: _PROGRESS.unpack_from(progress, 8 * i)[0] for i in range(1, done + 1)}
    segments = tmraw.read_all(folder / "store")
    if not segments:  # killed before the recorder had written its first block
        assert all(killed_ns - end <= _LOST_AT_MOST_NS for end in ends.values())
        return done
    (segment,) = segments
    assert segment.tail_bytes == 0, "every block was written whole"
    assert "end_reason" not in segment.meta
    kept = {r["index"] for r in segment.rows.get("annotations", []) if r["index"] > 0}
    missing = [end for i, end in ends.items() if i not in kept]
    assert all(killed_ns - end <= _LOST_AT_MOST_NS for end in missing), folder
    assert kept == set(range(1, len(kept) + 1)), "no gap"
    if done and killed_ns - ends[1] > 1_500_000_000:
        (last,) = segment.snapshots[-1:]
        assert "whole run" in {segment.strings[row["series_id"]] for row in last}
    return done


def test_kill_at_random_moments_loses_at_most_the_last_second(tmp_path: Path) -> None:
    chance = random.Random(20)
    running = []
    for number in range(_KILLS):
        folder = tmp_path / f"run{number}"
        process = _start_killed_script(folder)
        running.append((time.monotonic() + chance.uniform(0.2, 4.0), folder, process))
    finished = []
    for moment, folder, process in sorted(running, key=lambda item: item[0]):
        time.sleep(max(0.0, moment - time.monotonic()))
        process.kill()
        process.wait()
        finished.append(_check_killed(folder, time.monotonic_ns()))
    assert sum(done > 100 for done in finished) >= _KILLS // 2


def test_a_growing_segment_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    process = _start_killed_script(folder)
    try:
        deadline = time.monotonic() + 20
        seen = 0
        while seen < 3 and time.monotonic() < deadline:
            time.sleep(0.3)
            for segment in tmraw.read_all(folder / "store"):
                seen += bool(segment.rows.get("annotations"))
        assert seen == 3
    finally:
        process.kill()
        process.wait()


def test_sigterm_writes_everything_and_still_ends_the_process(tmp_path: Path) -> None:
    path = script(
        tmp_path,
        """
        import sys, time, tracemill
        tracemill.start(flush_interval_ms=60_000, cpu_interval_ms=0)
        for i in range(10):
            with tracemill.step(i):
                pass
        with tracemill.annotate("never ends"):
            print("ready", flush=True)
            time.sleep(60)
        """,
    )
    env = environment(TRACEMILL_OUTPUT=str(tmp_path / "store"), TRACEMILL_JOB="job")
    with subprocess.Popen([sys.executable, str(path)], env=env, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.terminate()
        assert process.wait(timeout=10) == -signal.SIGTERM
    segment = tmraw.read_one(tmp_path)
    assert segment.names() == [f"step_{i}" for i in range(10)]
    assert segment.metas[-1]["end_reason"] == "signal"
    assert segment.metas[-1]["signal"] == "SIGTERM"
    assert segment.drops() == {"unfinished": 1}


def test_a_handler_of_the_script_for_sigterm_is_left_alone(tmp_path: Path) -> None:
    for order in ("before", "after"):
        folder = tmp_path / order
        folder.mkdir()
        lines = ["signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))", "tracemill.start()"]
        if order == "after":
            lines.reverse()
        code = "\n".join(
            [
                "import os, signal, sys, time, tracemill",
                *lines,
                "with tracemill.step(1): pass",
                "os.kill(os.getpid(), signal.SIGTERM)",
                "time.sleep(30)",
            ]
        )
        assert run(folder, code, check=False).returncode == 7
        segment = tmraw.read_one(folder)
        assert segment.names() == ["step_1"]
        assert segment.metas[-1]["end_reason"] == "exit"


def test_sigterm_has_its_default_action_after_stop(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import os, signal, time, tracemill
        tracemill.start()
        tracemill.stop()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(30)
        """,
        check=False,
    )
    assert done.returncode == -signal.SIGTERM
    assert tmraw.read_one(tmp_path).meta["end_reason"] == "stopped"


def test_a_full_disk_drops_counts_and_recovers(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import random, resource, time
        import tracemill
        from tracemill import _session
        _session.RETRY_MS = 50
        tracemill.start(flush_interval_ms=20, cpu_interval_ms=0, max_steps=0)

        def work(name, rounds):
            for i in range(rounds):
                with tracemill.annotate(f"{name}_{random.getrandbits(59)}"):
                    pass
                if i % 100 == 99:
                    time.sleep(0.03)

        work("before", 300)
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        room = tracemill.status()["written_bytes"] + 700
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, limit[1]))
        work("full", 1000)
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        time.sleep(0.2)
        work("after", 300)
        """,
    )
    segment = tmraw.read_one(tmp_path)
    assert segment.tail_bytes == 0
    series = [name for name, _, _ in segment.ranges()]
    assert series.count("before") == 300
    assert series.count("after") == 300
    assert series.count("full") + segment.drops()["disk_full"] == 1000
    assert segment.drops()["disk_full"] >= 500
    assert segment.meta["end_reason"] == "exit"
    warnings = [line for line in done.stderr.splitlines() if line.startswith("tracemill:")]
    assert len(warnings) == 1
    assert "File too large; events are counted as dropped until it works again" in warnings[0]
    assert warnings[0].removeprefix("tracemill: ") in segment.meta["notices"]


def test_an_output_that_cannot_be_made_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file where the folder should be")
    done = run(
        tmp_path,
        """
        import json, tracemill
        for _ in range(3):
            tracemill.start(flush_interval_ms=10)
            with tracemill.step(1):
                pass
            tracemill.stop()
        print(json.dumps(tracemill.status()["drops"]))
        """,
    )
    assert "disk_full" in done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith("tracemill: cannot write to ")
    assert "Not a directory" in line


def test_a_folder_removed_while_recording_does_not_matter(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import os, shutil, time, tracemill
        tracemill.start(flush_interval_ms=10, rotate_bytes=1)
        shutil.rmtree(os.environ["TRACEMILL_OUTPUT"])
        for i in range(10):
            with tracemill.step(i):
                time.sleep(0.02)
        print("done")
        """,
    )
    assert done.stdout == "done\n"
    assert done.stderr == ""
    assert tmraw.read_all(tmp_path)[-1].meta["end_reason"] == "exit"
