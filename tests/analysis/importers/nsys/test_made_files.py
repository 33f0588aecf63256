"""Exports made by hand: other schemas, several processes, domains, graphs, counters, damage."""

from __future__ import annotations

import gzip
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tracemill_analysis.importers.base import ProcessResult
from tracemill_analysis.importers.discover import discover
from tracemill_analysis.importers.nsys.nvtx import Operator, operator
from tracemill_analysis.store import LocalStore
from tracemill_schema.vocab import RankSource

from tests.support import kineto as k
from tests.support import nsys

_SESSION = (("utcEpochNs",), [(1_700_000_000_000_000_000,)])
_NAMES = (nsys.STRINGS, [(1, "gemm"), (2, "cudaLaunchKernel_v7000"), (3, "cuLaunchKernel")])


def _kernel(process: int | None, start: Any, end: Any, device: Any = 0, corr: int = 5) -> Any:
    owner = None if process is None else nsys.pid(process)
    return (start, end, device, 7, corr, owner, 1, 2, 1, 1, 64, 1, 1, 32, 16, 8, None)


def _import(tmp_path: Path, tables: Any, kind: str) -> tuple[list[ProcessResult], LocalStore]:
    path = nsys.write_sqlite(tmp_path / "r.sqlite", tables)
    if kind == "parquet":
        path = nsys.to_parquet(path, tmp_path / "r")
    return nsys.convert_all(path, tmp_path / "store")


_KINDS = pytest.mark.parametrize("kind", ["sqlite", "parquet"])


@_KINDS
def test_ranks_follow_devices_and_helpers_have_none(tmp_path: Path, kind: str) -> None:
    tables = {
        "StringIds": _NAMES,
        "CUPTI_ACTIVITY_KIND_KERNEL": (
            nsys.KERNEL,
            [_kernel(9, 10, 20, 1), _kernel(12, 11, 19, 0), _kernel(30, 5, 6, 2)],
        ),
        "CUPTI_ACTIVITY_KIND_RUNTIME": (
            nsys.CALL,
            [(1, 2, nsys.tid(9, 91), 5, 2), (3, 4, nsys.tid(4, 41), 8, 3)],
        ),
        "TARGET_INFO_SESSION_START_TIME": _SESSION,
    }
    results, store = _import(tmp_path, tables, kind)

    assert [(r.pid, r.item.rank, r.item.rank_source) for r in results] == [
        (12, 0, RankSource.ORDER),
        (9, 1, RankSource.ORDER),
        (30, 2, RankSource.ORDER),
        (4, None, RankSource.NONE),
    ]
    (kernel,) = [row for row in k.rows(store, "kernels") if row["rank"] == 1]
    base = 1_700_000_000_000_000_000
    assert (kernel["start_ns"], kernel["dur_ns"], kernel["device"]) == (base + 10, 10, 1)
    assert (kernel["launch_start_ns"], kernel["launch_thread"]) == (base + 1, 91)
    assert (kernel["shared_bytes"], kernel["registers"], kernel["grid_x"]) == (24, 32, 2)
    assert [(r["name"], r["api"], r["rank"]) for r in k.rows(store, "api_calls")] == [
        ("cudaLaunchKernel", "runtime", 1),
        ("cuLaunchKernel", "driver", None),
    ]


@_KINDS
def test_rows_that_name_no_process_are_counted_once(tmp_path: Path, kind: str) -> None:
    tables = {
        "StringIds": _NAMES,
        "CUPTI_ACTIVITY_KIND_KERNEL": (
            nsys.KERNEL,
            [_kernel(9, 10, 20), _kernel(None, 30, 40), _kernel(12, 50, 60, 1)],
        ),
    }
    results, store = _import(tmp_path, tables, kind)
    assert [(r.pid, r.events_read, r.events_kept) for r in results] == [(9, 2, 2), (12, 1, 1)]
    assert [row["start_ns"] for row in k.rows(store, "kernels")] == [10, 30, 50]
    assert all(r.clock == "monotonic" and k.adds_up(r) for r in results)


@_KINDS
def test_ranges_domains_text_ids_marks_and_open_ends(tmp_path: Path, kind: str) -> None:
    thread = nsys.tid(9, 91)
    tables = {
        "StringIds": (nsys.STRINGS, [(1, "by id"), (2, "NCCL")]),
        "ANALYSIS_DETAILS": (("startTime", "stopTime"), [(0, 500)]),
        "NVTX_EVENTS": (
            nsys.NVTX,
            [
                (0, None, 75, thread, None, 2, 4),
                (10, 20, 59, thread, "plain", None, 0),
                (11, 19, 59, thread, None, 1, 0),
                (30, 90, 60, thread, "ncclAllReduce", None, 4),
                (40, None, 34, thread, "a mark", None, 0),
                (100, None, 59, thread, "step_3", None, 0),
                (110, 120, 59, thread, "aten::mm, op_id = 12, sizes = [[2, 3], [3]]", None, 0),
                (130, 125, 59, thread, "backwards", None, 0),
                (None, 125, 59, thread, "no start", None, 0),
                (140, 150, 59, thread, None, 77, 0),
            ],
        ),
    }
    (result,), store = _import(tmp_path, tables, kind)

    rows = k.rows(store, "annotations")
    assert [(r["name"], r["start_ns"], r["dur_ns"], r["depth"]) for r in rows] == [
        ("plain", 10, 10, 0),
        ("by id", 11, 8, 1),
        ("NCCL:ncclAllReduce", 30, 60, 0),
        ("step_3", 100, 400, 0),
        ("(unknown name)", 140, 10, 1),
    ]
    assert {r["thread"] for r in rows} == {91}
    (op,) = k.rows(store, "operators")
    assert (op["name"], op["shapes"], op["step"]) == ("aten::mm", "[[2, 3], [3]]", 3)
    assert k.drops(result) == {
        "bad_time": 1, "negative_duration": 1, "not_used": 2, "unfinished": 1
    }  # fmt: skip
    assert (result.events_read, result.events_kept) == (10, 6)


@_KINDS
def test_runs_of_whole_graphs(tmp_path: Path, kind: str) -> None:
    columns = ("start", "end", "deviceId", "streamId", "correlationId", "globalPid", "graphId")
    tables = {
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": (columns, [(5, 9, 1, 13, 4, nsys.pid(9), 2)]),
        "CUPTI_ACTIVITY_KIND_RUNTIME": (nsys.CALL, [(1, 2, nsys.tid(9, 91), 4, 2)]),
    }
    _, store = _import(tmp_path, tables, kind)
    (run,) = k.rows(store, "kernels")
    assert (run["name"], run["stream"], run["dur_ns"]) == ("CUDA graph 2", 13, 4)
    assert run["launch_start_ns"] == 1
    assert k.rows(store, "api_calls")[0]["name"] == "(unknown name)"


@_KINDS
def test_counters_become_samples_of_the_first_process(tmp_path: Path, kind: str) -> None:
    first, second = 0x100, 0x101
    tables = {
        "CUPTI_ACTIVITY_KIND_KERNEL": (nsys.KERNEL, [_kernel(9, 10, 20), _kernel(12, 11, 19, 1)]),
        "GPU_METRICS": (
            ("timestamp", "typeId", "metricId", "value"),
            [(20, first, 1, 50), (10, first, 1, 40), (10, second, 2, 1980), (10, None, 2, 1)],
        ),
        "TARGET_INFO_GPU_METRICS": (
            ("typeId", "metricId", "metricName"),
            [(first, 1, "SMs Active [Throughput %]"), (second, 2, "GPC Clock Frequency [MHz]")],
        ),
        "TARGET_INFO_GPU": (("id", "name"), [(0, "NVIDIA X"), (1, "NVIDIA Y")]),
    }
    results, store = _import(tmp_path, tables, kind)
    assert [
        tuple(row[c] for c in ("process_id", "metric", "unit", "index", "time_ns", "value"))
        for row in k.rows(store, "samples")
    ] == [
        (0, "GPC Clock Frequency", "MHz", 1, 10, 1980.0),
        (0, "SMs Active", "%", 0, 10, 40.0),
        (0, "SMs Active", "%", 0, 20, 50.0),
    ]
    assert [(r.events_read, r.events_kept) for r in results] == [(5, 4), (1, 1)]
    assert k.drops(results[0])["bad_time"] == 1
    assert [r.device_name for r in results] == ["NVIDIA X", "NVIDIA Y"]
    assert all(k.adds_up(r) for r in results)


def test_normalised_times_are_unix_times(tmp_path: Path) -> None:
    start = 1_750_000_000_000_000_000
    tables = {
        "CUPTI_ACTIVITY_KIND_KERNEL": (nsys.KERNEL, [_kernel(9, start, start + 5)]),
        "TARGET_INFO_SESSION_START_TIME": _SESSION,
    }
    (result,), _ = _import(tmp_path, tables, "sqlite")
    assert (result.start_ns, result.clock, result.clock_offset_ns) == (start, "unix", 0)


def test_rank_from_the_device_name_of_jax(tmp_path: Path) -> None:
    tables = {
        "CUPTI_ACTIVITY_KIND_KERNEL": (nsys.KERNEL, [_kernel(9, 1, 5)]),
        "TARGET_INFO_NVTX_CUDA_DEVICE": (("name",), [("Xla:#global=6,local=0,process=3#",)]),
    }
    (result,), _ = _import(tmp_path, tables, "sqlite")
    assert (result.item.rank, result.item.rank_source) == (6, RankSource.CONTENT)


@pytest.mark.parametrize(
    ("bad", "drops"),
    [
        (_kernel(9, "late", 20), {"bad_time": 1, "bad_field": 1}),
        (_kernel(9, 1 << 62, (1 << 62) + 1), {"bad_time": 1}),
        (_kernel(9, 20, 10), {"negative_duration": 1}),
        (_kernel(9, -5, 10), {"bad_time": 1}),
    ],
)
def test_unusable_times_are_counted(tmp_path: Path, bad: Any, drops: dict[str, int]) -> None:
    rows = [_kernel(9, 10, 20), bad]
    tables = {"CUPTI_ACTIVITY_KIND_KERNEL": (nsys.KERNEL, rows)}
    (result,), _ = _import(tmp_path, tables, "sqlite")
    assert {n: c for n, c in k.drops(result).items() if n != "unlinked"} == drops
    assert (result.events_read, result.events_kept) == (2, 1)


def test_device_of_the_wrong_type_keeps_the_event(tmp_path: Path) -> None:
    tables = {
        "CUPTI_ACTIVITY_KIND_KERNEL": (nsys.KERNEL, [_kernel(9, 10, 20, device=b"\xff")]),
    }
    (result,), store = _import(tmp_path, tables, "sqlite")
    assert k.rows(store, "kernels")[0]["device"] == 0
    assert k.drops(result) == {"bad_field": 1, "unlinked": 1}


def test_damaged_page_ends_its_table_and_is_counted(tmp_path: Path) -> None:
    path = nsys.write_sqlite(
        tmp_path / "r.sqlite",
        {
            "CUPTI_ACTIVITY_KIND_KERNEL": (
                nsys.KERNEL, [_kernel(9, n, n + 1, corr=n) for n in range(5_000)]
            ),
            "CUPTI_ACTIVITY_KIND_RUNTIME": (nsys.CALL, [(1, 2, nsys.tid(9, 91), 4, 2)]),
        },
    )  # fmt: skip
    data = bytearray(path.read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 4096] = b"\xff" * 4096
    path.write_bytes(data)

    (result,), store = nsys.convert_all(path, tmp_path / "store")

    assert result.drops.counts["damaged"] == 1  # type: ignore[index]
    assert "table CUPTI_ACTIVITY_KIND_KERNEL" in result.drops.examples["damaged"]  # type: ignore[index]
    assert 0 < k.arrow(store, "kernels").num_rows < 5_000
    assert k.arrow(store, "api_calls").num_rows == 1
    assert k.adds_up(result) and not result.complete


def test_damaged_parquet_table_is_counted(tmp_path: Path) -> None:
    tables = {
        "CUPTI_ACTIVITY_KIND_KERNEL": (nsys.KERNEL, [_kernel(9, n, n + 1) for n in range(100)]),
        "CUPTI_ACTIVITY_KIND_RUNTIME": (nsys.CALL, [(1, 2, nsys.tid(9, 91), 4, 2)]),
    }
    folder = nsys.to_parquet(nsys.write_sqlite(tmp_path / "r.sqlite", tables), tmp_path / "r")
    broken = folder / "CUPTI_ACTIVITY_KIND_KERNEL.parquet"
    broken.write_bytes(broken.read_bytes()[:-100])

    (result,), _ = nsys.convert_all(folder, tmp_path / "store")

    assert k.drops(result) == {"unreadable_file": 1}
    assert result.events_kept == 1


def test_column_of_another_type_in_parquet(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    table = pa.table(
        {
            "start": pa.array([1, 2], pa.uint64()),
            "end": pa.array(["5", "x"]),
            "globalPid": pa.array([nsys.pid(9)] * 2, pa.uint64()),
        }
    )
    pq.write_table(table, folder / "CUPTI_ACTIVITY_KIND_KERNEL.parquet")
    (result,), store = nsys.convert_all(folder, tmp_path / "store")
    assert [(r["start_ns"], r["dur_ns"]) for r in k.rows(store, "kernels")] == [(1, 4)]
    assert k.drops(result)["bad_time"] == 1


def test_refusals_name_file_and_reason(tmp_path: Path) -> None:
    nsys.write_sqlite(tmp_path / "other.sqlite", {"t": (("a",), [(1,)])})
    (tmp_path / "cut.sqlite").write_bytes(b"SQLite format 3\0" + b"\xff" * 50)
    (tmp_path / "r.nsys-rep").write_bytes(b"\x00\x01binary")
    nsys.write_sqlite(tmp_path / "empty.sqlite", {"CUPTI_ACTIVITY_KIND_KERNEL": (nsys.KERNEL, [])})
    bomb = gzip.compress(b"SQLite format 3\0" + bytes(80 << 20))
    (tmp_path / "bomb.sqlite.gz").write_bytes(bomb)

    found = dict(discover([tmp_path]).rejected)

    names = ["bomb.sqlite.gz", "cut.sqlite", "empty.sqlite", "other.sqlite", "r.nsys-rep"]
    assert sorted(found) == names
    assert all(message.startswith(f"{name}: ") for name, message in found.items())
    assert "nsys export --type sqlite" in found["other.sqlite"]
    assert "nsys export --type sqlite" in found["r.nsys-rep"]
    assert "100 times its size" in found["bomb.sqlite.gz"]
    assert "no process has events" in found["empty.sqlite"]
    assert "cannot be read" in found["cut.sqlite"]


def test_views_and_virtual_tables_are_not_run(tmp_path: Path) -> None:
    path = nsys.write_sqlite(
        tmp_path / "r.sqlite", {"CUPTI_ACTIVITY_KIND_RUNTIME": (nsys.CALL, [(1, 2, 3, 4, 2)])}
    )
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS "
            "(SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT start, 1 AS globalPid FROM n"
        )
    connection.close()
    (result,), _ = nsys.convert_all(path, tmp_path / "store")
    assert (result.events_read, result.events_kept) == (1, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("aten::mm, op_id = 7", Operator("aten::mm", "nvtx")),
        ("aten::mm, seq = 3, op_id = 7", Operator("aten::mm", "nvtx")),
        (
            "aten::mm, seq = 3, op_id = 7, sizes = [[1], []], input_op_ids = [(1, 0)]",
            Operator("aten::mm", "nvtx", "[[1], []]"),
        ),
        ("autograd::engine, seq = 3", Operator("autograd::engine", "nvtx")),
        ("TSL:Thunk:#hlo_op=copy.1#", Operator("copy.1", "hlo")),
        ("TSL:Thunk:#name=jit(f),hlo_op=x#", Operator("x", "hlo", None, "jit(f)")),
        ("forward", None),
        ("op_id = 7", None),
    ],
)
def test_operator_texts(text: str, expected: Operator | None) -> None:
    assert operator(text) == expected
