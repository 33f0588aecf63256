"""What a recording looks like on disk, byte by byte, and the frozen file of format version 1."""

from __future__ import annotations

import json
import os
import platform
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import tracemill
from tracemill_schema import RAW_FORMAT_VERSION, layout, raw
from tracemill_schema.options import OPTIONS
from tracemill_schema.targets.sdk_python import kinds_document

from tests.sdk.conftest import Recorder
from tests.support import tmraw
from tests.support.recording import run

_GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "v1"


def test_the_golden_file_reads_as_it_always_did() -> None:
    segment = tmraw.read(_GOLDEN / "annotations.tmraw")
    expected = json.loads((_GOLDEN / "annotations.json").read_text(encoding="utf-8"))
    assert segment.tail_bytes == 0
    assert {str(k): v for k, v in segment.strings.items()} == expected["strings"]
    assert segment.metas == expected["metas"]
    assert segment.rows == expected["rows"]
    assert [b.codec for b in segment.blocks] == expected["codecs"]


def test_the_golden_file_holds_every_kind_that_needs_no_gpu() -> None:
    segment = tmraw.read(_GOLDEN / "annotations.tmraw")
    without_gpu = {kind.id for kind in raw.RAW_KINDS if kind.id < raw.GPU_TRACKS.id}
    assert {block.kind for block in segment.blocks} == without_gpu


def test_checksum_is_crc32c() -> None:
    assert tmraw.crc32c(b"123456789") == 0xE3069283


def test_every_damaged_byte_is_noticed(recorder: Recorder) -> None:
    def body() -> None:
        for i in range(3):
            with tracemill.step(i):
                pass

    recorder.record(body)
    (file,) = recorder.folder.rglob("*.tmraw")
    content = file.read_bytes()
    ends = [end for _, end in tmraw.blocks(content)]
    for position in range(0, len(content), 37):
        damaged = bytearray(content)
        damaged[position] ^= 0x40
        whole_before = sum(end <= position for end in ends)
        assert len(list(tmraw.blocks(bytes(damaged)))) == whole_before
    for cut in range(0, len(content), 53):
        assert len(list(tmraw.blocks(content[:cut]))) == sum(end <= cut for end in ends)


def test_the_first_block_tells_who_recorded(tmp_path: Path) -> None:
    before_ns = time.time_ns()
    run(
        tmp_path,
        "import tracemill\ntracemill.start(max_steps=7)\n",
        "--password=secret",
        RANK="3",
        LOCAL_RANK="1",
        WORLD_SIZE="8",
        SM_CURRENT_INSTANCE_TYPE="ml.p4d.24xlarge",
    )
    (path,) = tmp_path.rglob("*.tmraw")
    segment = tmraw.read(path)
    first = segment.metas[0]
    key = layout.parse_segment_key(path.relative_to(tmp_path / "store").as_posix())
    assert key is not None
    assert (key.job, key.sequence) == ("job", 0)
    assert (first["pid"], first["start_ns"], first["node"]) == (key.pid, key.start_ns, key.node)
    assert before_ns < key.start_ns < time.time_ns()
    assert first["format_version"] == RAW_FORMAT_VERSION
    assert first["kinds"] == kinds_document()
    assert first["node"] == layout.safe_name(socket.gethostname())
    assert (first["rank"], first["local_rank"], first["world_size"]) == (3, 1, 8)
    assert first["instance_type"] == "ml.p4d.24xlarge"
    assert first["python"] == platform.python_version()
    assert first["simulated"] is False
    assert first["command"] == "train"
    assert first["framework"] is None
    assert set(first["options"]) == {option.name for option in OPTIONS}
    assert first["options"]["max_steps"] == 7
    assert "secret" not in path.read_bytes().decode("latin-1")
    assert "secret" not in json.dumps(segment.metas)


def test_the_framework_is_named_but_never_imported(tmp_path: Path) -> None:
    code = """
    import sys, types, tracemill
    tracemill.start()
    assert "torch" not in sys.modules
    torch = types.ModuleType("torch")
    torch.__version__ = "2.13.0+cu126"
    sys.modules["torch"] = torch
    """
    run(tmp_path, code)
    assert tmraw.read_one(tmp_path).meta["framework"] == "PyTorch 2.13.0+cu126"


def test_clock_readings_bracket_the_recording(recorder: Recorder) -> None:
    before = (time.monotonic_ns(), time.time_ns())
    segment = recorder.record(lambda: time.sleep(0.05))
    after = (time.monotonic_ns(), time.time_ns())
    readings = segment.rows["clock"]
    assert len(readings) >= 2
    assert before[0] <= readings[0]["monotonic_ns"] < readings[-1]["monotonic_ns"] <= after[0]
    assert before[1] <= readings[0]["realtime_ns"] < readings[-1]["realtime_ns"] <= after[1]
    offsets = [r["realtime_ns"] - r["monotonic_ns"] for r in readings]
    assert max(offsets) - min(offsets) < 1_000_000
    has_counter = tracemill.status()["clock"] == "tsc"
    assert all((r["tsc"] > 0) is has_counter for r in readings)


def test_block_times_cover_their_rows(recorder: Recorder) -> None:
    def body() -> None:
        for i in range(50):
            with tracemill.step(i):
                time.sleep(0.001)

    segment = recorder.record(body, flush_interval_ms=20, cpu_interval_ms=10)
    assert [block.sequence for block in segment.blocks] == list(range(len(segment.blocks)))
    rows = iter(segment.rows["annotations"])
    for block in segment.blocks:
        assert block.first_ns <= block.last_ns
        if block.kind == raw.ANNOTATIONS.id:
            own = [next(rows) for _ in range(block.rows)]
            assert block.first_ns == min(row["start_ns"] for row in own)
            assert block.last_ns == max(row["start_ns"] + row["dur_ns"] for row in own)


def test_open_ranges_are_snapshot_and_the_snapshot_is_withdrawn(recorder: Recorder) -> None:
    def body() -> None:
        with tracemill.annotate("long_3"):
            time.sleep(0.12)
        time.sleep(0.08)

    segment = recorder.record(body, flush_interval_ms=20)
    assert len(segment.snapshots) >= 3
    assert segment.snapshots[-1] == []
    (finished,) = segment.rows["annotations"]
    for (row,) in segment.snapshots[:-1]:
        assert row == {name: finished[name] for name in row}


@pytest.mark.parametrize("job", [None, "sagemaker"])
def test_the_default_job_name(tmp_path: Path, job: str | None) -> None:
    names: dict[str, Any] = {"TRACEMILL_JOB": ""} | (
        {"TRAINING_JOB_NAME": "pytorch-2026"} if job else {}
    )
    today = time.strftime("train-%Y%m%d-")
    run(tmp_path, "import tracemill\ntracemill.start()\n", **names)
    found = tmraw.read_one(tmp_path).meta["job"]
    assert found == "pytorch-2026" if job else found.startswith((today, "train-"))


def test_ranks_of_one_launch_agree_on_the_default_job_name(tmp_path: Path) -> None:
    launcher = f"""
    import os, subprocess, time
    for rank in range(2):
        env = dict(os.environ, RANK=str(rank), WORLD_SIZE="2")
        code = "import sys; sys.argv[0] = 'train.py'; import tracemill; tracemill.start()"
        subprocess.run([{sys.executable!r}, "-c", code], env=env, check=True)
        time.sleep(1.1)
    """
    run(tmp_path, launcher, TRACEMILL_JOB="")
    assert len({segment.meta["job"] for segment in tmraw.read_all(tmp_path)}) == 1


def test_output_folder_may_be_relative(tmp_path: Path) -> None:
    code = """
    import os, tracemill
    del os.environ["TRACEMILL_OUTPUT"]
    tracemill.start()
    os.chdir("/")
    with tracemill.step(1):
        pass
    """
    run(tmp_path, code)
    assert tmraw.read_one(tmp_path / "tracemill-store").names() == ["step_1"]
    assert os.access(tmp_path / "tracemill-store", os.W_OK)
