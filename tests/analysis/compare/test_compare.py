"""Rules of the comparison on hand-made tables, and names as data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracemill_analysis.compare import compare_jobs, render
from tracemill_analysis.compare.by_name import Change, compare_by_name
from tracemill_analysis.compare.findings import compare_findings
from tracemill_analysis.compare.side import Basis
from tracemill_analysis.compare.steps import compare_steps
from tracemill_analysis.store import LocalStore
from tracemill_schema.errors import JobNotFoundError, UsageError

from tests.support.aggregates import MemoryTables, write_rows_to_store
from tests.support.profiles import job_row, write_cpu_job, write_gpu_job, write_manifest

EVEN = Basis("step", 10, 10)


def _kernel(name: str, count: int, total_ns: int) -> dict[str, Any]:
    return {"name": name, "category": "compute", "count": count, "total_ns": total_ns}


@pytest.mark.parametrize(
    ("a", "b", "change"),
    [
        (None, (10, 100), Change.ADDED),
        ((10, 100), None, Change.REMOVED),
        ((10, 100), (10, 106), Change.SLOWER),
        ((10, 100), (10, 94), Change.FASTER),
        ((10, 100), (11, 110), Change.MORE_RUNS),
        ((10, 100), (9, 90), Change.FEWER_RUNS),
        ((10, 100), (10, 105), Change.SAME),
        ((10, 100), (10, 95), Change.SAME),
        ((10, 0), (10, 0), Change.SAME),
    ],
)
def test_change_of_a_kernel(
    a: tuple[int, int] | None, b: tuple[int, int] | None, change: Change
) -> None:
    found = compare_by_name([_kernel("k", *a)] if a else [], [_kernel("k", *b)] if b else [], EVEN)
    assert found.rows[0]["change"] == change
    assert found.changes[change] == 1


def test_jobs_of_different_length_are_compared_per_step() -> None:
    found = compare_by_name(
        [_kernel("k", 10, 1_000)], [_kernel("k", 30, 3_000)], Basis("step", 1, 3)
    )
    (row,) = found.rows
    assert row["change"] == Change.SAME
    assert (row["a_per_unit_ns"], row["b_per_unit_ns"], row["delta_per_unit_ns"]) == (1e3, 1e3, 0)


_ROWS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.integers(1, 50), st.integers(0, 10**9)), max_size=12
)


@given(_ROWS, _ROWS)
def test_nothing_is_left_out(a: list[Any], b: list[Any]) -> None:
    found = compare_by_name([_kernel(*one) for one in a], [_kernel(*one) for one in b], EVEN)
    assert sum(row["a_total_ns"] for row in found.rows) == sum(t for _, _, t in a)
    assert sum(row["b_count"] for row in found.rows) == sum(n for _, n, _ in b)
    assert {row["name"] for row in found.rows} == {name for name, _, _ in [*a, *b]}


def _finding(rule: str, **values: Any) -> dict[str, Any]:
    return {
        "position": 0, "rule": rule, "severity": "high", "title": f"{rule}!", "at_stake_ns": 10,
        "gpu_hours": 0.5, "abstained": False, **values,
    }  # fmt: skip


def test_a_finding_the_other_job_cannot_answer_is_neither_gained_nor_lost() -> None:
    silent = _finding("x", abstained=True, severity="info", title="GPU events are needed")
    found = compare_findings([_finding("x"), _finding("y")], [silent, _finding("z")])
    assert [row["rule"] for row in found.lost] == ["y"]
    assert [row["rule"] for row in found.gained] == ["z"]
    assert [(row["rule"], row["needed"]) for row in found.unknown] == [
        ("x", "GPU events are needed")
    ]


def test_several_findings_of_a_rule_are_one_row() -> None:
    found = compare_findings([_finding("x"), _finding("x", position=1)], [_finding("x")])
    assert (found.kept[0]["a_findings"], found.kept[0]["a_at_stake_ns"]) == (2, 20)


class _Side:
    def __init__(self, numbers: list[int]) -> None:
        rows = [
            {"occurrence": i, "step": n, "start_ns": 100 * i, "dur_ns": 50 + n}
            for i, n in enumerate(numbers)
        ]
        self.tables = MemoryTables(step_summary=rows)


@pytest.mark.parametrize(
    ("a", "b", "aligned_by", "pairs"),
    [
        ([1, 2, 3], [2, 3, 4], "number", [(2, 2), (3, 3)]),
        ([1, 2, 3], [11, 12, 13], "order", [(1, 11), (2, 12), (3, 13)]),
        ([1, 1, 1], [1, 2, 3], "order", [(1, 1), (1, 2), (1, 3)]),
        ([1, 2], [3, 4, 5], "order", [(1, 3), (2, 4)]),
        ([], [1], None, []),
    ],
)
def test_alignment(
    a: list[int], b: list[int], aligned_by: str | None, pairs: list[tuple[int, int]]
) -> None:
    found = compare_steps(_Side(a), _Side(b))  # type: ignore[arg-type]
    assert found.aligned_by == aligned_by
    assert [(p["a_step"], p["b_step"]) for p in found.pairs] == pairs
    assert (found.unpaired_a, found.unpaired_b) == (len(a) - len(pairs), len(b) - len(pairs))


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    store = LocalStore(tmp_path)
    write_gpu_job(store)
    write_cpu_job(store, series={"step": 200, "<img src=x>": 60})
    row = job_row(gpus=0, ranks=1, steps=0, simulated=True, completeness="partial")
    write_rows_to_store(store, "bare", {"jobs": [row]})
    write_manifest(store, "bare", row)
    return store


def test_a_job_without_gpu_is_compared_by_its_steps(store: LocalStore) -> None:
    found = compare_jobs(store, "gpu-job", "cpu-job")
    assert found.breakdown is None and found.kernels is None
    assert found.ranges is not None
    assert "B has no GPU events: GPU time and kernels cannot be compared." in found.notes
    assert found.steps.p50_ratio == 1.0
    assert len(found.steps.pairs) == 40


def test_a_job_with_nothing_is_compared_too(store: LocalStore) -> None:
    for a, b in (("bare", "gpu-job"), ("gpu-job", "bare"), ("bare", "bare")):
        found = compare_jobs(store, a, b)
        assert found.steps.pairs == [] and found.steps.aligned_by is None
        assert found.basis.unit == "process"
        for fmt in ("table", "json", "html"):
            assert render(found, fmt)
    assert "B is simulated: its events were made, not recorded." in found.notes
    assert "B is partial: not everything that was found could be read." in found.notes


def test_names_are_data(store: LocalStore) -> None:
    html = render(compare_jobs(store, "gpu-job", "cpu-job"), "html")
    assert "<img" not in html and "&lt;img src=x&gt;" in html
    assert "<script" not in html and "http" not in html and "url(" not in html


def test_an_unknown_job_or_format_is_one_clear_error(store: LocalStore) -> None:
    with pytest.raises(JobNotFoundError, match="job nope: not in the store"):
        compare_jobs(store, "gpu-job", "nope")
    with pytest.raises(UsageError, match="take one of table, json, html"):
        render(compare_jobs(store, "bare", "bare"), "xlsx")
