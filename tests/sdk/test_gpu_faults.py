"""Whatever CUPTI does, the training goes on and the recording says what is missing."""

from __future__ import annotations

import json
import shutil
from ctypes.util import find_library
from pathlib import Path

import pytest

from tests.sdk.fake_cuda.run import record, record_all, record_with
from tests.support import gpu, tmraw

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here")

FAILING = """
f = Fakes()
call, code = json.loads(sys.argv[1])
f.fail(call.encode(), code)
start()
f.initialise_cuda()
f.wait_for(lambda: f.calls(call.encode()) > 0 or f.calls(b"cuptiActivityFlushAll") > 2)
time.sleep(0.2)
t = time.monotonic_ns() if f.calls(b"cuptiActivityRegisterTimestampCallback") else time.time_ns()
f.call(0, RUNTIME, LAUNCH_KERNEL, t, t + 50, 9, 1)
f.launch(t + 100, t + 350)
f.copy(0, MEMCPY, t + 400, t + 500, 0, 1, 7, HTOD, 64, 0, 2)
f.set(0, t + 600, t + 610, 0, 1, 7, 255, 64, 3, 3)
f.graph(0, t + 700, t + 800, 0, 1, 7, 5, 4)
f.sync(0, 4, t + 900, t + 1000, 5, 1, 7)
f.overhead(0, 1 << 16, 2, 777, t + 1100, t + 1200)
with tracemill.annotate("work"):
    pass
tracemill.stop()
print("result 42", f.subscribed())
"""
KINDS = ("api_calls", "kernels", "memcpys", "memsets", "graph_runs", "gpu_syncs", "gpu_overheads")

# Call that fails, and the kinds that are then missing; None: all of them, with a reason.
FAILURES: dict[str, tuple[str, ...] | None] = {
    "cuptiGetVersion": None,
    "cuptiSubscribe": None,
    "cuptiActivityRegisterCallbacks": None,
    "cuptiActivityEnable:10": None,
    "cuptiSetThreadIdType": (),
    "cuptiActivityEnable:1": ("memcpys",),
    "cuptiActivityEnable:2": ("memsets",),
    "cuptiActivityEnable:51": ("graph_runs",),
    "cuptiActivityEnable:38": ("gpu_syncs",),
    "cuptiActivityEnable:17": ("gpu_overheads",),
    "cuptiActivityEnableRuntimeApi": (),
    "cuptiActivityEnableDriverApi": (),
    "cuptiActivityEnableAllSyncRecords": (),
    "cuptiActivityFlushAll": KINDS,
    "cuptiActivityGetNumDroppedRecords": (),
    "cuptiActivityDisable": (),
    "cuptiUnsubscribe": (),
    "cuptiGetCallbackName": ("api_calls",),
}
SILENT = {
    "cuptiActivityEnableRuntimeApi",  # the whole kind is enabled and filtered instead
    "cuptiActivityEnableDriverApi",
    "cuptiActivityGetNumDroppedRecords",
}


@pytest.mark.parametrize("call", FAILURES)
def test_each_call_failing_in_turn(call: str, tmp_path: Path, fakes: Path) -> None:
    done, segment = record_with(tmp_path, fakes, FAILING, json.dumps([call, 27]))
    missing = FAILURES[call]
    assert segment.names() == ["work"]
    assert segment.meta["end_reason"] == "stopped"
    lines = done.stderr.splitlines()
    assert all(line.startswith("tracemill: GPU activity") for line in lines)
    assert len(lines) == (0 if call in SILENT else 1)
    still_subscribed = "1" if call == "cuptiUnsubscribe" else "0"
    assert done.stdout.split() == ["result", "42", still_subscribed]
    state = segment.meta["gpu"]
    if missing is None:
        assert state["state"] == "unavailable"
        assert state["reason"].endswith("CUPTI_ERROR_OF_THE_TEST (27)")
        assert state["reason"] in done.stderr
        missing = KINDS
    else:
        assert state["state"] == "recorded"
    assert [kind for kind in KINDS if segment.rows.get(kind)] == [
        kind for kind in KINDS if kind not in missing
    ]


def test_a_clock_that_cannot_be_set_is_converted(tmp_path: Path, fakes: Path) -> None:
    code = """
f = Fakes()
f.fail(b"cuptiActivityRegisterTimestampCallback", 999)
start()
f.attach()
t = time.time_ns()
m = time.monotonic_ns()
f.launch(t, t + 250)
tracemill.stop()
print(m)
"""
    done, segment = record(tmp_path, fakes, code)
    (kernel,) = gpu.kernels(segment)
    assert abs(kernel["start_ns"] - int(done.stdout)) < 1_000_000
    assert kernel["dur_ns"] == 250
    assert segment.meta["gpu"]["clock"] == "converted"


def test_a_clock_changed_by_another_profiler_is_told(tmp_path: Path, fakes: Path) -> None:
    code = """
f = Fakes()
start()
f.attach()
t = time.monotonic_ns()
f.launch(t, t + 250, correlation=1)
f.wait_flushes()
f.clock(None)
f.launch(time.time_ns(), time.time_ns() + 5, correlation=2)
f.wait_flushes()
tracemill.stop()
"""
    done, segment = record(tmp_path, fakes, code)
    assert [row["correlation"] for row in gpu.kernels(segment)] == [1]
    assert segment.drops() == {"foreign_clock": 1}
    assert "another profiler changed CUPTI's clock" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_another_profiler_takes_cupti_over_while_it_is_recorded(
    tmp_path: Path, fakes: Path
) -> None:
    code = """
f = Fakes()
start()
f.attach()
t = time.monotonic_ns()
f.launch(t, t + 250, correlation=1)
f.wait_flushes()
f.other_profiler(1)
for i in range(400):
    f.launch(t, t + 250, correlation=2)
f.wait_flushes()
f.other_profiler(0)
f.launch(t, t + 250, correlation=3)
f.wait_flushes()
tracemill.stop()
print(f.others_bytes(), f.subscribed(), f.enabled(KERNEL))
"""
    done, segment = record(tmp_path, fakes, code)
    # It has its records, all of them; we have ours up to then, and say what is missing.
    assert done.stdout.split() == [str(400 * 224), "0", "0"]
    assert [row["correlation"] for row in gpu.kernels(segment)] == [1]
    trouble = "another profiler changed CUPTI's clock: its records are left out"
    assert segment.meta["gpu"]["troubles"] == [trouble]
    assert done.stderr == f"tracemill: GPU activity: {trouble}\n"


def test_another_subscriber(tmp_path: Path, fakes: Path) -> None:
    code = """
f = Fakes()
f.another_subscriber()
start()
f.initialise_cuda()
f.wait_for(lambda: f.calls(b"cuptiSubscribe"))
time.sleep(0.3)
tracemill.stop()
print(f.calls(b"cuptiSubscribe"), f.calls(b"cuptiActivityRegisterCallbacks"), f.enabled(KERNEL))
"""
    done, segment = record(tmp_path, fakes, code)
    assert done.stdout.split() == ["1", "0", "0"]
    reason = "another profiler holds CUPTI (CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39))"
    assert segment.meta["gpu"]["reason"] == reason
    assert done.stderr == f"tracemill: GPU activity is not recorded: {reason}\n"


def test_not_initialised_is_tried_again(tmp_path: Path, fakes: Path) -> None:
    code = """
f = Fakes()
f.fail(b"cuptiSubscribe", 15)
start()
f.initialise_cuda()
f.wait_for(lambda: f.calls(b"cuptiSubscribe") > 1)
f.fail(b"cuptiSubscribe", 0)
f.attach()
t = time.monotonic_ns()
f.launch(t, t + 250)
tracemill.stop()
"""
    done, segment = record(tmp_path, fakes, code)
    assert done.stderr == ""
    assert len(gpu.kernels(segment)) == 1


@pytest.mark.parametrize(
    ("load", "options", "reason"),
    [
        pytest.param(
            "Fakes('')",
            "",
            "no libcupti was found",
            marks=pytest.mark.skipif(bool(find_library("cupti")), reason="a real libcupti is here"),
        ),
        ("Fakes()", "cupti_path='/nowhere/libcupti.so'", "libcupti cannot be loaded: "),
        (
            "Fakes()",
            "cupti_path=os.environ['FAKE_CUDA'] + '/libcuda.so.1'",
            " lacks cuptiGetVersion",
        ),
    ],
)
def test_no_usable_library(
    load: str, options: str, reason: str, tmp_path: Path, fakes: Path
) -> None:
    code = f"""
f = {load}
start({options})
f.initialise_cuda()
time.sleep(0.4)
tracemill.stop()
"""
    done, segment = record(tmp_path, fakes, code)
    assert segment.meta["gpu"]["state"] == "unavailable"
    assert reason in segment.meta["gpu"]["reason"]
    assert reason in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_library_can_be_named(tmp_path: Path, fakes: Path) -> None:
    code = """
f = Fakes("old/libcupti.so.11.8")
start()
f.attach()
tracemill.stop()
"""
    path = str(fakes / "old" / "libcupti.so.11.8")
    _, segment = record(tmp_path, fakes, code, TRACEMILL_CUPTI_PATH=path)
    assert segment.meta["gpu"]["library"] == "libcupti.so.11.8"


def test_cuda_without_a_device(tmp_path: Path, fakes: Path) -> None:
    code = """
f = Fakes()
start()
f.cuda.fake_cuda_state(100)
time.sleep(4)
tracemill.stop()
print(f.calls(b"cuptiGetVersion"))
"""
    done, segment = record(tmp_path, fakes, code)
    assert done.stdout == "0\n"
    assert segment.meta["gpu"] == {
        "state": "unavailable",
        "reason": "CUDA reports no usable device (error 100)",
        "troubles": [],
    }


@pytest.mark.parametrize("options", ["", "gpu=False"])
def test_cupti_is_left_alone(options: str, tmp_path: Path, fakes: Path) -> None:
    initialise = "f.initialise_cuda()" if options else "pass"
    code = f"""
f = Fakes()
start({options})
{initialise}
time.sleep(0.3)
tracemill.stop()
print(f.calls(b"cuptiGetVersion"), f.calls(b"cuptiSubscribe"))
"""
    done, segment = record(tmp_path, fakes, code)
    assert done.stdout.split() == ["0", "0"]
    assert "gpu" not in segment.meta
    assert done.stderr == ""


def test_a_second_recording_attaches_again(tmp_path: Path, fakes: Path) -> None:
    code = """
f = Fakes()
f.initialise_cuda()
for number in (1, 2):
    start()
    f.wait_for(lambda: f.enabled(OVERHEAD))
    f.wait_flushes()
    t = time.monotonic_ns()
    f.launch(t, t + 250, correlation=number)
    tracemill.stop()
    f.launch(t, t + 250, correlation=99)  # nothing is recorded between
print(*(f.calls(b"cupti" + c) for c in (b"ActivityRegisterTimestampCallback",
      b"ActivityRegisterCallbacks", b"Subscribe", b"Unsubscribe")))
"""
    done, segments = record_all(tmp_path, fakes, code)
    assert done.stdout.split() == ["1", "1", "2", "2"]
    found = [[row["correlation"] for row in gpu.kernels(segment)] for segment in segments]
    assert found == [[1], [2]]


def test_buffers_cupti_keeps_are_bounded(tmp_path: Path, fakes: Path) -> None:
    code = """
f = Fakes()
f.version(int(sys.argv[1]))
f.size(KERNEL, 208)
start(gpu_buffer_bytes=4 << 20)
f.attach()
own = f.calls(b"cuptiActivityRegisterTimestampCallback") > 0
t = time.monotonic_ns() if own else time.time_ns()
for lane in range(10):
    f.launch(t, 0, lane=lane, correlation=lane)  # unfinished: the lane keeps its buffer
tracemill.stop()
"""
    for version, dropped in ((28, 6), (22, 2)):
        folder = tmp_path / str(version)
        folder.mkdir()
        _, segment = record_with(folder, fakes, code, str(version))
        assert segment.drops() == {"cupti_dropped": dropped, "gpu_unfinished": 10 - dropped}


def test_a_stalled_recorder_gives_up_whole_buffers_and_counts(tmp_path: Path, fakes: Path) -> None:
    code = """
f = Fakes()
start(gpu_buffer_bytes=4 << 20)
f.attach()
f.block_flush(1)
f.wait_for(f.in_flush)
t = time.monotonic_ns()
f.launch_many(2, 30000, t, 1000)
f.block_flush(0)
tracemill.stop()
"""
    _, segment = record(tmp_path, fakes, code)
    drops = segment.drops()
    assert set(drops) == {"gpu_buffer_full"}
    kept = len(segment.rows["kernels"]) + len(segment.rows["api_calls"])
    assert kept + drops["gpu_buffer_full"] == 2 * 2 * 30000
    assert kept >= 4 * (1 << 20) // (224 + 40)  # two buffers of each thread


@pytest.mark.parametrize(
    ("end", "code"),
    [("pass", 0), ("sys.exit(3)", 3), ("os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)", -15)],
)
def test_the_end_of_the_process_flushes(end: str, code: int, tmp_path: Path, fakes: Path) -> None:
    script = f"""
f = Fakes()
start(flush_interval_ms=60000)
f.initialise_cuda()
f.wait_for(lambda: f.enabled(OVERHEAD))
time.sleep(0.2)
t = time.monotonic_ns()
f.call(0, RUNTIME, LAUNCH_KERNEL, t, t + 5, 9, 1)
f.launch(t, t + 250, lane=1)
f.launch(t + 300, 0, lane=2, correlation=2)
{end}
"""
    done, segment = record(tmp_path, fakes, script, check=False)
    assert done.returncode == code
    assert done.stderr == ""
    assert len(gpu.kernels(segment)) == 1
    assert len(gpu.calls(segment)) == 1
    assert segment.drops() == {"gpu_unfinished": 1}


def test_cuda_torn_down_before_the_end(tmp_path: Path, fakes: Path) -> None:
    code = """
f = Fakes()
start(flush_interval_ms=60000)
f.initialise_cuda()
f.wait_for(lambda: f.enabled(OVERHEAD))
time.sleep(0.2)
f.cuda.fake_cuda_state(4)
tracemill.stop()
print(*(f.calls(b"cupti" + c) for c in (b"ActivityFlushAll", b"ActivityDisable", b"Unsubscribe")))
"""
    done, segment = record(tmp_path, fakes, code)
    assert done.stdout.split() == ["0", "0", "0"]
    assert segment.meta["end_reason"] == "stopped"


def test_a_forked_child_leaves_cupti_alone(tmp_path: Path, fakes: Path) -> None:
    code = """
f = Fakes()
start()
f.attach()
t = time.monotonic_ns()
f.launch(t, t + 250)
calls = (b"ActivityFlushAll", b"ActivityDisable", b"Unsubscribe", b"Subscribe", b"GetVersion",
         b"GetTimestamp")
pid = os.fork()
if pid == 0:
    before = [f.calls(b"cupti" + c) for c in calls]
    with tracemill.annotate("child"):
        time.sleep(0.2)
    f.launch(t, t + 250)  # a callback in the child must not touch the parent's memory
    tracemill.stop()
    os._exit(int(before != [f.calls(b"cupti" + c) for c in calls]))
status = os.waitpid(pid, 0)[1]
t = time.monotonic_ns()
f.launch(t, t + 260)
tracemill.stop()
print(status)
"""
    done, segments = record_all(tmp_path, fakes, code)
    assert done.stdout == "0\n"
    by_parent = {("parent_pid" in segment.meta): segment for segment in segments}
    assert by_parent[True].names() == ["child"]
    assert gpu.kernels(by_parent[True]) == []
    assert [row["dur_ns"] for row in gpu.kernels(by_parent[False])] == [250, 260]


def test_limits_end_gpu_recording(tmp_path: Path, fakes: Path) -> None:
    code = """
f = Fakes()
start(max_steps=2)
f.attach()
for i in range(3):
    with tracemill.step(i):
        t = time.monotonic_ns()
        f.launch(t, t + 10, correlation=i)
f.wait_for(lambda: not f.enabled(KERNEL))
t = time.monotonic_ns()
f.launch(t, t + 10, correlation=77)
tracemill.stop()
print(f.subscribed())
"""
    done, segment = record(tmp_path, fakes, code)
    assert done.stdout == "0\n"
    assert segment.meta["end_reason"] == "step_limit"
    assert 77 not in [row["correlation"] for row in gpu.kernels(segment)]


def test_killed_at_any_moment_the_file_is_readable(tmp_path: Path, fakes: Path) -> None:
    code = """
f = Fakes()
start()
f.attach()
threading.Timer(random.random() * 0.3, os.kill, (os.getpid(), signal.SIGKILL)).start()
while True:
    f.launch_many(1, 500, time.monotonic_ns(), 10)
"""
    for attempt in range(8):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        done, segments = record_all(folder, fakes, code, check=False)
        assert done.returncode == -9
        (segment,) = segments
        assert {track["stream"] for track in segment.rows.get("gpu_tracks", [])} <= {7}
        names = {signature["name_id"] for signature in segment.rows.get("gpu_signatures", [])}
        assert names <= set(segment.strings)
        assert tmraw.read_all(folder)[0].meta["gpu"]["state"] == "recorded"
