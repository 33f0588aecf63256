"""Real traces against figures worked out independently; see shared/expected/README.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tracemill_analysis.pipeline import import_traces
from tracemill_analysis.store import LocalStore

from tests.support import tables as t
from tests.support.shared import shared_path

NAMES = {
    "gpu_events": "gpu_events",
    "window_ns": "window_ns",
    "busy_ns": "busy_ns",
    "idle_ns": "idle_ns",
    "compute_union_ns": "compute_ns",
    "comm_union_ns": "comm_ns",
    "mem_union_ns": "mem_ns",
    "comp_comm_overlap_ns": "overlap_ns",
    "exposed_comm_ns": "exposed_comm_ns",
}
ONE_NS = ("window_ns", "idle_ns")
"""An event's end is floor(ts + dur) or floor(ts) + floor(dur): 1 ns apart on one file."""

WINDOWS = {"all_gpu": "all_gpu", "linked": "linked", "steps": "through_last_step"}
SETS = {
    "nccl_parser_a100": "traces/hta/nccl_parser_config__nccl_data.json.gz",
    "trace_diff_control_a100_rank3": "traces/hta/trace_diff__control__control.json.gz",
}


def imported(folder: Path, *paths: Path) -> LocalStore:
    store = LocalStore(folder)
    import_traces(store, t.JOB, list(paths))
    return store


def assert_equal(row: t.Row, expected: dict[str, Any]) -> None:
    for name, value in expected.items():
        assert abs(row[name] - value) <= (name in ONE_NS), f"{name}: {row[name]}, not {value}"


@pytest.mark.slow
def test_time_breakdown_equals_the_truth(tmp_path: Path) -> None:
    lines = shared_path("expected/interval-union.jsonl").read_text().splitlines()
    assert lines
    for number, line in enumerate(lines):
        truth = json.loads(line)
        store = imported(tmp_path / str(number), shared_path(truth["file"]))
        rows = t.rows_of(store, "time_breakdown")
        (row,) = [row for row in rows if row["window_kind"] == "all_gpu"]
        assert_equal(row, {ours: truth[theirs] for theirs, ours in NAMES.items()})
        idle = [row["idle_ns"] for row in t.rows_of(store, "idle_causes")]
        assert sum(idle) == row["idle_ns"]


@pytest.mark.parametrize("name", SETS)
def test_each_window_equals_the_truth(name: str, tmp_path: Path) -> None:
    truth = json.loads(shared_path("expected/interval-union-windows.json").read_text())
    rows = t.rows_of(imported(tmp_path, shared_path(SETS[name])), "time_breakdown")
    assert sorted(row["window_kind"] for row in rows) == sorted(WINDOWS)
    for row in rows:
        exact = dict(truth[name]["exact"][WINDOWS[row["window_kind"]]])
        exact["gpu_events"] = exact.pop("n")
        columns = {*NAMES.values()} & exact.keys()
        assert len(columns) == len(NAMES)
        assert_equal(row, {column: exact[column] for column in columns})


def test_dlrm_stragglers(tmp_path: Path) -> None:
    store = imported(tmp_path, shared_path("traces/param/dlrm_8rank"))
    rows = t.rows_of(store, "stragglers")
    assert t.only(rows, "rank", "collectives", "last") == [
        (rank, 8, {4: 1, 5: 2, 7: 5}.get(rank, 0)) for rank in range(8)
    ]
    by_wait = sorted(rows, key=lambda row: -row["caused_wait_ns"])
    assert t.only(by_wait[:3], "rank", "caused_wait_ns") == [
        (7, 37_524_000),
        (2, 26_198_000),
        (6, 25_957_000),
    ]
    assert t.only(rows, "last_wait_ns")[7] == (35_552_000,)
    assert {row["process_id"] for row in t.rows_of(store, "queue_depth")} == set(range(8))


def test_dlrm_queue_depth_equals_hta(tmp_path: Path) -> None:
    table = shared_path("expected/hta-0.5.0/dlrm_8rank/queue_length_summary.csv").read_text()
    lines = [line.split(",") for line in table.splitlines()[3:]]
    deepest = {(int(line[0]), int(line[1])): int(float(line[-1])) for line in lines}
    found: dict[tuple[int, int], int] = {}
    for row in t.rows_of(imported(tmp_path, shared_path("traces/param/dlrm_8rank")), "queue_depth"):
        lane = row["rank"], row["stream"]
        found[lane] = max(found.get(lane, 0), row["max_depth"])
    assert found == deepest


@pytest.mark.parametrize(
    ("name", "idle_ns", "input_share"),
    [
        ("0__worker0.1623143089861", 283_707_000, 0.72),
        ("4__worker0.1623212756351", 2_770_000, 0.01),
    ],
)
def test_data_loading_without_and_with_workers(
    name: str, idle_ns: int, input_share: float, tmp_path: Path
) -> None:
    file = f"samples__resnet50_num_workers_{name}.pt.trace.json.gz"
    store = imported(tmp_path, shared_path(f"traces/kineto-tb_plugin/{file}"))
    (row,) = [row for row in t.rows_of(store, "idle_causes") if row["cause"] == "input_wait"]
    assert row["idle_ns"] == idle_ns
    assert int(row["share_of_idle"] * 100) / 100 == input_share
