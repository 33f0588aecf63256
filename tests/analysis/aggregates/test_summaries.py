"""Kernel, precision, launch, activity, memory, annotation and collective summaries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tracemill_analysis import aggregates
from tracemill_analysis.aggregates.statistics import distribution, quantile
from tracemill_schema.errors import StoreError

from tests.support import tables as t


def summary(folder: Path, table: str, **tables: list[t.Row]) -> list[t.Row]:
    store = t.store_with(folder, processes=[t.process()], **tables)
    aggregates.build(store, t.JOB)
    return t.rows_of(store, table)


def test_kernel_summary(tmp_path: Path) -> None:
    runs = [t.kernel(100 * dur, dur, name="a") for dur in range(1, 21)]
    rows = summary(
        tmp_path, "kernel_summary", kernels=[*runs, t.comm(0, 300), t.kernel(50, 0, name="z")]
    )
    assert rows[0]["name"] == "ncclKernel_AllReduce"
    assert rows[1] == {
        "process_id": 0,
        "rank": 0,
        "node": "n0",
        "device": 0,
        "name": "a",
        "category": "compute",
        "precision": "other",
        "count": 20,
        "total_ns": 210,
        "min_ns": 1,
        "max_ns": 20,
        "mean_ns": 10.5,
        "p50_ns": 10,
        "p95_ns": 19,
        "p99_ns": 20,
        "share_of_kernel_time": 210 / 510,
        "share_of_window": 210 / 2020,
    }
    assert (rows[2]["name"], rows[2]["total_ns"]) == ("z", 0)


def test_sums_beyond_53_bits_stay_exact(tmp_path: Path) -> None:
    big = 2**53 + 1
    rows = summary(tmp_path, "kernel_summary", kernels=[t.kernel(0, big), t.kernel(0, big)])
    assert rows[0]["total_ns"] == 2 * big


def test_precision_summary_counts_compute_kernels_only(tmp_path: Path) -> None:
    rows = summary(
        tmp_path,
        "precision_summary",
        kernels=[
            t.kernel(0, 30, name="ampere_bf16_s16816gemm_bf16_64x64", precision="BF16"),
            t.kernel(0, 10, name="add<c10::BFloat16>", precision="BF16"),
            t.kernel(0, 60, name="volta_sgemm_64x64", precision="FP32"),
            t.comm(0, 500),
        ],
    )
    assert t.only(rows, "precision", "count", "total_ns", "tensor_core_ns") == [
        ("BF16", 2, 40, 30),
        ("FP32", 1, 60, 0),
    ]
    assert t.only(rows, "share_of_kernel_time") == [(0.4,), (0.6,)]


def test_a_graph_launch_counts_once(tmp_path: Path) -> None:
    graph = {"launch_dur_ns": 20, "correlation": 7}
    tables = {
        "kernels": [
            t.kernel(140, 5, launch=100, name="second", **graph),
            t.kernel(130, 5, launch=100, name="first", **graph),
            t.kernel(200, 5, launch=195, correlation=8, name="second", launch_dur_ns=10),
            t.kernel(300, 5, launch=310, correlation=9, name="second", launch_dur_ns=4),
            t.kernel(400, 5),
        ],
        "memory_ops": [t.memory_op(500, 5, launch=401, correlation=10, launch_dur_ns=9)],
    }
    (latency,) = summary(tmp_path / "a", "launch_latency", **tables)
    del latency["node"], latency["rank"], latency["process_id"], latency["device"]
    assert latency == {
        "launches": 4,
        "min_ns": -10,
        "p50_ns": 5,
        "p95_ns": 99,
        "max_ns": 99,
        "mean_ns": 31.0,
        "after_call_p50_ns": -5,
        "negative": 1,
    }
    rows = summary(tmp_path / "b", "launch_summary", **tables)
    assert t.only(rows, "name", "count", "total_ns", "p50_ns") == [
        ("second", 2, 14, 4),
        ("first", 1, 20, 20),
    ]


def test_activity_summary_cuts_syncs_to_the_window(tmp_path: Path) -> None:
    rows = summary(
        tmp_path,
        "activity_summary",
        kernels=[t.kernel(100, 50), t.kernel(120, 10, stream=1)],
        memory_ops=[t.memory_op(160, 10), t.memory_op(190, 10, kind="memset")],
        syncs=[
            t.row("syncs", side="host", kind="device", start_ns=90, dur_ns=20),
            t.row("syncs", side="host", kind="device", start_ns=250, dur_ns=20),
        ],
    )
    assert t.only(rows, "activity", "count", "total_ns", "busy_ns", "share_of_window") == [
        ("idle", 2, 30, 30, 0.3),
        ("kernel", 2, 60, 50, 0.5),
        ("memcpy", 1, 10, 10, 0.1),
        ("memset", 1, 10, 10, 0.1),
        ("sync", 1, 10, 10, 0.1),
    ]


def test_device_side_syncs_replace_host_calls(tmp_path: Path) -> None:
    rows = summary(
        tmp_path,
        "activity_summary",
        kernels=[t.kernel(0, 10, device=0), t.kernel(0, 10, device=1)],
        syncs=[
            t.row("syncs", side="host", kind="device", start_ns=1, dur_ns=5),
            t.row("syncs", side="device", kind="stream", device=1, start_ns=2, dur_ns=3),
        ],
    )
    waits = [row for row in rows if row["activity"] == "sync"]
    assert t.only(waits, "device", "count", "busy_ns") == [(1, 1, 3)]


def test_memory_op_summary(tmp_path: Path) -> None:
    pageable: t.Row = {"src_kind": "pageable", "dst_kind": "device"}
    rows = summary(
        tmp_path,
        "memory_op_summary",
        memory_ops=[
            t.memory_op(0, 10, bytes=1000, **pageable),
            t.memory_op(5, 10, bytes=3000, **pageable),
            t.memory_op(50, 80, **pageable),
            t.memory_op(0, 0, bytes=8, kind="DtoH"),
        ],
    )
    assert t.only(rows, "kind", "src_kind", "count", "bytes", "sized", "total_ns", "busy_ns") == [
        ("DtoH", None, 1, 8, 1, 0, 0),
        ("HtoD", "pageable", 3, 4000, 2, 100, 95),
    ]
    assert t.only(rows, "bandwidth_bytes_per_s") == [(None,), (2e11,)]


def test_annotation_summary_names_the_slowest(tmp_path: Path) -> None:
    rows = summary(
        tmp_path,
        "annotation_summary",
        annotations=[
            t.annotation("step", 10, 0, 100),
            t.annotation("step", 11, 100, 100),
            t.annotation("Forward", None, 10, 20),
            t.annotation("Forward", None, 110, 40),
            t.annotation("Forward", None, 120, 40, thread=2),
        ],
    )
    assert t.only(rows, "series", "count", "total_ns", "busy_ns", "share_of_capture") == [
        ("step", 2, 200, 200, 1.0),
        ("Forward", 3, 100, 70, 0.35),
    ]
    assert t.only(rows, "slowest_index", "slowest_step", "slowest_start_ns") == [
        (10, 10, 0),
        (None, 11, 110),
    ]


def test_collective_summary(tmp_path: Path) -> None:
    def collective(start: int, dur: int, size: int | None, group: str | None) -> t.Row:
        return t.row(
            "collectives", operation="all_reduce", start_ns=start, dur_ns=dur, bytes=size,
            process_group=group,
        )  # fmt: skip

    rows = summary(
        tmp_path,
        "collective_summary",
        collectives=[
            collective(0, 5, 100, "g"),
            collective(9, 7, None, "g"),
            collective(20, 1, None, None),
        ],
    )
    assert t.only(rows, "process_group", "count", "total_ns", "bytes", "p50_ns") == [
        (None, 1, 1, 0, 1),
        ("g", 2, 12, 100, 5),
    ]


def test_same_tables_give_same_bytes_and_stale_files_go(tmp_path: Path) -> None:
    tables = {
        "processes": [t.process()],
        "kernels": [t.kernel(i % 7, i % 5, name=f"k{i % 3}", stream=i % 2) for i in range(50)],
        "annotations": [t.annotation("step", i, 10 * i, 9) for i in range(5)],
        "samples": t.cpu_samples(0, [(0, 0, 0), (500, 100, 500)]),
    }
    first = t.store_with(tmp_path / "a", **tables)
    reversed_rows = {name: rows[::-1] for name, rows in tables.items()}
    second = t.store_with(tmp_path / "b", **reversed_rows)
    stale = "tables/collective_summary/job_name=job/all.parquet"
    second.write_bytes(stale, b"left over")
    aggregates.build(first, t.JOB)
    aggregates.build(second, t.JOB)
    aggregates.build(second, t.JOB)
    assert not second.exists(stale)
    for table in ("time_breakdown", "kernel_summary", "step_summary", "utilization", "cpu_summary"):
        key = f"tables/{table}/job_name=job/all.parquet"
        assert first.read_bytes(key) == second.read_bytes(key), table


def test_a_job_without_events_gives_no_files_and_reports_progress(tmp_path: Path) -> None:
    store = t.store_with(tmp_path, processes=[t.process(start_ns=None, end_ns=None)])
    seen: list[float] = []
    aggregates.build(store, t.JOB, lambda _text, fraction: seen.append(fraction))
    assert seen == [0.0, 1.0]
    assert store.list_folders("tables/") == ["processes"]


@pytest.mark.parametrize("content", [b"PAR1 this is no Parquet file PAR1", b"PAR1", b""])
def test_a_damaged_table_is_a_clear_error(content: bytes, tmp_path: Path) -> None:
    store = t.store_with(tmp_path, processes=[t.process()], kernels=[t.kernel(0, 5)])
    store.write_bytes("tables/kernels/job_name=job/p00001.parquet", content)
    with pytest.raises(StoreError, match=r"job job in .*p00001\.parquet"):
        aggregates.build(store, t.JOB)


def test_a_table_damaged_inside_is_a_clear_error(tmp_path: Path) -> None:
    store = t.store_with(tmp_path, processes=[t.process()], kernels=[t.kernel(0, 5)] * 50)
    key = "tables/kernels/job_name=job/p00000.parquet"
    content = bytearray(store.read_bytes(key))
    content[4:400] = b"\xff" * 396
    store.write_bytes(key, bytes(content))
    with pytest.raises(StoreError, match="job job in"):
        aggregates.build(store, t.JOB)


@pytest.mark.parametrize(("count", "expected"), [(1, 0), (2, 0), (3, 1), (4, 1), (100, 49)])
def test_the_median_is_the_lower_of_two(count: int, expected: int) -> None:
    assert quantile(np.arange(count), 50) == expected
    assert distribution(np.arange(count, dtype=np.int64))["p50_ns"] == expected
