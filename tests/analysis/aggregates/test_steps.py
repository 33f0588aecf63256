"""Steps, their GPU time and their input time."""

from __future__ import annotations

from pathlib import Path

import pytest
from tracemill_analysis import aggregates
from tracemill_analysis.aggregates.inputs import is_input

from tests.support import tables as t

GPU_COLUMNS = ("gpu_busy_ns", "gpu_span_ns", "compute_ns", "comm_ns", "exposed_comm_ns", "mem_ns")


def steps(folder: Path, **tables: list[t.Row]) -> list[t.Row]:
    store = t.store_with(folder, processes=[t.process()], **tables)
    aggregates.build(store, t.JOB)
    return t.rows_of(store, "step_summary")


def test_a_step_with_everything(tmp_path: Path) -> None:
    rows = steps(
        tmp_path,
        annotations=[
            t.annotation("step", 4, 0, 100),
            t.annotation("step", 5, 130, 100),
            t.annotation("load_batch", None, 90, 20),
            t.annotation("Input", 5, 120, 30),
            t.annotation("Data", None, 140, 20),
            t.annotation("Input", 6, 150, 40, thread=2),
        ],
        kernels=[
            t.kernel(140, 20, launch=135),
            t.kernel(300, 10, launch=229, launch_thread=9),
            t.comm(150, 30, launch=136, device=1),
            t.kernel(500, 10, launch=230),
            t.kernel(210, 5),
        ],
        memory_ops=[t.memory_op(175, 10, launch=137)],
    )
    assert rows[0] | {"gpu_events": 0, "gpu_busy_ns": 0, "gap_input_ns": None} == rows[0]
    assert t.only(rows, "occurrence", "step", "dur_ns", "gap_before_ns", "input_ns") == [
        (0, 4, 100, None, 10),
        (1, 5, 100, 30, 30),
    ]
    assert t.only(rows, "gap_input_ns") == [(None,), (20,)]
    assert rows[1]["gpu_events"] == 5
    assert {name: rows[1][name] for name in GPU_COLUMNS} == {
        "gpu_busy_ns": 45 + 5 + 10,
        "gpu_span_ns": 170,
        "compute_ns": 35,
        "comm_ns": 30,
        "exposed_comm_ns": 20,
        "mem_ns": 10,
    }
    assert rows[1]["idle_ns"] == 170 - 60


def test_gpu_columns_are_null_without_gpu_events(tmp_path: Path) -> None:
    (row,) = steps(tmp_path, annotations=[t.annotation("step", 1, 0, 10)])
    assert row["gpu_events"] == 0
    assert all(row[name] is None for name in (*GPU_COLUMNS, "idle_ns"))


def test_step_numbers_may_repeat_or_be_missing(tmp_path: Path) -> None:
    rows = steps(
        tmp_path,
        annotations=[
            t.annotation("step", 0, 50, 10),
            t.annotation("step", 0, 10, 10),
            t.annotation("step", None, 30, 10),
        ],
    )
    assert t.only(rows, "occurrence", "step", "start_ns") == [(0, 0, 10), (1, 1, 30), (2, 0, 50)]


def test_one_series_counts_and_nested_steps_do_not(tmp_path: Path) -> None:
    rows = steps(
        tmp_path,
        annotations=[
            t.annotation("ProfilerStep", 1, 0, 100),
            t.annotation("step", 1, 5, 90),
            t.annotation("step", 2, 10, 20, depth=1),
            t.annotation("step", 3, 10, 20, thread=2),
        ],
    )
    assert t.only(rows, "step", "thread") == [(1, 1), (3, 2)]


def test_a_launching_threads_own_step_goes_first(tmp_path: Path) -> None:
    rows = steps(
        tmp_path,
        annotations=[
            t.annotation("step", 1, 0, 100, thread=1),
            t.annotation("step", 2, 10, 100, thread=2),
        ],
        kernels=[
            t.kernel(60, 1, launch=50, launch_thread=2),
            t.kernel(60, 2, launch=50, launch_thread=1),
            t.kernel(60, 4, launch=50, launch_thread=3),
            t.kernel(120, 8, launch=105, launch_thread=1),
        ],
    )
    assert t.only(rows, "step", "gpu_events") == [(1, 2), (2, 2)]


def test_data_loader_operators_of_imports_are_input(tmp_path: Path) -> None:
    name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    rows = steps(
        tmp_path,
        annotations=[t.annotation("ProfilerStep", 1, 0, 100), t.annotation("Input", 1, 40, 20)],
        operators=[
            t.row("operators", name=name, thread=1, start_ns=10, dur_ns=35),
            t.row("operators", name="aten::add", thread=1, start_ns=70, dur_ns=10),
        ],
    )
    assert t.only(rows, "input_ns") == [(50,)]


@pytest.mark.parametrize(
    "name",
    ["Input", "INPUT", "Data", "DataLoader", "dataloader wait", "data_loading", "Load Data"]
    + ["load_batch", "## wait_for_batch ##", "next_batch", "data_time", "fetch_data", "get_inputs"]
    + ["InputPipeline", "IteratorGetNext", "train loader", "DataLoader.__next__"]
    + ["enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"],
)
def test_names_that_are_input(name: str) -> None:
    assert is_input(name)


@pytest.mark.parametrize(
    "name",
    ["", "Forward", "batch", "wait", "next", "step", "metadata", "data_parallel"]
    + ["## sparse_data_dist ##", "## all2all_data:lengths ##", "## copy_batch_to_gpu ##"]
    + ["DistributedDataParallel.forward", "Stage::runInputDist", "# TensorsToDeviceModule #"],
)
def test_names_that_are_not_input(name: str) -> None:
    assert not is_input(name)
