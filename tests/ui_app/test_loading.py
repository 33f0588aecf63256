"""Loading and unloading: states, reasons, bounded memory, profiles that change on disk."""

from __future__ import annotations

import time

import pytest
from starlette.testclient import TestClient
from tracemill_analysis.store import LocalStore
from tracemill_schema import layout
from tracemill_ui.errors import ApiError
from tracemill_ui.jobs import JobList
from tracemill_ui.loaded import LOADED_TABLES, LoadedProfiles

from tests.support import profiles
from tests.ui_app.conftest import load, panels


def wait(loaded: LoadedProfiles) -> None:
    """Wait until nothing is loading any more."""
    for _ in range(500):
        if all(one["state"] != "loading" for one in loaded.as_json()):
            return
        time.sleep(0.01)
    raise AssertionError("still loading")


def test_load_show_unload(client: TestClient) -> None:
    state = load(client, "gpu-job")
    assert state["state"] == "loaded"
    assert state["tables_done"] == state["tables"] == len(LOADED_TABLES)
    assert client.get("/api/profiles/gpu-job/dashboard").status_code == 200
    assert client.delete("/api/loaded/gpu-job").json() == {"loaded": []}
    assert client.delete("/api/loaded/gpu-job").status_code == 200
    assert client.get("/api/profiles/gpu-job/dashboard").status_code == 409


def test_several_profiles_may_be_loaded(client: TestClient) -> None:
    load(client, "gpu-job")
    load(client, "cpu-job")
    names = [one["job_name"] for one in client.get("/api/loaded").json()["loaded"]]
    assert names == ["gpu-job", "cpu-job"]


@pytest.mark.parametrize(
    ("job", "status", "text"),
    [
        ("no-such-job", 404, "no profile"),
        ("raw-job", 409, "not processed"),
        ("broken-job", 409, "cannot be read"),
        ("newer-job", 409, "newer Tracemill"),
    ],
)
def test_what_cannot_be_loaded_says_why(
    client: TestClient, job: str, status: int, text: str
) -> None:
    answer = client.post(f"/api/loaded/{job}")
    assert answer.status_code == status
    assert text in answer.json()["error"]
    assert client.get("/api/loaded").json() == {"loaded": []}


def test_a_recorded_job_names_the_command(client: TestClient, store: LocalStore) -> None:
    hint = client.post("/api/loaded/raw-job").json()["hint"]
    assert hint == f"Run: tracemill process --store {store.address} --job raw-job"


def test_a_damaged_table_fails_with_the_reason_and_can_be_tried_again(
    client: TestClient, store: LocalStore
) -> None:
    key = layout.table_key("kernel_summary", "gpu-job", "all")
    whole = store.read_bytes(key)
    store.write_bytes(key, whole[: len(whole) // 2])
    state = load(client, "gpu-job")
    assert state["state"] == "failed"
    assert "could not be read" in state["reason"]
    assert client.get("/api/profiles/gpu-job/dashboard").status_code == 409
    store.write_bytes(key, whole)
    assert load(client, "gpu-job")["state"] == "loaded"


def test_a_damaged_annotations_file_is_an_error_of_the_histogram_only(
    client: TestClient, store: LocalStore
) -> None:
    load(client, "gpu-job")
    store.write_bytes(layout.table_key("annotations", "gpu-job", "p00000"), b"PAR1 no parquet PAR1")
    answer = client.get("/api/profiles/gpu-job/histogram?series=step")
    assert answer.status_code == 500
    assert "annotations" in answer.json()["error"]
    assert panels(client, "gpu-job")


def test_a_profile_processed_again_is_shown_as_it_is_now(
    client: TestClient, store: LocalStore
) -> None:
    load(client, "gpu-job")
    assert panels(client, "gpu-job")["gpu_active"]["total"] == 32 * profiles.SECOND
    store.delete_prefix(layout.table_prefix("time_breakdown", "gpu-job"))
    profiles.write_manifest(store, "gpu-job", profiles.job_row(verdict="second"))
    assert "gpu_active" not in panels(client, "gpu-job")


def test_memory_is_bounded_and_evicted_profiles_come_back(store: LocalStore) -> None:
    jobs = JobList(store)
    whole = LoadedProfiles(store, jobs)
    for job in ("gpu-job", "cpu-job"):
        whole.load(job)
    wait(whole)
    sizes = [whole.profile(job).size_bytes for job in ("gpu-job", "cpu-job")]
    small = LoadedProfiles(store, jobs, max_cache_bytes=max(sizes))
    for job in ("gpu-job", "cpu-job"):
        small.load(job)
    wait(small)
    assert [one["state"] for one in small.as_json()] == ["loaded", "loaded"]
    for job in ("gpu-job", "cpu-job", "gpu-job"):
        assert small.profile(job).entry.name == job
        assert small._size_bytes() <= max(sizes)


def test_a_profile_larger_than_the_memory_fails_with_the_reason(store: LocalStore) -> None:
    loaded = LoadedProfiles(store, JobList(store), max_cache_bytes=1_000)
    loaded.load("gpu-job")
    wait(loaded)
    assert loaded.as_json()[0]["state"] == "failed"
    assert "memory" in loaded.as_json()[0]["reason"]


def test_the_number_of_loaded_profiles_is_bounded(store: LocalStore) -> None:
    loaded = LoadedProfiles(store, JobList(store), max_profiles=1)
    loaded.load("gpu-job")
    with pytest.raises(ApiError, match="no more are possible"):
        loaded.load("cpu-job")
    loaded.close()


def test_closing_while_loading_leaves_no_half_read_profile(store: LocalStore) -> None:
    loaded = LoadedProfiles(store, JobList(store))
    for job in ("gpu-job", "cpu-job"):
        loaded.load(job)
    loaded.close()
    for job in ("gpu-job", "cpu-job"):
        state = next(one for one in loaded.as_json() if one["job_name"] == job)
        assert state["state"] != "loaded" or len(loaded.profile(job).tables) == len(LOADED_TABLES)
