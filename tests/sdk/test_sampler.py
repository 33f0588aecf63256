from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tracemill_schema.metrics import METRIC_BY_ID, METRIC_BY_NAME, METRICS, Scope

from tests.sdk.conftest import Recorder
from tests.support import tmraw
from tests.support.recording import environment, run, script

pytestmark = pytest.mark.skipif(not Path("/proc/stat").exists(), reason="needs /proc")

_NODE_IDS = {m.id for m in METRICS if m.scope in (Scope.NODE, Scope.CPU)}


def _values(segment: tmraw.Segment, name: str) -> list[int]:
    number = METRIC_BY_NAME[name].id
    return [row["value"] for row in segment.rows["samples"] if row["metric_id"] == number]


def test_every_metric_is_sampled_at_its_interval(recorder: Recorder) -> None:
    segment = recorder.record(lambda: time.sleep(1.0), cpu_interval_ms=50)
    rows = segment.rows["samples"]
    optional = {"disk_read_bytes", "disk_write_bytes", "process_read_bytes", "process_write_bytes"}
    optional |= {name for name in METRIC_BY_NAME if "tlb" in name or "pressure" in name}
    optional.add("clk_unhalted_ref.tsc")
    required = {m.id for m in METRICS if m.scope is not Scope.GPU and m.name not in optional}
    assert required <= {row["metric_id"] for row in rows}
    times = sorted({row["time_ns"] for row in rows})
    assert 15 <= len(times) <= 23
    cores = {r["index"] for r in rows if r["metric_id"] == METRIC_BY_NAME["cpu_busy_ns"].id}
    assert len(cores) == os.sysconf("SC_NPROCESSORS_ONLN")
    assert all(row["index"] == -1 for row in rows if row["metric_id"] > 3)


def test_values_are_those_of_the_system(recorder: Recorder) -> None:
    busy_ns: list[int] = []

    def body() -> None:
        before = time.process_time_ns()
        end = time.monotonic() + 0.4
        while time.monotonic() < end:
            pass
        busy_ns.append(time.process_time_ns() - before)

    segment = recorder.record(body, cpu_interval_ms=20)
    cpu = _values(segment, "process_cpu_ns")
    assert busy_ns[0] <= cpu[-1] - cpu[0] + 30_000_000
    assert cpu == sorted(cpu)
    page = os.sysconf("SC_PAGESIZE")
    total = os.sysconf("SC_PHYS_PAGES") * page
    assert set(_values(segment, "memory_total_bytes")) == {total}
    assert all(0 < used <= total for used in _values(segment, "memory_used_bytes"))
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * page
    assert abs(_values(segment, "process_rss_bytes")[-1] - resident) < 64 * 1024 * 1024
    threads = len(list(Path("/proc/self/task").iterdir()))
    assert _values(segment, "process_threads")[-1] >= threads
    totals = [r for r in segment.rows["samples"] if r["metric_id"] == 2 and r["index"] == 0]
    elapsed = totals[-1]["time_ns"] - totals[0]["time_ns"]
    assert abs((totals[-1]["value"] - totals[0]["value"]) - elapsed) < 50_000_000
    written = _values(segment, "recorder_written_bytes")
    assert written == sorted(written)
    assert written[0] > 0  # the first block stands before the first sample
    assert written[-1] - written[0] < 100_000


def test_the_recorder_uses_little_of_a_core(tmp_path: Path) -> None:
    run(tmp_path, "import time, tracemill\ntracemill.start()\ntime.sleep(3)\n")
    cpu = _values(tmraw.read_one(tmp_path), "recorder_cpu_ns")
    assert cpu[-1] - cpu[0] < 3_000_000_000 * 0.02


@pytest.mark.parametrize(("interval_ms", "duration_s"), [(0, 0), (20, 1)])
def test_sampling_can_be_off_or_limited(tmp_path: Path, interval_ms: int, duration_s: int) -> None:
    run(
        tmp_path,
        f"""
        import time, tracemill
        tracemill.start(cpu_interval_ms={interval_ms}, cpu_duration_s={duration_s})
        time.sleep(2)
        """,
    )
    rows = tmraw.read_one(tmp_path).rows.get("samples", [])
    if interval_ms == 0:
        assert rows == []
    else:
        times = [row["time_ns"] for row in rows]
        assert 900_000_000 <= max(times) - min(times) <= 1_100_000_000


def test_one_process_per_node_samples_the_node(tmp_path: Path) -> None:
    code = """
    import sys, time, tracemill
    tracemill.start(cpu_interval_ms=20)
    print("ready", flush=True)
    sys.stdin.readline()
    """
    path = script(tmp_path, code)
    env = environment(TRACEMILL_OUTPUT=str(tmp_path / "store"), TRACEMILL_JOB="job")

    def start() -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, str(path)],
            env=env,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        process.stdout.readline()
        return process

    first = start()
    time.sleep(0.2)
    second = start()
    time.sleep(0.5)
    first.kill()  # its lock is free at once; the other takes over within a second
    first.wait()
    killed_ns = time.monotonic_ns()
    time.sleep(1.5)
    second.communicate("\n", timeout=10)
    assert first.stdout is not None
    assert first.stdin is not None
    first.stdout.close()
    first.stdin.close()
    by_pid = {segment.meta["pid"]: segment for segment in tmraw.read_all(tmp_path)}
    node_times = {
        process.pid: sorted(
            row["time_ns"]
            for row in by_pid[process.pid].rows["samples"]
            if row["metric_id"] in _NODE_IDS
        )
        for process in (first, second)
    }
    assert node_times[first.pid]
    assert node_times[second.pid][0] > killed_ns - 20_000_000
    assert node_times[second.pid][0] < killed_ns + 1_200_000_000
    assert _values(by_pid[second.pid], "process_cpu_ns")


def test_counters_of_the_processor_or_the_reason_for_each(recorder: Recorder) -> None:
    segment = recorder.record(lambda: time.sleep(0.2), cpu_interval_ms=20)
    found = segment.meta["cpu_counters"]
    names = {"clk_unhalted_ref.tsc", "itlb_misses.miss_causes_a_walk"}
    assert names <= {*found["recorded"], *found["missing"]}
    assert all(reason for reason in found["missing"].values())
    ids = {row["metric_id"] for row in segment.rows["samples"]}
    recorded = {METRIC_BY_ID[i].name for i in ids if i in range(20, 24)}
    assert recorded <= set(found["recorded"])
    assert {METRIC_BY_NAME[f"process_{what}"].id for what in
            ("context_switches", "minor_faults", "major_faults")} <= ids  # fmt: skip
    assert (METRIC_BY_NAME["cpu_pressure_ns"].id in ids) == Path("/proc/pressure/cpu").exists()
