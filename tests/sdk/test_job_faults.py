"""Whatever happens to a job and its machine, its result and exit code are those without a recorder.

The scripts record the GPU through the stand-ins, so that CUPTI's threads take part.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sdk.fake_cuda.run import PROLOGUE, ROOT, record, record_all
from tests.support import tmraw
from tests.support.recording import environment, run_command, script

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here")

# Forked from a parent that records nothing: a child costs milliseconds, not a start of Python.
KILLS = """
def child(number):
    progress = open(f"progress{number}", "wb", buffering=0)
    start(output=f"store{number}")
    f.attach()
    i = 0
    while True:
        for _ in range(20):
            i += 1
            f.launch_many(1, 2, time.monotonic_ns(), 10)
            handle = tracemill.annotation_begin(f"work_{i}")
            tracemill.annotation_end(handle)
        progress.write(b"%d %d\\n" % (i, time.monotonic_ns()))
        time.sleep(0.01)

f = Fakes()
chance = random.Random(7)
running = []
for number in range(100):
    pid = os.fork()
    if pid == 0:
        try:
            child(number)
        finally:
            os._exit(1)
    running.append((time.monotonic() + chance.uniform(0.02, 0.4), number, pid))
    if len(running) == 12:
        running.sort()
        moment, victim, pid = running.pop(0)
        time.sleep(max(0.0, moment - time.monotonic()))
        os.kill(pid, signal.SIGKILL)
        print(victim, time.monotonic_ns(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
for moment, victim, pid in sorted(running):
    time.sleep(max(0.0, moment - time.monotonic()))
    os.kill(pid, signal.SIGKILL)
    print(victim, time.monotonic_ns(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def test_a_hundred_kills_at_random_moments(tmp_path: Path, fakes: Path) -> None:
    done, _ = record_all(tmp_path, fakes, KILLS)
    victims = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert sorted(number for number, _, _ in victims) == list(range(100))
    recorded = 0
    for number, killed_ns, code in victims:
        assert code == -9
        segments = tmraw.read_all(tmp_path / f"store{number}")
        lines = (tmp_path / f"progress{number}").read_bytes().splitlines()
        moments = [tuple(map(int, line.split())) for line in lines]
        if not segments:  # killed before the first block
            assert all(killed_ns - moment < 1_000_000_000 for _, moment in moments)
            continue
        (segment,) = segments
        assert segment.tail_bytes == 0, "every block was written whole"
        assert "end_reason" not in segment.meta
        kept = {row["index"] for row in segment.rows.get("annotations", [])}
        assert kept == set(range(1, len(kept) + 1)), "no gap"
        old = [count for count, moment in moments if killed_ns - moment > 1_000_000_000]
        assert len(kept) >= max(old, default=0)
        signatures = {row["signature_id"] for row in segment.rows.get("gpu_signatures", [])}
        kernels = segment.rows.get("kernels", [])
        assert {row["signature_id"] for row in kernels} <= signatures
        recorded += bool(kernels)
    assert recorded >= 30


WORKERS = """
import multiprocessing, queue

def worker(number, tasks, results):
    # As a DataLoader's worker: forked while the parent records, ended by SIGTERM.
    while True:
        index = tasks.get()
        with tracemill.annotate("load"):
            results.put((index, index * index))

if __name__ == "__main__":
    f = Fakes()
    context = multiprocessing.get_context({method!r})
    start()
    f.attach()
    tasks, results = context.Queue(), context.Queue()
    workers = [context.Process(target=worker, args=(n, tasks, results)) for n in range(2)]
    for w in workers:
        w.daemon = True
        w.start()
    total = 0
    for step in range(20):
        with tracemill.step(step):
            tasks.put(step)
            t = time.monotonic_ns()
            f.launch(t, t + 250, correlation=step + 1)
            total += results.get(timeout=60)[1]
    for w in workers:
        w.terminate()
    codes = [w.join() or w.exitcode for w in workers]
    print(total, codes)
    sys.exit(5)
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_ended_by_sigterm(method: str, tmp_path: Path, fakes: Path) -> None:
    code = WORKERS.replace("{method!r}", repr(method))
    done, segments = record_all(tmp_path, fakes, code, check=False)
    assert (done.returncode, done.stdout) == (5, "2470 [-15, -15]\n"), done.stderr
    (main,) = [s for s in segments if "kernels" in s.rows]
    assert main.meta["end_reason"] == "exit"
    assert len(main.rows["kernels"]) == 20
    loads = sum(s.names().count("load") for s in segments)
    # A spawned worker starts Python anew and records only if it is told to.
    assert loads == (20 if method == "fork" else 0)


def test_two_ranks_as_torchrun_starts_them(tmp_path: Path, fakes: Path) -> None:
    code = """
f = Fakes()
start()
f.attach()
rank = int(os.environ["RANK"])
for i in range(10):
    with tracemill.step(i):
        t = time.monotonic_ns()
        f.launch(t, t + 250 + rank, correlation=i + 1)
if rank == 1:
    os.kill(os.getpid(), signal.SIGTERM)  # as torchrun does to the others when one rank fails
    time.sleep(60)
sys.exit(3)
"""
    path = script(tmp_path, PROLOGUE + code)
    started = []
    for rank in range(2):
        env = environment(
            TRACEMILL_OUTPUT=str(tmp_path / "store"), TRACEMILL_JOB="job", FAKE_CUDA=str(fakes),
            PYTHONPATH=str(ROOT), RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2",
            LOCAL_WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="29500",
        )  # fmt: skip
        started.append(subprocess.Popen([sys.executable, str(path)], cwd=tmp_path, env=env))
    assert [process.wait(timeout=60) for process in started] == [3, -15]
    by_rank = {segment.meta["rank"]: segment for segment in tmraw.read_all(tmp_path / "store")}
    assert {rank: s.meta["stop_reason"] for rank, s in by_rank.items()} == {0: "exit", 1: "signal"}
    assert all(s.meta["world_size"] == 2 for s in by_rank.values())
    assert all(len(s.rows["kernels"]) == 10 for s in by_rank.values())
    assert all(s.drops() == {} for s in by_rank.values())


def test_a_child_out_of_memory(tmp_path: Path, fakes: Path) -> None:
    code = """
import resource
f = Fakes()
start()
f.attach()
pid = os.fork()
if pid == 0:
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 20), used + (1 << 20)))
    kept = []
    try:
        with tracemill.annotate("too much"):
            while True:
                kept.append(bytearray(1 << 16))
    except MemoryError:
        kept.clear()
        os._exit(9)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
with tracemill.annotate("goes on"):
    pass
"""
    done, segments = record_all(tmp_path, fakes, code)
    assert done.stdout == "9\n"
    assert "goes on" in [name for s in segments for name in s.names()]


def test_no_memory_for_the_recorder(tmp_path: Path, fakes: Path) -> None:
    code = """
import resource
f = Fakes()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (4 << 20), resource.RLIM_INFINITY))
start(ring_events=1 << 22, gpu_buffer_bytes=1 << 30)
f.initialise_cuda()
for i in range(200):
    with tracemill.annotate("work"):
        f.launch_many(0, 1, 1, 1)
tracemill.stop()
print("result 42")
sys.exit(4)
"""
    done, _ = record_all(tmp_path, fakes, code, check=False)
    assert (done.returncode, done.stdout) == (4, "result 42\n"), done.stderr


def test_threads_that_outlive_the_interpreter(tmp_path: Path, fakes: Path) -> None:
    code = """
f = Fakes()
start()
f.attach()
def work():
    while True:
        with tracemill.annotate("thread"):
            f.launch_many(1, 10, time.monotonic_ns(), 10)
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
with tracemill.annotate("main"):
    pass
print("result 42")
sys.exit(6)
"""
    done, segment = record(tmp_path, fakes, code, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (6, "result 42\n", "")
    assert segment.meta["end_reason"] == "exit"
    assert "main" in segment.names()
    assert segment.rows["kernels"]


@pytest.mark.skipif(os.getuid() != 0, reason="gives up root's rights")
def test_no_permission_to_write(tmp_path: Path, fakes: Path) -> None:
    code = """
f = Fakes()
start(output="own")  # imports everything, which nobody may be unable to do
tracemill.stop()
os.setgid(65534)
os.setuid(65534)
start()
f.attach()
with tracemill.step(1):
    t = time.monotonic_ns()
    f.launch(t, t + 250)
tracemill.stop()
print("result 42", tracemill.status()["drops"]["disk_full"])
sys.exit(2)
"""
    (tmp_path / "store").mkdir(mode=0o755)
    done, segments = record_all(tmp_path, fakes, code, check=False)
    assert (done.returncode, done.stdout) == (2, "result 42 2\n"), done.stderr
    assert segments == []
    (line,) = done.stderr.splitlines()
    assert "Permission denied; events are counted as dropped" in line


def test_a_file_system_without_room(tmp_path: Path, fakes: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    code = """
f = Fakes()
from tracemill import _session
_session.RETRY_MS = 50
start()
f.attach()
filler = open(os.path.join(os.environ["TRACEMILL_OUTPUT"], "filler"), "wb", buffering=0)
def work(rounds):
    for _ in range(rounds):
        with tracemill.annotate(f"work_{random.getrandbits(59)}"):
            pass
    t = time.monotonic_ns()
    f.launch_many(1, 1000, t, 10)
    f.wait_flushes(3)
work(300)
try:
    while True:
        filler.write(bytes(1024))
except OSError:
    pass
for _ in range(10):
    work(300)
filler.truncate(0)
time.sleep(0.3)
work(300)
tracemill.stop()
print("result 42")
"""
    path = script(tmp_path, PROLOGUE + code)
    # A mount name space of its own: nothing is left mounted, however the test ends.
    mount = f"mount -t tmpfs -o size=256k none {small} && {sys.executable} {path}; code=$?;"
    shell = f"{mount} cp -r {small}/. {tmp_path / 'kept'}; exit $code"
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no right to mount here")
    done = run_command(
        tmp_path, ["unshare", "-m", "sh", "-c", shell], check=False,
        TRACEMILL_OUTPUT=str(small), FAKE_CUDA=str(fakes), PYTHONPATH=str(ROOT),
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "result 42\n"), done.stderr
    (segment,) = tmraw.read_all(tmp_path / "kept")
    assert segment.tail_bytes == 0
    lost = segment.drops()["disk_full"]
    kept = [len(segment.rows[kind]) for kind in ("annotations", "kernels", "api_calls")]
    assert sum(kept) + lost == 12 * 300 + 2 * 12000
    assert kept[0] >= 600
    (line,) = done.stderr.splitlines()
    assert "No space left on device" in line
