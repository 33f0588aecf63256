"""Queue depth, stragglers and causes of idle time."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tracemill_analysis import aggregates
from tracemill_analysis.aggregates.queue import depth_in_bins

from tests.support import tables as t


def built(folder: Path, table: str, **tables: list[t.Row]) -> list[t.Row]:
    tables.setdefault("processes", [t.process()])
    store = t.store_with(folder, **tables)
    aggregates.build(store, t.JOB)
    return t.rows_of(store, table)


# Queue depth


def test_queue_depth_counts_waiting_launches(tmp_path: Path) -> None:
    rows = built(
        tmp_path,
        "queue_depth",
        processes=[t.process(start_ns=0, end_ns=6000)],
        kernels=[
            t.kernel(30, 5, launch=2, correlation=1, stream=7),
            t.kernel(40, 5, launch=2, correlation=1, stream=7),
            t.kernel(20, 5, launch=12, correlation=2, stream=7),
            t.kernel(50, 5, launch=50, correlation=3, stream=7),
            t.kernel(50, 5, launch=60, correlation=4, stream=7),
            t.kernel(50, 5, stream=7),
        ],
        memory_ops=[t.memory_op(1005, 5, launch=1003, correlation=5, stream=9)],
    )
    names = ("stream", "bin_start_ns", "bin_ns", "max_depth", "mean_depth")
    assert t.only(rows, *names) == [
        (7, 0, 10, 1, 0.8),
        (7, 10, 10, 2, 1.8),
        (7, 20, 10, 1, 1.0),
        (9, 1000, 10, 1, 0.2),
    ]


spans = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 15)), min_size=1, max_size=10)


@given(spans, st.integers(1, 9), st.integers(0, 10))
def test_depth_equals_a_per_ns_model(
    items: list[tuple[int, int]], bin_ns: int, origin: int
) -> None:
    starts = np.array([start for start, _ in items], np.int64)
    ends = starts + np.array([dur for _, dur in items], np.int64)
    edges = origin + bin_ns * np.arange(7, dtype=np.int64)
    area, most = depth_in_bins(starts, ends, edges)
    depth = [int(((starts <= at) & (at < ends)).sum()) for at in range(origin, origin + 6 * bin_ns)]
    in_bins = [depth[i : i + bin_ns] for i in range(0, len(depth), bin_ns)]
    assert area.tolist() == [sum(part) for part in in_bins]
    assert most.tolist() == [max(part) for part in in_bins]


# Stragglers


def arrival(rank: int, start: int, end: int, **values: object) -> t.Row:
    shared = {"process_id": rank, "rank": rank, "operation": "all_reduce", "step": 1}
    return t.row("collectives", **{**shared, "start_ns": start, "dur_ns": end - start, **values})


def ranks(count: int) -> list[t.Row]:
    return [t.process(i, clock_spread_ns=10 * i) for i in range(count)]


def test_arrival_order_says_who_waits_for_whom(tmp_path: Path) -> None:
    rows = built(
        tmp_path,
        "stragglers",
        processes=ranks(3),
        collectives=[
            *(arrival(rank, start, 200) for rank, start in enumerate((100, 110, 150))),
            *(arrival(rank, start, 400 + rank) for rank, start in enumerate((300, 390, 340))),
        ],
    )
    assert t.only(rows, "rank", "collectives", "last", "last_wait_ns") == [
        (0, 2, 0, 0),
        (1, 2, 1, 140),
        (2, 2, 1, 90),
    ]
    names = ("caused_wait_ns", "suffered_wait_ns", "max_lateness_ns", "end_offset_ns")
    assert t.only(rows, *names, "clock_spread_ns") == [
        (0, 50 + 90, 0, -1, 0),
        (10 + 90 + 50, 40, 90, 0, 10),
        (50 + 40 + 40, 50, 50, 0, 20),
    ]
    assert sum(row["last_wait_ns"] for row in rows) == sum(row["suffered_wait_ns"] for row in rows)


def test_what_cannot_be_matched_is_not_judged(tmp_path: Path) -> None:
    rows = built(
        tmp_path,
        "stragglers",
        processes=[*ranks(4), t.process(9, rank=None)],
        collectives=[
            # a rank lacks one of the two, so nobody can say which
            arrival(0, 10, 20),
            arrival(0, 30, 40),
            arrival(1, 15, 20),
            # other operations
            arrival(0, 50, 60, step=2),
            arrival(1, 55, 60, step=2, operation="all_gather"),
            # two groups of two that share a name
            *(arrival(rank, 70 + rank, 80, step=3, group_size=2) for rank in range(4)),
            # one rank alone; a process without a rank
            arrival(2, 90, 99, step=4),
            {**arrival(9, 95, 99, step=4), "rank": None},
            # this one can be judged
            arrival(2, 100, 130, step=5, process_group="a", group_size=2),
            arrival(3, 120, 130, step=5, process_group="a", group_size=2),
        ],
    )
    assert t.only(rows, "rank", "collectives", "last", "suffered_wait_ns") == [
        (2, 1, 0, 20),
        (3, 1, 1, 0),
    ]


def test_groups_are_matched_apart(tmp_path: Path) -> None:
    rows = built(
        tmp_path,
        "stragglers",
        processes=ranks(2),
        collectives=[
            arrival(0, 10, 20, process_group="a"),
            arrival(0, 15, 20, process_group="b"),
            arrival(1, 12, 20, process_group="b"),
            arrival(1, 19, 20, process_group="a"),
        ],
    )
    assert t.only(rows, "rank", "last", "last_wait_ns") == [(0, 1, 3), (1, 1, 9)]


# Causes of idle time


def causes(folder: Path, **tables: list[t.Row]) -> dict[str, int]:
    rows = built(folder, "idle_causes", **tables)
    return {row["cause"]: row["idle_ns"] for row in rows if row["idle_ns"]}


def test_each_cause_by_its_rule(tmp_path: Path) -> None:
    found = built(
        tmp_path,
        "idle_causes",
        kernels=[
            t.kernel(0, 10, launch=-5),
            t.kernel(100, 10, launch=90),
            t.comm(120, 10, launch=95),
            t.kernel(140, 10, launch=96),
            t.kernel(155, 5, launch=97),
            t.kernel(200, 10),
            t.kernel(300, 10, launch=300),
        ],
        annotations=[
            t.annotation("Input", None, 20, 30),
            t.annotation("Input", None, 0, 1000, thread=5),
        ],
        syncs=[
            t.row("syncs", side="host", kind="device", start_ns=40, dur_ns=20),
            t.row("syncs", side="device", kind="device", start_ns=0, dur_ns=500),
        ],
    )
    assert {row["cause"]: row["idle_ns"] for row in found} == {
        # launched at 90 after a gap from 10: 80 ns of the host, 10 of them blocked after the input
        "input_wait": 30,
        "sync": 10,
        "host_bound": 40 + 90,
        "launch_bound": 10,
        # launched long before: waits beside the communication kernel, then between kernels
        "communication_wait": 10 + 10,
        # between kernels launched long before, and before a run without a launch
        "other": 5 + 40,
    }
    (host,) = [row for row in found if row["cause"] == "host_bound"]
    assert (host["gaps"], host["longest_ns"]) == (2, 90)
    assert host["share_of_window"] == 130 / 310


def test_without_launches_all_is_other(tmp_path: Path) -> None:
    assert causes(tmp_path, kernels=[t.kernel(0, 1), t.kernel(5, 1)]) == {"other": 4}


def test_a_device_that_is_never_idle_has_zero_rows(tmp_path: Path) -> None:
    rows = built(tmp_path, "idle_causes", kernels=[t.kernel(0, 9)])
    assert [(row["idle_ns"], row["share_of_idle"]) for row in rows] == [(0, 0.0)] * 6


timed = st.lists(
    st.tuples(
        st.integers(0, 90), st.integers(0, 9), st.none() | st.integers(-9, 99), st.booleans()
    ),
    min_size=1,
    max_size=9,
)
ranges = st.lists(st.tuples(st.integers(0, 90), st.integers(0, 20)), max_size=3)


@settings(max_examples=30, deadline=None)
@given(timed, ranges, ranges)
def test_the_causes_add_up_to_idle(
    items: list[tuple[int, int, int | None, bool]],
    inputs: list[tuple[int, int]],
    waits: list[tuple[int, int]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = t.store_with(
            Path(folder),
            processes=[t.process()],
            kernels=[
                (t.comm if comm else t.kernel)(start, dur, launch)
                for start, dur, launch, comm in items
            ],
            annotations=[t.annotation("Input", None, *span) for span in inputs],
            syncs=[t.row("syncs", side="host", start_ns=start, dur_ns=dur) for start, dur in waits],
        )
        aggregates.build(store, t.JOB)
        (window,) = [
            row for row in t.rows_of(store, "time_breakdown") if row["window_kind"] == "all_gpu"
        ]
        rows = t.rows_of(store, "idle_causes")
    assert all(row["idle_ns"] >= 0 for row in rows)
    assert sum(row["idle_ns"] for row in rows) == window["idle_ns"]
