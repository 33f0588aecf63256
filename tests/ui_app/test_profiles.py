"""The list of profiles: every state, search, sorting, paging, and many jobs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tracemill_analysis.store import LocalStore
from tracemill_schema import layout
from tracemill_ui.app import create_app
from tracemill_ui.jobs import JobList
from tracemill_ui.listing import Search, find

from tests.support import profiles
from tests.ui_app.conftest import BASE_URL


def listed(client: TestClient, query: str = "") -> list[str]:
    return [row["job_name"] for row in client.get(f"/api/profiles{query}").json()["rows"]]


def row_of(client: TestClient, job: str) -> dict[str, Any]:
    rows = client.get("/api/profiles").json()["rows"]
    return next(row for row in rows if row["job_name"] == job)


def test_every_job_is_listed_with_its_state(client: TestClient) -> None:
    rows = client.get("/api/profiles").json()["rows"]
    assert {row["job_name"]: row["state"] for row in rows} == {
        "gpu-job": "processed",
        "cpu-job": "processed",
        "raw-job": "recorded",
        "broken-job": "broken",
        "newer-job": "broken",
    }


def test_a_processed_job_shows_its_row(client: TestClient) -> None:
    row = row_of(client, "gpu-job")
    assert row["created_ms"] == profiles.START_NS // 1_000_000
    assert row["status"] == "Completed"
    assert row["instance_type"] == "ml.p4d.24xlarge"
    assert (row["nodes"], row["gpus"], row["ranks"], row["steps"]) == (2, 4, 4, 40)
    assert row["gpu_utilization"] == 0.625
    assert row["findings"] == 2
    assert row["dur_ns"] == 10_000_000_000


def test_broken_jobs_say_why(client: TestClient) -> None:
    assert "manifest cannot be read" in row_of(client, "broken-job")["reason"]
    assert "newer Tracemill (schema version 2" in row_of(client, "newer-job")["reason"]


@pytest.mark.parametrize(
    "content",
    [b"", b"null", b"[]", b"{}", b'{"schema_version": "1"}', b"\xff\xfe", b"[" * 100_000,
     b'{"schema_version": 1}', b'{"schema_version": 1, "job": 7}',
     b'{"schema_version": 1, "state": "broken", "reason": "disk"}'],
)  # fmt: skip
def test_no_manifest_breaks_the_list(client: TestClient, store: LocalStore, content: bytes) -> None:
    store.write_bytes(layout.manifest_key("odd"), content)
    rows = {row["job_name"]: row for row in client.get("/api/profiles").json()["rows"]}
    assert rows["odd"]["state"] == "broken"
    assert rows["odd"]["reason"]
    assert rows["gpu-job"]["state"] == "processed"


def test_values_of_the_wrong_type_are_left_out(client: TestClient, store: LocalStore) -> None:
    job = profiles.job_row(steps="many", start_ns=None, verdict=["x"], dur_ns=5)
    profiles.write_manifest(store, "odd", {**job, "unknown": 1})
    row = row_of(client, "odd")
    assert row["steps"] is None
    assert row["dur_ns"] == 5
    assert "unknown" not in row
    assert abs(row["created_ms"] / 1000 - time.time()) < 60


def test_a_monotonic_start_is_not_taken_for_a_date(client: TestClient, store: LocalStore) -> None:
    profiles.write_manifest(store, "mono", profiles.job_row(start_ns=5_000_000_000))
    assert abs(row_of(client, "mono")["created_ms"] / 1000 - time.time()) < 60


def test_foreign_folders_are_no_jobs(client: TestClient, store: LocalStore) -> None:
    (store.root / "jobs/else").mkdir()
    (store.root / "jobs/job_name=half").mkdir()
    (store.root / "raw/job_name=nothing").mkdir()
    assert len(listed(client)) == 5


def test_a_job_processed_again_is_read_again(client: TestClient, store: LocalStore) -> None:
    jobs = JobList(store)
    assert jobs.get("gpu-job").job["findings"] == 2  # type: ignore[union-attr]
    profiles.write_manifest(store, "gpu-job", profiles.job_row(findings=31))
    assert jobs.get("gpu-job").job["findings"] == 31  # type: ignore[union-attr]


def test_an_empty_or_missing_store_has_no_jobs(tmp_path: Path) -> None:
    app = create_app(LocalStore(tmp_path / "missing"))
    with TestClient(app, base_url=BASE_URL) as client:
        answer = client.get("/api/profiles").json()
        assert (answer["total"], answer["rows"]) == (0, [])
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize(
    ("query", "jobs"),
    [
        ("?search=GPU", ["gpu-job"]),
        ("?search=numpy", ["cpu-job"]),
        ("?search=p4d+completed", ["gpu-job"]),
        ("?search=nothing", []),
        ("?search=recorded", ["raw-job"]),
        ("?search=2026-09-21+14:13&sort=job_name&order=asc", ["cpu-job", "gpu-job"]),
        ("?status=Completed&sort=job_name&order=asc", ["cpu-job", "gpu-job"]),
        ("?status=broken&sort=job_name&order=asc", ["broken-job", "newer-job"]),
        ("?from=2026-09-21&to=2026-09-21&search=pu-job&sort=job_name", ["gpu-job", "cpu-job"]),
        ("?to=2026-09-20", []),
    ],
)
def test_search(client: TestClient, query: str, jobs: list[str]) -> None:
    assert listed(client, query) == jobs


def test_unknown_values_stand_last_in_both_directions(client: TestClient) -> None:
    for order in ("asc", "desc"):
        names = listed(client, f"?sort=gpu_utilization&order={order}")
        assert names[0] == "gpu-job"
    assert listed(client, "?sort=ranks&order=asc")[:2] == ["cpu-job", "gpu-job"]
    assert listed(client, "?sort=ranks&order=desc")[:2] == ["gpu-job", "cpu-job"]


@pytest.mark.parametrize(
    "query", ["sort=x", "offset=-1", "limit=0", "limit=1000", "limit=x", "from=yesterday"]
)
def test_a_bad_parameter_is_named(client: TestClient, query: str) -> None:
    answer = client.get(f"/api/profiles?{query}")
    assert answer.status_code == 400
    assert answer.json()["hint"]


def test_paging(client: TestClient) -> None:
    answer = client.get("/api/profiles?sort=job_name&order=asc&limit=2&offset=2").json()
    assert (answer["total"], answer["matched"], answer["offset"]) == (5, 5, 2)
    assert [row["job_name"] for row in answer["rows"]] == ["gpu-job", "newer-job"]


@pytest.mark.slow
def test_ten_thousand_jobs_are_listed_from_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LocalStore(tmp_path)
    for number in range(10_000):
        profiles.write_manifest(store, f"job-{number:05d}", profiles.job_row(steps=number))
    jobs = JobList(store)
    assert len(jobs.all()) == 10_000
    jobs._listed_at = float("-inf")
    # What is known and did not change is not read again.
    monkeypatch.setattr(store, "read_bytes", lambda key: pytest.fail(f"{key} is read again"))
    assert find(jobs.all(), Search(sort="steps"))["rows"][0]["job_name"] == "job-09999"
