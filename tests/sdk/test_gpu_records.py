"""GPU records: what CUPTI gives in any layout is in the segment, exactly."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.sdk.fake_cuda.run import record, record_all, record_with
from tests.support import gpu, tmraw

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here")

# CUDA release: CUPTI version and bytes of kernel, copy, set, graph, sync, overhead records.
VERSIONS = {
    "11.7": (17, 176, 88, 88, 48, 40, 40),
    "11.8": (18, 200, 88, 88, 48, 40, 40),
    "12.1": (18, 208, 88, 88, 48, 40, 40),
    "12.4": (22, 208, 88, 88, 56, 40, 56),
    "12.6": (24, 208, 88, 88, 56, 40, 56),
    "12.8": (26, 208, 96, 88, 56, 56, 56),
    "12.9": (28, 208, 96, 88, 56, 56, 56),
    "13.0": (130001, 216, 96, 88, 56, 56, 56),
    "13.1": (130101, 224, 96, 88, 56, 56, 56),
    "13.2": (130201, 224, 96, 88, 56, 56, 56),
    "13.3": (130301, 232, 96, 88, 56, 56, 56),
    "13.4": (130400, 248, 112, 104, 56, 56, 56),
    "13.5": (130500, 248, 112, 104, 56, 56, 56),
}
OURS_IS_SAFE = {"11.7", "11.8", "12.1", "12.4", "13.1", "13.2", "13.3", "13.4", "13.5"}


ONE_OF_EACH = """
f = Fakes()
version, kernel, copy, memset, graph, sync, overhead = json.loads(sys.argv[1])
f.version(version)
for kind, size in ((KERNEL, kernel), (MEMCPY, copy), (MEMSET, memset), (GRAPH, graph),
                   (SYNC, sync), (OVERHEAD, overhead)):
    f.size(kind, size)
start()
f.attach()
own = f.calls(b"cuptiActivityRegisterTimestampCallback") > 0
t = time.monotonic_ns() if own else time.time_ns()
f.call(0, RUNTIME, LAUNCH_KERNEL, t + 100, t + 350, 4242, 11)
f.launch(t + 1000, t + 3500, correlation=11, name=b"_Z4gemmPfi")
f.launch(t + 4000, t + 6400, correlation=12, name=b"relu", shape=(7, 6, 5, 4, 3, 2), registers=8,
         static=0, dynamic=99, stream=20, device=1, context=3)
f.launch(t + 3600, t + 6200, correlation=13, name=b"_Z4gemmPfi")
f.copy(0, MEMCPY, t + 7000, t + 8000, 0, 1, 7, HTOD, 1 << 33, 0, 14)
f.copy(0, PEER, t + 8000, t + 8500, 0, 1, 7, 0x03030A, 4096, 1, 15)
f.set(0, t + 9000, t + 9010, 0, 1, 7, 255, 64, 3, 16)
f.graph(0, t + 9500, t + 9900, 0, 1, 7, 5, 17)
f.sync(0, 4, t + 10000, t + 11000, 18, 1, 0xFFFFFFFF)
f.overhead(0, 1 << 16, 2, 777, t + 12000, t + 12500)
f.wait_flushes()
tracemill.stop()
print(json.dumps({"t": t, "own": own, "subscribed": f.subscribed()}))
"""


@pytest.mark.parametrize("release", VERSIONS)
def test_records_of_every_cuda_release(release: str, tmp_path: Path, fakes: Path) -> None:
    done, segment = record_with(tmp_path, fakes, ONE_OF_EACH, json.dumps(VERSIONS[release]))
    facts = json.loads(done.stdout)
    assert facts["own"] == (release in OURS_IS_SAFE)
    assert facts["subscribed"] == 0
    found = gpu.kernels(segment)
    meta = segment.meta["gpu"]
    # Without a clock of ours CUPTI counts Unix time; the difference is the same for all records.
    base = found[0]["start_ns"] - 1000
    if facts["own"]:
        assert base == facts["t"]
    assert meta["clock"] == ("monotonic" if facts["own"] else "converted")
    assert meta["cupti_version"] == VERSIONS[release][0]
    assert abs(base - facts["t"] + (0 if facts["own"] else _realtime_ahead(segment))) < 1_000_000
    gemm = (4, 2, 1, 128, 1, 1, 64, 1024, 2048)
    assert [
        (r["name"], r["start_ns"] - base, r["dur_ns"], r["correlation"], r["shape"], r["device"],
         r["context"], r["stream"])
        for r in found
    ] == [
        ("gemm(float*, int)", 1000, 2500, 11, gemm, 0, 1, 7),
        ("gemm(float*, int)", 3600, 2600, 13, gemm, 0, 1, 7),
        ("relu", 4000, 2400, 12, (7, 6, 5, 4, 3, 2, 8, 0, 99), 1, 3, 20),
    ]  # fmt: skip
    (call,) = gpu.calls(segment)
    assert (call["name"], call["api"], call["thread"]) == ("cudaLaunchKernel", 0, 4242)
    assert (call["start_ns"] - base, call["dur_ns"], call["correlation"]) == (100, 250, 11)
    place = {"device": 0, "context": 1, "stream": 7}
    copies = gpu.memory(segment, "memcpys")
    assert [{**r, "start_ns": r["start_ns"] - base} for r in copies] == [
        {"copy_kind": 1, "src_kind": 2, "dst_kind": 3, "peer": 0, "bytes": 1 << 33}
        | {"correlation": 14, "start_ns": 7000, "dur_ns": 1000} | place,
        {"copy_kind": 10, "src_kind": 3, "dst_kind": 3, "peer": 2, "bytes": 4096}
        | {"correlation": 15, "start_ns": 8000, "dur_ns": 500} | place,
    ]  # fmt: skip
    (memset,) = gpu.memory(segment, "memsets")
    assert memset == {
        "memory_kind": 3, "value": 255, "bytes": 64, "correlation": 16, "dur_ns": 10,
        "start_ns": base + 9000, **place,
    }  # fmt: skip
    (graph,) = gpu.memory(segment, "graph_runs")
    assert graph == {
        "graph_id": 5, "correlation": 17, "dur_ns": 400, "start_ns": base + 9500, **place,
    }  # fmt: skip
    assert segment.rows["gpu_syncs"] == [
        {"type": 4, "context": 1, "stream": -1, "correlation": 18, "start_ns": base + 10000,
         "dur_ns": 1000}
    ]  # fmt: skip
    assert segment.rows["gpu_overheads"] == [
        {"overhead_kind": 1 << 16, "thread": 777, "start_ns": base + 12000, "dur_ns": 500}
    ]
    assert segment.drops() == {}
    assert [d["uuid"] for d in meta["devices"]] == [
        "GPU-00102030-4050-6070-8090-a0b0c0d0e0f0",
        "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1",
    ]
    assert meta["devices"][0]["name"] == "Fake GPU 0"
    assert meta["devices"][0]["memory_bytes"] == 80 << 30
    assert meta["troubles"] == []


def _realtime_ahead(segment: tmraw.Segment) -> int:
    clock = segment.rows["clock"][0]
    return clock["realtime_ns"] - clock["monotonic_ns"]


def test_unfinished_untimed_and_foreign_records_are_counted(tmp_path: Path, fakes: Path) -> None:
    code = """
f = Fakes()
start()
f.attach()
t = time.monotonic_ns()
f.launch(t, t + 10, lane=1, correlation=1)
f.launch(t + 20, 0, lane=2, correlation=2)          # still running: CUPTI keeps the buffer
f.launch(0, 0, lane=1, correlation=3)
f.launch(t + 50, t + 40, lane=1, correlation=4)
f.launch(t * 1000, t * 1000 + 5, lane=1, correlation=5)
f.call(1, RUNTIME, GET_DEVICE, t, t + 1, 9, 6)       # not a kind of call that is recorded
f.wait_flushes()
f.dropped(12)
f.wait_flushes()
f.dropped(30)
tracemill.stop()
"""
    _, segment = record(tmp_path, fakes, code)
    assert [row["correlation"] for row in gpu.kernels(segment)] == [1]
    assert gpu.calls(segment) == []
    assert segment.drops() == {
        "cupti_dropped": 42,
        "gpu_no_time": 2,
        "gpu_unfinished": 1,
        "foreign_clock": 1,
    }


def test_late_and_unordered_records(tmp_path: Path, fakes: Path) -> None:
    code = """
f = Fakes()
start()
f.attach()
t = time.monotonic_ns()
for order in ((5, 3, 9), (1, 8), (0, 2)):
    for i in order:
        f.launch(t + i * 100, t + i * 100 + 10 + i, correlation=i + 1, name=b"k%d" % (i % 2))
    f.wait_flushes()
tracemill.stop()
print(t)
"""
    done, segment = record(tmp_path, fakes, code)
    t = int(done.stdout)
    assert [
        (r["start_ns"] - t, r["dur_ns"], r["correlation"], r["name"]) for r in gpu.kernels(segment)
    ] == [(i * 100, 10 + i, i + 1, f"k{i % 2}") for i in (0, 1, 2, 3, 5, 8, 9)]
    assert len(segment.rows["gpu_signatures"]) == 2


def test_several_threads_and_many_records(tmp_path: Path, fakes: Path) -> None:
    code = """
f = Fakes()
start()
f.attach()
t = time.monotonic_ns()
f.launch_many(4, 20000, t, 1000)
tracemill.stop()
print(t)
"""
    done, segment = record(tmp_path, fakes, code)
    t = int(done.stdout)
    assert segment.drops() == {}
    calls = segment.rows["api_calls"]
    assert len(calls) == 80000
    assert {row["thread"] for row in calls} == {1000, 1001, 1002, 1003}
    tracks = {row["track_id"]: row["stream"] for row in segment.rows["gpu_tracks"]}
    seen = []
    for part in segment.parts["kernels"]:
        last, durations = 0, {}
        for row in part:
            start = last + row["gap_ns"]
            duration = durations.get(row["signature_id"], 0) + row["dur_delta_ns"]
            durations[row["signature_id"]] = duration
            last = start + duration
            seen.append((tracks[row["track_id"]] - 7, row["correlation"], start - t, duration))
    assert sorted(seen) == [
        (thread, thread * 20000 + i + 1, i * 1000 + 500, 500)
        for thread in range(4)
        for i in range(20000)
    ]


def test_every_segment_can_be_read_alone(tmp_path: Path, fakes: Path) -> None:
    code = """
f = Fakes()
start(rotate_bytes=20000)
f.attach()
for i in range(30):
    t = time.monotonic_ns()
    f.call(0, RUNTIME, LAUNCH_KERNEL, t, t + 5, 9, i + 1)
    for k in range(400):
        s = t + 1000 * k + random.randrange(400)
        f.launch(s, s + random.randrange(1, 500), correlation=i + 1, name=b"k%d" % (k % 3))
    f.wait_flushes(1)
tracemill.stop()
"""
    _, segments = record_all(tmp_path, fakes, code)
    assert len(segments) > 2
    found = [row for segment in segments for row in gpu.kernels(segment)]
    assert [segment.drops() for segment in segments] == [{}] * len(segments)
    assert len(found) == 30 * 400
    assert {row["name"] for row in found} == {"k0", "k1", "k2"}
    assert sum(len(gpu.calls(segment)) for segment in segments) == 30


def test_graph_nodes_by_option(tmp_path: Path, fakes: Path) -> None:
    code = """
f = Fakes()
start(gpu_graph_nodes=True)
f.attach()
t = time.monotonic_ns()
f.graph(0, t, t + 400, 0, 1, 7, 5, 17)              # not enabled: CUPTI gives none
f.launch(t + 10, t + 20, correlation=17, node=(1 << 40) + 3)
tracemill.stop()
"""
    _, segment = record(tmp_path, fakes, code)
    assert segment.meta["gpu"]["graph_nodes"] is True
    assert gpu.memory(segment, "graph_runs") == []
    assert [row["graph_node"] for row in gpu.kernels(segment)] == [(1 << 40) + 3]


def test_without_switches_per_call_others_are_left_out(tmp_path: Path, fakes: Path) -> None:
    code = """
f = Fakes("old/libcupti.so.11.8")
f.version(18)
f.size(KERNEL, 200)
start()
f.attach()
t = time.monotonic_ns()
for i, call in enumerate((LAUNCH_KERNEL, GET_DEVICE, MEMCPY_ASYNC, GET_DEVICE, DEVICE_SYNCHRONIZE)):
    f.call(0, RUNTIME, call, t + 10 * i, t + 10 * i + 5, 9, i + 1)
f.call(0, DRIVER, CU_LAUNCH_KERNEL, t + 90, t + 95, 9, 7)
tracemill.stop()
print(f.enabled(RUNTIME), f.enabled(DRIVER))
"""
    done, segment = record(tmp_path, fakes, code)
    assert done.stdout.split() == ["0", "0"]
    assert segment.meta["gpu"]["calls"] == "filtered"
    assert [(r["name"], r["api"], r["correlation"]) for r in gpu.calls(segment)] == [
        ("cudaLaunchKernel", 0, 1),
        ("cudaMemcpyAsync", 0, 3),
        ("cudaDeviceSynchronize", 0, 5),
        ("cuLaunchKernel", 1, 7),
    ]
