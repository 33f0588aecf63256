"""The input-bound pair of ResNet-50, and eight ranks of DLRM against themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tracemill_analysis.compare import Comparison, compare_jobs, comparison_document, render
from tracemill_analysis.pipeline import import_traces
from tracemill_analysis.store import LocalStore

from tests.support.shared import shared_path

PAIR = "traces/kineto-tb_plugin/samples__resnet50_num_workers_{}.pt.trace.json.gz"
TRACES = {
    "workers0": PAIR.format("0__worker0.1623143089861"),
    "workers4": PAIR.format("4__worker0.1623212756351"),
    "dlrm": "traces/param/dlrm_8rank",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> LocalStore:
    store = LocalStore(tmp_path_factory.mktemp("store"))
    for job, trace in TRACES.items():
        import_traces(store, job, [shared_path(trace)])
    return store


@pytest.fixture(scope="module")
def pair(store: LocalStore) -> Comparison:
    return compare_jobs(store, "workers0", "workers4")


def test_loader_workers_make_the_step_shorter(pair: Comparison) -> None:
    assert (pair.basis.unit, pair.basis.a, pair.basis.b) == ("step", 6, 6)
    a, b = pair.steps.a, pair.steps.b
    assert a is not None and b is not None
    # Steps 6 to 10 of each trace; the first one is left out.
    assert (a.p50_ns, b.p50_ns) == (176_468_000, 126_272_000)
    assert (a.wait_p50_ns, b.wait_p50_ns) == (70_844_000, 1_251_000)
    assert pair.steps.aligned_by == "number"
    assert [p["a_step"] for p in pair.steps.pairs] == [5, 6, 7, 8, 9, 10]
    assert pair.steps.pairs[1]["delta_ns"] == 123_884_000 - 173_992_000
    assert pair.summary[0] == (
        "A step takes 126 ms in B and 176 ms in A (medians): 28 % shorter; the wait for input is "
        "1.25 ms against 70.8 ms."
    )


def test_the_gain_is_idle_time_that_waited_for_input(pair: Comparison) -> None:
    found = pair.breakdown
    assert found is not None
    idle = next(row for row in found.parts if row["part"] == "idle")
    assert (idle["a_ns"], idle["b_ns"]) == (392_919_000, 187_137_000)
    for side in ("a_ns", "b_ns"):
        assert sum(row[side] for row in found.parts) == found.window[side]
    waits = next(row for row in found.idle_causes if row["cause"] == "input_wait")
    assert waits["b_share"] < 0.01 < 0.25 < waits["a_share"]


def test_the_finding_input_bound_is_lost(pair: Comparison) -> None:
    assert [row["rule"] for row in pair.findings.lost] == ["input_bound"]
    assert pair.findings.lost[0]["a_at_stake_ns"] == 347_097_000
    assert {row["rule"] for row in pair.findings.kept} >= {"low_tensor_core_share"}


def test_kernels_add_up_on_both_sides(pair: Comparison, store: LocalStore) -> None:
    from tracemill_analysis.query import connect, run_query

    kernels = pair.kernels
    assert kernels is not None
    assert sum(kernels.changes.values()) == len(kernels.rows) == 68
    assert (kernels.changes["added"], kernels.changes["removed"]) == (1, 6)
    for job, side in (("workers0", "a"), ("workers4", "b")):
        connection = connect(store, job)
        _, rows = run_query(connection, "SELECT sum(dur_ns)::BIGINT, count(*) FROM kernels")
        connection.close()
        totals = sum(row[f"{side}_total_ns"] for row in kernels.rows)
        assert (totals, sum(row[f"{side}_count"] for row in kernels.rows)) == rows[0]


def test_a_job_does_not_differ_from_itself(store: LocalStore) -> None:
    found = compare_jobs(store, "dlrm", "dlrm")
    assert found.same
    assert found.summary == ["No difference: every figure that can be compared is equal."]
    assert found.kernels is not None
    assert set(found.kernels.changes.items()) >= {("same", len(found.kernels.rows))}
    assert found.findings.gained == found.findings.lost == found.findings.unknown == []
    assert not any(pair["delta_ns"] for pair in found.steps.pairs)


def test_the_other_way_round_is_the_mirror_image(pair: Comparison, store: LocalStore) -> None:
    back = compare_jobs(store, "workers4", "workers0")
    assert [r["rule"] for r in back.findings.gained] == [r["rule"] for r in pair.findings.lost]
    assert pair.kernels and back.kernels
    assert back.kernels.changes["added"] == pair.kernels.changes["removed"]
    there = {r["name"]: r["delta_per_unit_ns"] for r in pair.kernels.rows}
    assert {r["name"]: -r["delta_per_unit_ns"] for r in back.kernels.rows} == there


@pytest.mark.parametrize("other", ["workers4", "dlrm"])
def test_every_rendering_is_stable(store: LocalStore, other: str) -> None:
    found = compare_jobs(store, "workers0", other)
    for fmt in ("table", "json", "html"):
        assert render(found, fmt) == render(compare_jobs(store, "workers0", other), fmt)
    assert json.loads(render(found, "json")) == comparison_document(found)
    assert all(len(line) <= 130 for line in render(found, "table").splitlines())


def test_other_hardware_is_said(store: LocalStore, tmp_path: Path) -> None:
    notes = compare_jobs(store, "workers0", "dlrm").notes
    assert "The numbers of GPUs differ: 1 in A, 8 in B." in notes
