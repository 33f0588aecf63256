"""Upload of closed segments to S3: real processes, real boto3, moto's server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import tracemill
from tracemill import _upload_worker
from tracemill_schema import layout

from tests.support import tmraw
from tests.support.aws.gate import Gate, gate_before
from tests.support.aws.server import moto_server, new_bucket, objects
from tests.support.recording import environment, run, script

_WORK = """
import os, signal, sys, time, tracemill
tracemill.start(flush_interval_ms=20, rotate_s=0, rotate_bytes=1, max_steps=0)
for i in range(40):
    with tracemill.annotate(f"work_{i}"):
        time.sleep(0.01)
print("trained")
"""
_QUICK = {"TRACEMILL_UPLOAD_INTERVAL_MS": "50", "TRACEMILL_UPLOAD_RETRY_MS": "20"}
_DEADLINE_S = 60.0


@pytest.fixture(scope="module")
def aws() -> Iterator[str]:
    with moto_server() as address:
        yield address


@pytest.fixture
def bucket(aws: str) -> str:
    return new_bucket()


@pytest.fixture
def gate(aws: str) -> Iterator[Gate]:
    with gate_before(aws) as found:
        yield found


def to(bucket: str, **more: str) -> dict[str, str]:
    return {"TRACEMILL_S3_URI": f"s3://{bucket}/some/prefix/", **_QUICK, **more}


def uploaded(bucket: str, folder: Path) -> list[tmraw.Segment]:
    """What lies in the bucket, decoded; every key is one that the workflow looks for."""
    for key, content in objects(bucket).items():
        place = layout.parse_segment_key(key.removeprefix("some/prefix/"))
        assert place is not None, key
        assert place.job == "job"
        path = folder / "fetched" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmraw.read_all(folder / "fetched")


def work_done(segments: list[tmraw.Segment]) -> list[int]:
    rows = [r for segment in segments for r in segment.rows.get("annotations", [])]
    return sorted(row["index"] for row in rows)


def left_in(folder: Path) -> list[Path]:
    return sorted((folder / "store").rglob("*.tmraw"))


def wait_until(condition: object) -> None:
    until = time.monotonic() + _DEADLINE_S
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < until
        time.sleep(0.05)


def test_everything_is_in_s3_when_the_script_has_ended(
    tmp_path: Path, bucket: str, gate: Gate
) -> None:
    done = run(tmp_path, _WORK, **to(bucket, AWS_ENDPOINT_URL=gate.address))
    assert (done.stdout, done.stderr) == ("trained\n", "")
    segments = uploaded(bucket, tmp_path)
    assert len(segments) > 3
    assert work_done(segments) == list(range(40))
    assert segments[-1].meta["end_reason"] == "exit"
    assert not list((tmp_path / "store").iterdir()), "uploaded segments are removed"
    # The role of a training job may put objects and nothing else.
    assert {method for method, _ in gate.requests} == {"PUT"}
    assert all("?" not in path for _, path in gate.requests)
    assert len(gate.requests) == len(segments)


def test_nothing_is_lost_while_s3_refuses(tmp_path: Path, bucket: str, gate: Gate) -> None:
    gate.refuse = 5
    done = run(tmp_path, _WORK, **to(bucket, AWS_ENDPOINT_URL=gate.address))
    assert done.stdout == "trained\n"
    assert done.stderr.splitlines() == [
        f"tracemill: upload to s3://{bucket}/some/prefix/ does not work: SlowDown; the recording "
        f"goes on in {tmp_path}/store, the upload is tried again",
        f"tracemill: upload to s3://{bucket}/some/prefix/ works again",
    ]
    assert work_done(uploaded(bucket, tmp_path)) == list(range(40))
    assert left_in(tmp_path) == []


def test_the_end_is_not_held_up_beyond_the_deadline(
    tmp_path: Path, bucket: str, gate: Gate
) -> None:
    gate.refuse = 10**9
    settings = to(bucket, AWS_ENDPOINT_URL=gate.address, TRACEMILL_UPLOAD_DEADLINE_S="1")
    done = run(tmp_path, _WORK, **settings)
    assert done.stdout == "trained\n"
    first, last = done.stderr.splitlines()
    assert "does not work: SlowDown" in first
    assert f"segments were not uploaded to s3://{bucket}/some/prefix/ in time" in last
    assert objects(bucket) == {}
    assert work_done(tmraw.read_all(tmp_path / "store")) == list(range(40))


def test_wrong_credentials_are_said_once_and_cost_nothing(
    tmp_path: Path, aws: str, bucket: str
) -> None:
    def check_keys(after: bytes) -> None:
        kind = {"Content-Type": "application/octet-stream"}  # a form's body would be read as one
        request = urllib.request.Request(f"{aws}/moto-api/reset-auth", after, kind)
        urllib.request.urlopen(request).close()

    check_keys(b"0")
    try:
        settings = to(bucket, AWS_ACCESS_KEY_ID="wrong", TRACEMILL_UPLOAD_DEADLINE_S="1")
        done = run(tmp_path, _WORK, **settings)
    finally:
        check_keys(b"inf")
    assert done.stdout == "trained\n"
    first, last = done.stderr.splitlines()
    assert "does not work: InvalidAccessKeyId" in first
    assert "in time" in last
    assert work_done(tmraw.read_all(tmp_path / "store")) == list(range(40))


def test_without_boto3_it_says_so_once_and_records(tmp_path: Path) -> None:
    hidden = """
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name == "boto3":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hide())
"""
    done = run(tmp_path, hidden + _WORK + "tracemill.stop()\ntracemill.start()\n", **to("bucket"))
    assert done.stdout == "trained\n"
    assert done.stderr.splitlines() == [
        "tracemill: no upload to s3://bucket/some/prefix/: boto3 is not installed (pip install "
        f"boto3); the recording is in {tmp_path}/store"
    ]
    assert work_done(tmraw.read_all(tmp_path / "store")) == list(range(40))


def test_a_removed_folder_disturbs_nobody(tmp_path: Path, bucket: str) -> None:
    removal = "import shutil; shutil.rmtree(os.environ['TRACEMILL_OUTPUT'], True)\n"
    done = run(tmp_path, _WORK + removal, **to(bucket))
    assert done.stdout == "trained\n"
    assert "Traceback" not in done.stderr


def test_a_killed_training_is_uploaded_all_the_same(tmp_path: Path, bucket: str) -> None:
    ending = "time.sleep(0.2); os.kill(os.getpid(), signal.SIGKILL)\n"
    done = run(tmp_path, _WORK + ending, check=False, **to(bucket))
    assert done.returncode == -signal.SIGKILL
    wait_until(lambda: work_done(uploaded(bucket, tmp_path)) == list(range(40)))


def test_sigterm_ends_the_training_and_its_recording_arrives(tmp_path: Path, bucket: str) -> None:
    ending = "time.sleep(0.2); os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)\n"
    done = run(tmp_path, _WORK + ending, check=False, **to(bucket))
    assert done.returncode == -signal.SIGTERM
    wait_until(lambda: left_in(tmp_path) == [])
    segments = uploaded(bucket, tmp_path)
    assert work_done(segments) == list(range(40))
    assert segments[-1].meta["end_reason"] == "signal"


def test_what_a_forked_worker_recorded_arrives_too(tmp_path: Path, bucket: str) -> None:
    fork = """
child = os.fork()
if child == 0:
    with tracemill.annotate("child_100"):
        time.sleep(0.1)
    tracemill.stop()
    os._exit(0)
os.waitpid(child, 0)
"""
    run(tmp_path, _WORK + fork, **to(bucket))
    wait_until(lambda: left_in(tmp_path) == [])
    segments = uploaded(bucket, tmp_path)
    assert work_done(segments) == [*range(40), 100]
    assert len({segment.meta["pid"] for segment in segments}) == 2


def test_a_stopped_recording_is_uploaded_while_the_script_goes_on(
    tmp_path: Path, bucket: str
) -> None:
    ending = """
tracemill.stop()
print("stopped", flush=True)
sys.stdin.read()
tracemill.start(rotate_bytes=0)
with tracemill.annotate("again_7"):
    pass
"""
    process = subprocess.Popen(
        [sys.executable, str(script(tmp_path, _WORK + ending))],
        env=environment(
            **to(bucket), TRACEMILL_OUTPUT=str(tmp_path / "store"), TRACEMILL_JOB="job"
        ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == [b"trained\n", b"stopped\n"]
    wait_until(lambda: left_in(tmp_path) == [])
    assert work_done(uploaded(bucket, tmp_path)) == list(range(40))
    process.communicate(timeout=_DEADLINE_S)
    assert process.returncode == 0
    assert work_done(uploaded(bucket, tmp_path)) == sorted([7, *range(40)])


def test_without_a_folder_segments_wait_among_temporary_files(tmp_path: Path, bucket: str) -> None:
    code = _WORK + "print(tracemill.status()['folder'])\n"
    done = run(tmp_path, code, **to(bucket, TRACEMILL_OUTPUT="", TMPDIR=str(tmp_path)))
    folder = done.stdout.splitlines()[1]
    assert folder.startswith(f"{tmp_path}/tracemill-spool-{os.getuid()}/raw/job_name=job/")
    assert work_done(uploaded(bucket, tmp_path)) == list(range(40))


@pytest.mark.parametrize("uri", ["bucket", "s3:/bucket", "s3://", "s3://UPPER/x", "https://b/x"])
def test_an_address_that_is_none_is_refused(uri: str) -> None:
    with pytest.raises(ValueError, match="s3_uri"):
        tracemill.start(s3_uri=uri)
    assert not tracemill.is_recording()


# The worker's rules, without a process


def worker(folder: Path, put: _upload_worker.Put) -> _upload_worker.Worker:
    config = {
        "uri": "s3://b", "prefix": "", "output": str(folder), "node_folder": str(folder),
        "pid": 5, "start_ns": 1000, "interval_s": 1.0, "retry_s": 0.5,
    }  # fmt: skip
    return _upload_worker.Worker(config, put, lambda message: None)


def segments_of(folder: Path, process: str, *numbers: int) -> None:
    for number in numbers:
        path = folder / f"process={process}" / f"{number:06d}.tmraw"
        path.parent.mkdir(exist_ok=True)
        path.touch()


def test_a_segment_that_may_still_be_written_stays(tmp_path: Path) -> None:
    segments_of(tmp_path, "5-1000", 0, 1, 2)
    segments_of(tmp_path, "4000001-1001", 0)  # began later, gone
    segments_of(tmp_path, f"{os.getpid()}-1002", 0)  # lives
    segments_of(tmp_path, "4000002-999", 0)  # of an earlier run
    put: list[str] = []
    subject = worker(tmp_path, lambda key, path: put.append(key))
    assert subject.round(parent_alive=True) == 0
    own = [f"process=5-1000/{number:06d}.tmraw" for number in range(3)]
    assert sorted(put) == ["process=4000001-1001/000000.tmraw", *own[:2]]
    subject.hear("closed")
    subject.round(parent_alive=True)
    assert put[3:] == own[2:]


def test_waits_double_up_to_a_limit_and_end_with_success(tmp_path: Path) -> None:
    segments_of(tmp_path, "5-1000", 0, 1)
    refuse = True

    def put(key: str, path: str) -> None:
        if refuse:
            raise OSError("no")

    subject = worker(tmp_path, put)
    waits = []
    for _ in range(9):
        subject._retry_at_s = 0.0
        assert subject.round(parent_alive=True) == 1
        waits.append(round(subject.wait_s() * 2))
    assert waits == [1, 2, 4, 8, 16, 32, 64, 64, 64]
    refuse = False
    subject._retry_at_s = 0.0
    assert subject.round(parent_alive=True) == 0
    assert (subject.uploaded, subject.wait_s()) == (1, 1.0)
