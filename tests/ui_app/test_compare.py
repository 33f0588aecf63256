"""The Compare page's data: a planted regression, a job against itself, jobs that cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tracemill_analysis.compare.model import compare_jobs
from tracemill_analysis.pipeline import import_traces
from tracemill_analysis.store import LocalStore
from tracemill_ui.app import create_app

from tests.support.shared import shared_path
from tests.ui_app.conftest import BASE_URL

SAMPLES = "traces/kineto-tb_plugin/samples__resnet50_num_workers_{}"
FILES = {
    "workers-4": SAMPLES.format("4__worker0.1623212756351.pt.trace.json.gz"),
    "workers-0": SAMPLES.format("0__worker0.1623143089861.pt.trace.json.gz"),
}


def ask(client: TestClient, a: str, b: str) -> Any:
    return client.get("/api/compare", params={"a": a, "b": b})


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> LocalStore:
    store = LocalStore(tmp_path_factory.mktemp("pair"))
    for job, name in FILES.items():
        import_traces(store, job, [shared_path(name)])
    return store


def test_a_run_without_loader_workers_is_seen_at_once(pair: LocalStore) -> None:
    with TestClient(create_app(pair), base_url=BASE_URL) as client:
        found = ask(client, "workers-4", "workers-0").json()
    expected = compare_jobs(pair, "workers-4", "workers-0")
    assert found["summary"] == expected.summary
    assert "40 % longer; the wait for input is 70.8 ms" in found["summary"][0]
    assert [row["rule"] for row in found["findings"]["gained"]] == ["input_bound"]
    panels = {panel["id"]: panel for panel in found["panels"]}
    steps = panels["compare_steps"]
    assert [line["y"] for line in steps["series"]] == [
        [pair["a_dur_ns"] for pair in expected.steps.pairs],
        [pair["b_dur_ns"] for pair in expected.steps.pairs],
    ]
    assert expected.breakdown is not None
    a, b = panels["compare_breakdown"]["rows"]
    assert a["values"] == [part["a_per_unit_ns"] for part in expected.breakdown.parts]
    assert b["total"] == pytest.approx(sum(p["b_per_unit_ns"] for p in expected.breakdown.parts))
    kernels = panels["compare_kernels"]["rows"]
    assert {row["change"] for row in kernels} >= {"only in A", "only in B", "slower", "faster"}


def test_a_job_against_itself_is_the_same(client: TestClient) -> None:
    found = ask(client, "gpu-job", "gpu-job").json()
    assert found["same"] is True
    assert not found["findings"]["gained"] and not found["findings"]["lost"]


def test_a_job_without_gpu_events_says_so(client: TestClient) -> None:
    found = ask(client, "gpu-job", "cpu-job").json()
    panels = {panel["id"]: panel for panel in found["panels"]}
    assert panels["compare_breakdown"]["empty"]
    assert panels["compare_kernels"]["empty"]
    assert any("no GPU events" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("b", "status"), [("nosuch", 404), ("raw-job", 409), ("broken-job", 409), ("", 400)]
)
def test_a_job_that_cannot_be_compared_is_named(
    client: TestClient, b: str, status: int, tmp_path: Path
) -> None:
    answer = ask(client, "gpu-job", b)
    assert answer.status_code == status
    assert answer.json()["hint"]
