"""``operator_summary`` on small, random and real tables against counting event by event."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracemill_analysis import aggregates
from tracemill_analysis.aggregates.operators import parents
from tracemill_analysis.pipeline import import_traces
from tracemill_analysis.store import LocalStore

from tests.support import tables as t
from tests.support.shared import shared_path


def operator(name: str, start: int, dur: int, thread: int = 1, **values: Any) -> t.Row:
    defaults = {"category": "cpu_op", "rank": 0}
    return t.row(
        "operators", name=name, start_ns=start, dur_ns=dur, thread=thread, **{**defaults, **values}
    )


def summary(folder: Path, operators: list[t.Row], kernels: list[t.Row]) -> list[t.Row]:
    store = t.store_with(folder, processes=[t.process()], operators=operators, kernels=kernels)
    aggregates.build(store, t.JOB)
    return t.rows_of(store, "operator_summary")


LINEAR = [
    operator("aten::linear", 0, 100, depth=0),
    operator("aten::addmm", 10, 50, depth=1),
    operator("aten::copy_", 20, 10, depth=2),
    operator("aten::copy_", 70, 20, depth=1),
    operator("aten::copy_", 70, 40, thread=2),
]
RUNS = [
    t.kernel(200, 7, launch=5, correlation=1),
    t.kernel(300, 9, launch=20, correlation=2),
    t.kernel(400, 11, launch=60, correlation=3),
    t.kernel(405, 1, launch=60, correlation=3),
    t.kernel(500, 13, launch=100, correlation=4),
    t.kernel(600, 15, launch=80, correlation=5, launch_thread=2),
    t.kernel(700, 17),
    t.memory_op(800, 19, launch=30),
]


def test_self_and_total_times_and_the_kernels_within(tmp_path: Path) -> None:
    kernels = [run for run in RUNS if "category" in run]
    rows = summary(tmp_path, LINEAR, kernels)
    assert rows[0] == {
        "process_id": 0,
        "rank": 0,
        "node": "n0",
        "category": "cpu_op",
        "name": "aten::linear",
        "module": None,
        "count": 1,
        "total_ns": 100,
        "self_ns": 100 - 50 - 20,
        "min_ns": 100,
        "max_ns": 100,
        "mean_ns": 100.0,
        "kernels": 4,
        "self_kernels": 3,
        "gpu_ns": 7 + 9 + 11 + 1,
        "self_gpu_ns": 7 + 11 + 1,
        "launches": 3,
        "launch_delay_ns": 195 + 280 + 340,
    }
    names = ("name", "count", "total_ns", "self_ns", "kernels", "self_kernels", "gpu_ns")
    assert t.only(rows[1:], *names) == [
        ("aten::copy_", 3, 70, 70, 2, 2, 24),
        ("aten::addmm", 1, 50, 40, 1, 0, 9),
    ]
    assert t.only(rows[1:], "min_ns", "max_ns", "mean_ns", "launch_delay_ns") == [
        (10, 40, 70 / 3, 280 + 520),
        (50, 50, 50.0, 280),
    ]


def test_recursion_counts_once(tmp_path: Path) -> None:
    calls = [operator("f", 0, 100), operator("f", 10, 50), operator("f", 20, 10)]
    (row,) = summary(tmp_path, calls, [t.kernel(200, 5, launch=25)])
    assert (row["count"], row["total_ns"], row["self_ns"]) == (3, 100, 100)
    assert (row["kernels"], row["self_kernels"], row["gpu_ns"]) == (1, 1, 5)
    assert row["mean_ns"] == 160 / 3


def test_modules_and_categories_stand_apart_and_names_of_other_processes_too(
    tmp_path: Path,
) -> None:
    rows = summary(
        tmp_path,
        [
            operator("mm", 0, 10, module="net.first"),
            operator("mm", 10, 30, module="net.second"),
            operator("mm", 50, 20),
            operator("mm", 80, 5, category="python_function"),
        ],
        [],
    )
    assert t.only(rows, "category", "module", "total_ns", "launches", "launch_delay_ns") == [
        ("cpu_op", "net.second", 30, 0, 0),
        ("cpu_op", None, 20, 0, 0),
        ("cpu_op", "net.first", 10, 0, 0),
        ("python_function", None, 5, 0, 0),
    ]


def test_a_child_that_outlasts_its_parent_takes_only_what_lies_within(tmp_path: Path) -> None:
    rows = summary(tmp_path, [operator("a", 0, 10), operator("b", 6, 10)], [])
    assert t.only(rows, "name", "total_ns", "self_ns") == [("a", 10, 6), ("b", 10, 10)]


def test_without_operators_there_is_no_table(tmp_path: Path) -> None:
    assert summary(tmp_path, [], [t.kernel(0, 5, launch=0)]) == []


@given(st.lists(st.integers(0, 12), max_size=40))
def test_parents_are_the_last_that_contain(lengths: list[int]) -> None:
    until = [min(i + length, len(lengths)) for i, length in enumerate(lengths)]
    plain = [max((j for j in range(i) if until[j] > i), default=-1) for i in range(len(until))]
    assert parents(np.array(until, np.int64)).tolist() == plain


@dataclass
class Plain:
    """One row, counted event by event."""

    runs: list[t.Row] = field(default_factory=list)
    self_ns: int = 0
    self_kernels: int = 0
    self_gpu_ns: int = 0
    launched: list[t.Row] = field(default_factory=list)


def counted(operators: list[t.Row], kernels: list[t.Row]) -> list[t.Row]:
    """The rows by plain scans: no sorting of launches among operators, no places."""
    found: dict[tuple[Any, ...], Plain] = defaultdict(Plain)
    by_thread: dict[int, list[t.Row]] = defaultdict(list)
    for one in sorted(operators, key=_order):
        by_thread[one["thread"]].append(one)
    for lane in by_thread.values():
        for place, one in enumerate(lane):
            entry = found[_key(one)]
            entry.runs.append(one)
            entry.self_ns += one["dur_ns"]
            above = [other for other in lane[:place] if _covers(other, one["start_ns"])]
            if above:
                inside = min(_end(one), _end(above[-1])) - one["start_ns"]
                found[_key(above[-1])].self_ns -= inside
    for run in kernels:
        if run["launch_start_ns"] is None:
            continue
        lane = by_thread.get(run["launch_thread"], [])
        above = [one for one in lane if _covers(one, run["launch_start_ns"])]
        if above:
            found[_key(above[-1])].self_kernels += 1
            found[_key(above[-1])].self_gpu_ns += run["dur_ns"]
        for key in {_key(one) for one in above}:
            found[key].launched.append(run)
    return [_row(key, entry) for key, entry in found.items()]


def _row(key: tuple[Any, ...], entry: Plain) -> t.Row:
    durations = [one["dur_ns"] for one in entry.runs]
    total, reach = 0, {}
    for one in sorted(entry.runs, key=lambda one: one["start_ns"]):
        covered = max(reach.get(one["thread"], one["start_ns"]), one["start_ns"])
        total += max(_end(one) - covered, 0)
        reach[one["thread"]] = max(covered, _end(one))
    first: dict[Any, int] = {}
    for run in entry.launched:
        call = (run["device"], run["correlation"], run["launch_thread"], run["launch_start_ns"])
        first[call] = min(first.get(call, run["start_ns"]), run["start_ns"])
    delays = [start - call[-1] for call, start in first.items()]
    return {
        **dict(zip(("category", "name", "module"), key, strict=True)),
        "count": len(durations),
        "total_ns": total,
        "self_ns": entry.self_ns,
        "min_ns": min(durations),
        "max_ns": max(durations),
        "mean_ns": sum(durations) / len(durations),
        "kernels": len(entry.launched),
        "self_kernels": entry.self_kernels,
        "gpu_ns": sum(run["dur_ns"] for run in entry.launched),
        "self_gpu_ns": entry.self_gpu_ns,
        "launches": len(delays),
        "launch_delay_ns": sum(delays),
    }


def _order(one: t.Row) -> tuple[Any, ...]:
    key = (one["category"], one["name"], one["module"] is None, one["module"] or "")
    return one["start_ns"], -one["dur_ns"], one["depth"], key


def _key(one: t.Row) -> tuple[Any, ...]:
    return one["category"], one["name"], one["module"]


def _end(one: t.Row) -> int:
    return int(one["start_ns"] + one["dur_ns"])


def _covers(one: t.Row, time: int) -> bool:
    return bool(one["start_ns"] <= time < _end(one))


def assert_counted(store: LocalStore) -> list[t.Row]:
    rows = t.rows_of(store, "operator_summary")
    operators, kernels = (t.rows_of(store, name) for name in ("operators", "kernels"))
    expected = sorted(
        counted(operators, kernels),
        key=lambda row: (
            -row["total_ns"],
            row["category"],
            row["name"],
            row["module"] is not None,
            row["module"],
        ),
    )
    where = ("process_id", "rank", "node")
    found = [{name: row[name] for name in row if name not in where} for row in rows]
    assert found == expected
    return rows


@pytest.mark.parametrize("seed", range(4))
def test_random_operators_that_nest_overlap_and_touch(seed: int, tmp_path: Path) -> None:
    random = np.random.default_rng(seed)

    def number(limit: int) -> int:
        return int(random.integers(limit))

    operators = [
        operator("fgh"[number(3)], number(40), number(15), number(2), module=["m", None][number(2)])
        for _ in range(60)
    ]
    kernels = [
        t.kernel(
            number(200),
            number(9),
            number(60),
            correlation=number(9),
            launch_thread=number(3),
        )
        for _ in range(40)
    ]
    store = t.store_with(tmp_path, processes=[t.process()], operators=operators, kernels=kernels)
    aggregates.build(store, t.JOB)
    assert_counted(store)


@pytest.mark.parametrize(
    ("trace", "operators"),
    [
        ("hta/critical_path__alexnet__benchmark_result_2869224_1695835535_trace.json.gz", 359),
        ("hta/trace_filter__sampled_rank-0.json.gz", 2329),
        ("tracelens/h100__gaunernst_bert-small-uncased__1016001.json.gz", 1864),
    ],
)
def test_real_traces_equal_plain_counting(trace: str, operators: int, tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    import_traces(store, t.JOB, [shared_path(f"traces/{trace}")])
    rows = assert_counted(store)
    assert sum(row["count"] for row in rows) == operators
