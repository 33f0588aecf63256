"""Given records through the recorder's encoder and writer, read back by the tests' decoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tracemill import _generated, _native

from tests.support import gpu, tmraw

_NO_ROTATION = 0


def replay(folder: Path, rotate_bytes: int = _NO_ROTATION) -> _native.Replay:
    members = f'"simulated":true,"kinds":{_generated.KINDS_JSON}'
    return _native.Replay(str(folder), members, rotate_bytes, 1_000, 5_000)


def columns(*values: list[int]) -> bytes:
    return np.array(values, np.int64).tobytes()


def test_every_kind_comes_back_as_it_was_given(tmp_path: Path) -> None:
    subject = replay(tmp_path / "p")
    launch, work = subject.name("cudaLaunchKernel"), subject.name("work")
    signature = subject.signature("_Z3fooi", 1, 2, 3, 4, 5, 6, 7, 8, 9)
    kernels = columns([0, 0], [1, 1], [7, 7], [100, 50], [130, 90], [2, 1], [signature] * 2, [0, 4])
    subject.add("kernels", 8, kernels)
    subject.add(
        "memcpys",
        11,
        columns([0], [1], [20], [10], [40], [3], [1], [2], [3], [0], [4096]),
    )
    subject.add("memsets", 9, columns([0], [1], [7], [140], [150], [4], [3], [0], [512]))
    subject.add("api_calls", 6, columns([11], [5], [9], [1], [launch], [0]))
    subject.add("gpu_syncs", 6, columns([1], [1], [-1], [9], [60], [70]))
    subject.add("annotations", 6, columns([11], [work], [3], [0], [1], [200]))
    subject.add("samples", 4, columns([1, 1], [0, 0], [10, 20], [5, 6]))
    written = subject.flush()
    assert subject.finish('"end_reason":"exit"') == (
        (tmp_path / "p" / "000000.tmraw").stat().st_size,
        1,
    )
    assert written > 0
    (segment,) = tmraw.read_all(tmp_path)
    first, second = gpu.kernels(segment)
    assert (first["start_ns"], first["dur_ns"], first["graph_node"]) == (50, 40, 4)
    assert (second["start_ns"], second["dur_ns"], second["correlation"]) == (100, 30, 2)
    assert first["name"] == "foo(int)"
    assert first["shape"] == (1, 2, 3, 4, 5, 6, 7, 8, 9)
    (copy,) = gpu.memory(segment, "memcpys")
    assert (copy["stream"], copy["start_ns"], copy["dur_ns"], copy["bytes"]) == (20, 10, 30, 4096)
    (memset,) = gpu.memory(segment, "memsets")
    assert (memset["start_ns"], memset["dur_ns"], memset["bytes"]) == (140, 10, 512)
    (call,) = gpu.calls(segment)
    assert (call["thread"], call["name"], call["start_ns"]) == (11, "cudaLaunchKernel", 5)
    (sync,) = segment.rows["gpu_syncs"]
    assert (sync["type"], sync["stream"], sync["start_ns"], sync["dur_ns"]) == (1, -1, 60, 10)
    (row,) = segment.rows["annotations"]
    assert (segment.strings[row["series_id"]], row["index"], row["dur_ns"]) == ("work", 3, 200)
    assert [row["value"] for row in segment.rows["samples"]] == [5, 6]
    assert segment.meta["end_reason"] == "exit"


def test_clocks_are_those_that_were_set(tmp_path: Path) -> None:
    subject = replay(tmp_path / "p")
    subject.add("samples", 4, columns([1], [0], [10], [5]))
    subject.flush()
    subject.set_clock(9_000, 13_050)
    subject.finish('"end_reason":"exit"')
    (segment,) = tmraw.read_all(tmp_path)
    readings = [(r["monotonic_ns"], r["realtime_ns"], r["tsc"]) for r in segment.rows["clock"]]
    assert readings == [(1_000, 5_000, 0), (9_000, 13_050, 0)]


def test_segments_are_rotated_and_each_defines_what_it_uses(tmp_path: Path) -> None:
    subject = replay(tmp_path / "p", rotate_bytes=1)
    signature = subject.signature("k", 1, 1, 1, 1, 1, 1, 1, 1, 1)
    for start in range(3):
        subject.add(
            "kernels", 8, columns([0], [1], [7], [start], [start + 1], [start], [signature], [0])
        )
        subject.flush()
    assert subject.finish('"end_reason":"exit"')[1] == 4
    segments = tmraw.read_all(tmp_path)
    assert [row["name"] for s in segments for row in gpu.kernels(s)] == ["k"] * 3


@pytest.mark.parametrize(
    ("kind", "count", "values"),
    [("kernels", 7, bytes(56)), ("nothing", 1, bytes(8)), ("samples", 4, bytes(31))],
)
def test_what_is_no_row_of_the_kind_is_refused(
    tmp_path: Path, kind: str, count: int, values: bytes
) -> None:
    with pytest.raises(ValueError, match="columns|rows"):
        replay(tmp_path / "p").add(kind, count, values)


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    subject = replay(tmp_path / "file" / "p")
    subject.add("samples", 4, columns([1], [0], [10], [5]))
    with pytest.raises(OSError, match="could not be written"):
        subject.flush()
