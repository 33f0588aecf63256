"""``time_breakdown``: windows, the partition, and what forms no row."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tracemill_analysis import aggregates

from tests.support import tables as t

PARTS = ("compute_ns", "exposed_comm_ns", "exposed_mem_ns", "idle_ns")


def breakdown(folder: Path, **tables: list[t.Row]) -> dict[str, t.Row]:
    store = t.store_with(folder, processes=[t.process()], **tables)
    aggregates.build(store, t.JOB)
    return {row["window_kind"]: row for row in t.rows_of(store, "time_breakdown")}


def test_three_windows_of_one_device(tmp_path: Path) -> None:
    found = breakdown(
        tmp_path,
        kernels=[
            t.kernel(100, 50, launch=90),
            t.comm(140, 40, launch=95),
            t.kernel(300, 10, launch=200),
            t.kernel(400, 20),
        ],
        memory_ops=[t.memory_op(170, 30, launch=96)],
        annotations=[t.annotation("step", 1, 80, 120)],
    )
    assert found["all_gpu"] == {
        "process_id": 0,
        "rank": 0,
        "node": "n0",
        "device": 0,
        "window_kind": "all_gpu",
        "window_start_ns": 100,
        "window_end_ns": 420,
        "window_ns": 320,
        "busy_ns": 130,
        "idle_ns": 190,
        "compute_ns": 80,
        "comm_ns": 40,
        "mem_ns": 30,
        "overlap_ns": 10,
        "exposed_comm_ns": 30,
        "exposed_mem_ns": 20,
        "gpu_events": 5,
    }
    assert (found["linked"]["window_end_ns"], found["linked"]["gpu_events"]) == (310, 4)
    # The step ends at 200: a launch at that very moment belongs to the window, the unlinked not.
    assert (found["steps"]["window_end_ns"], found["steps"]["gpu_events"]) == (310, 4)


def test_a_launch_after_the_last_step_is_outside_its_window(tmp_path: Path) -> None:
    found = breakdown(
        tmp_path,
        kernels=[t.kernel(10, 5, launch=1), t.kernel(300, 10, launch=201)],
        annotations=[t.annotation("ProfilerStep", 7, 0, 200)],
    )
    assert found["steps"]["window_ns"] == 5
    assert found["linked"]["window_ns"] == 300


def test_no_row_where_no_window_can_be_formed(tmp_path: Path) -> None:
    assert list(breakdown(tmp_path / "a", kernels=[t.kernel(0, 5)])) == ["all_gpu"]
    late = breakdown(
        tmp_path / "b",
        kernels=[t.kernel(50, 5, launch=40)],
        annotations=[t.annotation("step", 1, 0, 10)],
    )
    assert list(late) == ["all_gpu", "linked"]
    assert breakdown(tmp_path / "c", annotations=[t.annotation("step", 1, 0, 10)]) == {}


def test_devices_and_processes_have_rows_of_their_own(tmp_path: Path) -> None:
    store = t.store_with(
        tmp_path,
        processes=[t.process(0), t.process(1, node="n1"), t.process(2, rank=None)],
        kernels=[
            t.kernel(0, 5, device=1),
            t.kernel(3, 4, device=0),
            t.kernel(1, 9, process_id=1, device=0),
            t.kernel(1, 9, process_id=1, device=0),
        ],
    )
    aggregates.build(store, t.JOB)
    rows = t.only(
        t.rows_of(store, "time_breakdown"), "process_id", "node", "device", "busy_ns", "gpu_events"
    )
    assert rows == [(0, "n0", 0, 4, 1), (0, "n0", 1, 5, 1), (1, "n1", 0, 9, 2)]


spans = st.lists(st.tuples(st.integers(0, 80), st.integers(0, 12)), max_size=8)


@settings(max_examples=25, deadline=None)
@given(spans, spans, spans)
def test_the_parts_add_up_to_the_window_and_match_a_per_ns_model(
    compute: list[tuple[int, int]], comm: list[tuple[int, int]], mem: list[tuple[int, int]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = breakdown(
            Path(folder),
            kernels=[t.kernel(*span) for span in compute] + [t.comm(*span) for span in comm],
            memory_ops=[t.memory_op(*span) for span in mem],
        )
    if not (compute or comm or mem):
        assert found == {}
        return
    row = found["all_gpu"]
    model = _model(compute, comm, mem)
    assert {name: row[name] for name in model} == model
    assert sum(row[name] for name in PARTS) == row["window_ns"]
    assert row["busy_ns"] <= row["window_ns"]


def _model(*kinds: list[tuple[int, int]]) -> dict[str, Any]:
    compute, comm, mem = (
        {at for start, dur in spans for at in range(start, start + dur)} for spans in kinds
    )
    every = [span for spans in kinds for span in spans]
    window = max(a + b for a, b in every) - min(a for a, _ in every)
    return {
        "window_ns": window,
        "busy_ns": len(compute | comm | mem),
        "idle_ns": window - len(compute | comm | mem),
        "compute_ns": len(compute),
        "comm_ns": len(comm),
        "mem_ns": len(mem),
        "overlap_ns": len(comm & compute),
        "exposed_comm_ns": len(comm - compute),
        "exposed_mem_ns": len(mem - comm - compute),
    }
