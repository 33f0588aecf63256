"""A store with jobs of every kind, and a client of the app over it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright
from starlette.testclient import TestClient
from tracemill_analysis.store import LocalStore
from tracemill_ui.app import create_app

from tests.support import profiles, timeline
from tests.support.browser import CHROMIUM_ARGS, chromium

BASE_URL = "http://127.0.0.1"


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    """A GPU job, a CPU job, a recorded one, a broken one and one of a newer schema."""
    store = LocalStore(tmp_path / "store")
    profiles.write_gpu_job(store)
    profiles.write_cpu_job(store)
    profiles.write_recorded_job(store)
    profiles.write_broken_job(store)
    profiles.write_newer_job(store)
    return store


@pytest.fixture
def client(store: LocalStore) -> Iterator[TestClient]:
    with TestClient(create_app(store), base_url=BASE_URL) as client:
        yield client


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, one for the tests of a file."""
    path = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM_ARGS)
        yield browser
        browser.close()


def load(client: TestClient, job: str) -> dict[str, Any]:
    """Load a job and wait until it is loaded or failed; return its state."""
    assert client.post(f"/api/loaded/{job}").status_code == 202
    for _ in range(500):
        listed = {one["job_name"]: one for one in client.get("/api/loaded").json()["loaded"]}
        if listed[job]["state"] != "loading":
            return dict(listed[job])
        time.sleep(0.01)
    raise AssertionError(f"{job} is still loading")


def panels(client: TestClient, job: str, query: str = "") -> dict[str, dict[str, Any]]:
    """The panels of a loaded job's dashboard, by id."""
    answer = client.get(f"/api/profiles/{job}/dashboard{query}")
    assert answer.status_code == 200, answer.text
    return {panel["id"]: panel for panel in answer.json()["panels"]}


@pytest.fixture(scope="session")
def timeline_store(tmp_path_factory: pytest.TempPathFactory) -> LocalStore:
    """A store with the job of ``tests.support.timeline``; tests only read it."""
    folder = tmp_path_factory.mktemp("timeline")
    store = LocalStore(folder / "store")
    timeline.write_job(store, folder / "traces")
    return store
