"""Profiles made by hand: steps, rounding, details, damage at every place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracemill_analysis.importers.base import ProcessResult
from tracemill_analysis.importers.discover import discover
from tracemill_analysis.importers.xplane.labels import copy_details, kernel_details
from tracemill_analysis.importers.xplane.wire import decode_many
from tracemill_analysis.store import LocalStore

from tests.support import kineto as k
from tests.support import nsys
from tests.support import xplane as x


def _import(tmp_path: Path, *planes: x.PlaneWriter) -> tuple[ProcessResult, LocalStore]:
    path = tmp_path / "t.xplane.pb"
    path.write_bytes(x.space(*planes))
    (result,), store = nsys.convert_all(path, tmp_path / "store")
    return result, store


def _gpu(*events: tuple[str, int, int, dict[str, Any]]) -> x.PlaneWriter:
    plane = x.PlaneWriter("/device:GPU:3")
    made = [plane.event(name, start, dur, **stats) for name, start, dur, stats in events]
    plane.line(7, "Stream #13(Compute)", 1_000, made)
    return plane


def test_steps_launches_and_runs(tmp_path: Path) -> None:
    host = x.PlaneWriter("/host:CPU")
    host.line(
        -5,
        "python",
        0,
        [
            host.event("train", 100_000, 9_000_000, step_num=12),
            host.event("cuLaunchKernel", 200_000, 1_000, correlation_id=4),
            host.event("cudaMemcpyAsync", 300_000, 1_000, correlation_id=5),
            host.event("dense/MatMul:MatMul", 400_000, 5_000, shape="[2,3]"),
            host.event("$file.py:3 f", 400_000, 5_000),
        ],
    )
    gpu = _gpu(
        ("gemm", 500_000, 70_000,
         {"correlation_id": 4, "kernel_details": "regs:32 static_shared:16 dynamic_shared:8 "
          "grid:4,2,1 block:64,1,1 occ_pct:50"}),
        ("MemcpyH2D", 600_000, 10_000,
         {"correlation_id": 5,
          "memcpy_details": "kind_src:pinned kind_dst:device size:64 dest:0 async:1"}),
        ("Memset", 700_000, 1_000, {"memset_details": "kind:device size:8 async:1"}),
    )  # fmt: skip
    result, store = _import(tmp_path, gpu, host)

    (kernel,) = k.rows(store, "kernels")
    assert (kernel["device"], kernel["stream"], kernel["start_ns"], kernel["dur_ns"]) == (
        3, 13, 1_500, 70
    )  # fmt: skip
    assert (kernel["registers"], kernel["shared_bytes"], kernel["grid_y"]) == (32, 24, 2)
    assert (kernel["launch_start_ns"], kernel["launch_thread"], kernel["step"]) == (200, -5, 12)
    copy, memset = sorted(k.rows(store, "memory_ops"), key=lambda row: row["start_ns"])
    columns = ("kind", "src_kind", "dst_kind", "bytes", "launch_start_ns")
    assert tuple(copy[c] for c in columns) == ("HtoD", "pinned", "device", 64, 300)
    assert tuple(memset[c] for c in columns) == ("memset", None, "device", 8, None)
    (step,) = k.rows(store, "annotations")
    assert (step["name"], step["series"], step["index"]) == ("step_12", "step", 12)
    assert [(r["name"], r["api"]) for r in k.rows(store, "api_calls")] == [
        ("cuLaunchKernel", "driver"), ("cudaMemcpyAsync", "runtime")
    ]  # fmt: skip
    assert sorted((r["name"], r["category"], r["shapes"]) for r in k.rows(store, "operators")) == [
        ("$file.py:3 f", "python_function", None),
        ("dense/MatMul:MatMul", "tf_op", "[2,3]"),
    ]
    assert (result.framework, result.events_kept) == ("TensorFlow", 8)


def test_neighbours_in_picoseconds_do_not_overlap_in_nanoseconds(tmp_path: Path) -> None:
    _, store = _import(tmp_path, _gpu(("a", 100, 1_500, {}), ("b", 1_600, 1_500, {})))
    rows = sorted(k.rows(store, "kernels"), key=lambda row: row["start_ns"])
    assert [(r["start_ns"], r["dur_ns"]) for r in rows] == [(1_000, 1), (1_001, 2)]


def test_unusable_times_are_counted(tmp_path: Path) -> None:
    result, store = _import(
        tmp_path,
        _gpu(("good", 0, 1_000, {}), ("late", 1 << 63, 5, {}), ("back", 5_000_000, -3_000_000, {})),
    )
    assert k.drops(result) == {"bad_time": 1, "negative_duration": 1, "unlinked": 1}
    assert [row["name"] for row in k.rows(store, "kernels")] == ["good"]
    assert k.adds_up(result)


def test_damaged_event_costs_no_other(tmp_path: Path) -> None:
    plane = x.PlaneWriter("/device:GPU:0")
    events = [plane.event(f"k{n}", n * 10_000, 1_000) for n in range(3)]
    events[1] = b"\x0b" + events[1]
    plane.line(1, "Stream #1", 0, events)
    result, store = _import(tmp_path, plane)
    assert sorted(row["name"] for row in k.rows(store, "kernels")) == ["k0", "k2"]
    assert k.drops(result) == {"damaged": 1, "unlinked": 2}
    assert k.adds_up(result)


def test_names_lost_with_the_files_end_leave_the_times(tmp_path: Path) -> None:
    data = x.space(_gpu(("gemm", 0, 1_000, {})))
    path = tmp_path / "t.xplane.pb"
    path.write_bytes(data[: data.index(b"gemm") - 6])
    (result,), store = nsys.convert_all(path, tmp_path / "store")
    (row,) = k.rows(store, "kernels")
    assert (row["name"], row["dur_ns"]) == ("(unknown name)", 1)
    assert k.drops(result) == {"bad_field": 1, "truncated": 1, "unlinked": 1}


def test_empty_and_foreign_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.xplane.pb").write_bytes(b"")
    (tmp_path / "other.xplane.pb").write_bytes(b"no protobuf at all")
    found = dict(discover([tmp_path]).rejected)
    assert found == {
        "empty.xplane.pb": "empty.xplane.pb: the file is empty",
        "other.xplane.pb": "other.xplane.pb: not an XPlane profile, or damaged from the start",
    }


@given(st.binary(max_size=300), st.data())
def test_any_bytes_are_decoded_within_their_bounds(data: bytes, draw: st.DataObject) -> None:
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(data)), max_size=6)))
    starts, ends = np.array(cuts[:-1], np.int64), np.array(cuts[1:], np.int64)
    fields = decode_many(np.frombuffer(data, np.uint8), starts, ends)
    assert len(fields.bad) == len(starts)
    rows = np.flatnonzero(fields.wire == 2)
    begin = fields.value[rows].view(np.int64)
    owner = fields.owner[rows]
    assert (begin >= starts[owner]).all()
    assert (begin + fields.length[rows] <= ends[owner]).all()


_VALUES = st.integers(0, (1 << 64) - 1)


@given(st.lists(st.lists(st.tuples(st.integers(1, 500), _VALUES | st.binary(max_size=20)))))
def test_decoding_gives_what_was_written(messages: list[list[tuple[int, int | bytes]]]) -> None:
    encoded = [
        b"".join(x.number(t, v) if isinstance(v, int) else x.text(t, v) for t, v in fields)
        for fields in messages
    ]
    ends = np.cumsum([len(one) for one in encoded], dtype=np.int64)
    data = b"".join(encoded)
    fields = decode_many(np.frombuffer(data, np.uint8), ends - [len(e) for e in encoded], ends)
    got: list[list[tuple[int, int | bytes]]] = [[] for _ in messages]
    for row in range(len(fields.owner)):
        value: int | bytes = int(fields.value[row])
        if fields.wire[row] == 2:
            value = data[int(value) : int(value) + int(fields.length[row])]
        got[int(fields.owner[row])].append((int(fields.number[row]), value))
    assert got == messages
    assert not fields.bad.any()


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("MemcpyD2H", "size:8 dest:4 async:1", "DtoH"),
        ("CopyDeviceToDevice", "kind:Unknown size:655360 dest:2 async:1", "DtoD"),
        ("MemcpyP2P", "", "PtoP"),
        ("MemcpyOther", "size:1", "other"),
        ("Memset", "", "memset"),
    ],
)
def test_kinds_of_copies(name: str, text: str, kind: str) -> None:
    details = copy_details(name, text)
    assert details is not None and str(details.kind) == kind


def test_details_that_make_no_sense_are_left_out() -> None:
    assert copy_details("gemm", "") is None
    details = kernel_details("regs:99999999999999999999 grid:1,2 block:x")
    assert (details.registers, details.grid, details.block) == (None, None, None)
