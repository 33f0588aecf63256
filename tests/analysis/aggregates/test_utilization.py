"""Bins, GPU and CPU utilisation, and the summary of host metrics."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracemill_analysis import aggregates
from tracemill_analysis.aggregates.bins import Bins, round_bin_ns

from tests.support import tables as t


def built(folder: Path, table: str, **tables: list[t.Row]) -> list[t.Row]:
    store = t.store_with(folder, **tables)
    aggregates.build(store, t.JOB)
    return t.rows_of(store, table)


@pytest.mark.parametrize(
    ("span", "expected"),
    [(1, 1), (600, 1), (601, 2), (1200, 2), (1201, 5), (3001, 10), (6 * 10**11, 10**9)],
)
def test_bins_are_round_and_at_most_six_hundred(span: int, expected: int) -> None:
    assert round_bin_ns(span) == expected


def test_the_last_bin_ends_with_the_capture() -> None:
    assert Bins(7, 18, 5).edges.tolist() == [7, 12, 17, 18]
    assert Bins(0, 10, 5).lengths.tolist() == [5, 5]


def test_gpu_bins_hold_the_union_and_idle_ones_exist(tmp_path: Path) -> None:
    rows = built(
        tmp_path,
        "utilization",
        processes=[t.process(start_ns=100, end_ns=1901)],
        kernels=[t.kernel(102, 6, stream=0), t.kernel(104, 6, stream=1), t.comm(107, 5)],
        memory_ops=[t.memory_op(1899, 2)],
    )
    assert len(rows) == 361
    assert {row["bin_ns"] for row in rows[:-1]} == {5}
    names = ("bin_start_ns", "bin_ns", "busy_ns", "compute_ns", "comm_ns", "mem_ns", "utilization")
    assert t.only(rows[:4], *names) == [
        (100, 5, 3, 3, 0, 0, 0.6),
        (105, 5, 5, 5, 3, 0, 1.0),
        (110, 5, 2, 0, 2, 0, 0.4),
        (115, 5, 0, 0, 0, 0, 0.0),
    ]
    assert t.only(rows[-2:], *names) == [
        (1895, 5, 1, 0, 0, 1, 0.2),
        (1900, 1, 1, 0, 0, 1, 1.0),
    ]


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 900)), min_size=1, max_size=9),
    st.integers(0, 50),
)
def test_bins_conserve_busy_time(spans: list[tuple[int, int]], before: int) -> None:
    kernels = [t.kernel(1000 + start, dur) for start, dur in spans]
    end = max(row["start_ns"] + row["dur_ns"] for row in kernels)
    with tempfile.TemporaryDirectory() as folder:
        store = t.store_with(
            Path(folder),
            processes=[t.process(start_ns=1000 - before, end_ns=end + 1)],
            kernels=kernels,
        )
        aggregates.build(store, t.JOB)
        bins = t.rows_of(store, "utilization")
        (window, *_) = t.rows_of(store, "time_breakdown")
    assert sum(row["busy_ns"] for row in bins) == window["busy_ns"]
    assert sum(row["bin_ns"] for row in bins) == end + 1 - (1000 - before)


def test_processes_on_other_time_scales_have_their_own_bins(tmp_path: Path) -> None:
    rows = built(
        tmp_path,
        "utilization",
        processes=[
            t.process(0, start_ns=0, end_ns=1000),
            t.process(1, start_ns=10**18, end_ns=10**18 + 600, clock="monotonic"),
        ],
        kernels=[t.kernel(0, 1), t.kernel(10**18, 1, process_id=1)],
    )
    assert {(row["process_id"], row["bin_ns"]) for row in rows} == {(0, 2), (1, 1)}


def test_cpu_bins_spread_the_time_between_samples(tmp_path: Path) -> None:
    rows = built(
        tmp_path,
        "utilization",
        processes=[t.process(start_ns=0, end_ns=6000)],
        samples=[
            *t.cpu_samples(0, [(5, 1000, 5000), (15, 1010, 5010), (25, 1010, 5020)]),
            *t.cpu_samples(1, [(5, 0, 0), (15, 0, 10), (25, 10, 20)]),
        ],
    )
    assert t.only(rows, "index", "bin_start_ns", "utilization", "busy_ns") == [
        (-1, 0, 0.5, 5),
        (-1, 10, 0.5, 10),
        (-1, 20, 0.5, 5),
        (0, 0, 1.0, 5),
        (0, 10, 0.5, 5),
        (0, 20, 0.0, 0),
        (1, 0, 0.0, 0),
        (1, 10, 0.5, 5),
        (1, 20, 1.0, 5),
    ]
    assert {(row["resource"], row["process_id"], row["compute_ns"]) for row in rows} == {
        ("cpu", None, None)
    }


def test_cpu_summary_of_cores_rates_and_gauges(tmp_path: Path) -> None:
    second = 10**9
    rss: dict[str, Any] = {"metric": "process_rss_bytes", "unit": "bytes", "scope": "process"}
    rows = built(
        tmp_path,
        "cpu_summary",
        processes=[t.process(0), t.process(1)],
        samples=[
            *t.cpu_samples(0, [(0, 0, 0), (second, 50, 100), (3 * second, 50, 300)]),
            t.sample("disk_read_bytes", 0, 100.0, unit="bytes"),
            t.sample("disk_read_bytes", second, 300.0, unit="bytes", process_id=1),
            t.sample("disk_read_bytes", 2 * second, 290.0, unit="bytes"),
            t.sample("disk_read_bytes", 4 * second, 900.0, unit="bytes"),
            t.sample(time=0, value=10.0, process_id=1, **rss),
            t.sample(time=second, value=30.0, process_id=1, **rss),
            t.sample(time=second, value=float("nan"), **rss),
            t.sample("process_threads", second, 4.0, unit="threads", scope="process"),
            t.sample("process_cpu_ns", second, 4.0, unit="ns", scope="process"),
        ],
    )
    names = ("process_id", "metric", "unit", "index", "samples", "mean", "min", "max", "p95")
    assert t.only(rows, *names) == [
        (None, "cpu_utilization", "0..1", -1, 2, 50 / 300, 0.0, 0.5, 0.5),
        (None, "cpu_utilization", "0..1", 0, 2, 50 / 300, 0.0, 0.5, 0.5),
        (None, "disk_read_bytes", "bytes/s", -1, 3, 200.0, 0.0, 300.0, 300.0),
        (0, "process_threads", "threads", -1, 1, 4.0, 4.0, 4.0, 4.0),
        (1, "process_rss_bytes", "bytes", -1, 2, 20.0, 10.0, 30.0, 30.0),
    ]


def test_a_core_sampled_once_has_no_utilisation(tmp_path: Path) -> None:
    store = t.store_with(tmp_path, processes=[t.process()], samples=t.cpu_samples(0, [(5, 1, 1)]))
    aggregates.build(store, t.JOB)
    assert store.list_folders("tables/") == ["processes", "samples"]
