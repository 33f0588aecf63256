"""The dashboard of a real 8-rank recording agrees with figures computed independently of us."""

from __future__ import annotations

import json
from pathlib import Path

from starlette.testclient import TestClient
from tracemill_analysis.pipeline import import_traces
from tracemill_analysis.store import LocalStore
from tracemill_ui.app import create_app

from tests.support.shared import shared_path
from tests.ui_app.conftest import BASE_URL, load, panels

FOLDER = "traces/param/dlrm_8rank"


def test_dlrm_on_eight_ranks(tmp_path: Path) -> None:
    lines = shared_path("expected/interval-union.jsonl").read_text().splitlines()
    expected = [one for one in map(json.loads, lines) if one["file"].startswith(FOLDER)]
    expected.sort(key=lambda one: one["file"])
    store = LocalStore(tmp_path)
    import_traces(store, "dlrm", [shared_path(FOLDER)])

    with TestClient(create_app(store), base_url=BASE_URL) as client:
        assert load(client, "dlrm")["state"] == "loaded"
        found = panels(client, "dlrm")
        assert client.get("/api/profiles/dlrm/reports").json()["formats"] == ["html", "json", "txt"]

    active = {part["label"]: part["value"] for part in found["gpu_active"]["parts"]}
    assert active == {
        "Active": sum(one["busy_ns"] for one in expected),
        "Idle": sum(one["idle_ns"] for one in expected),
    }
    rows = found["time_breakdown"]["rows"]
    assert [row["label"] for row in rows] == [f"rank {n} · GPU {n}" for n in range(8)]
    assert [row["total"] for row in rows] == [one["window_ns"] for one in expected]
    for row, one in zip(rows, expected, strict=True):
        compute, overlap, exposed_comm, _, idle = row["values"]
        assert compute + overlap == one["compute_union_ns"]
        assert overlap == one["comp_comm_overlap_ns"]
        assert exposed_comm == one["exposed_comm_ns"]
        assert idle == one["idle_ns"]
    assert found["kernel_time_all"]["total"] == sum(one["sum_kernel_dur_ns"] for one in expected)
