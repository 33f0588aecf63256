"""Ending when nobody asks, and the setting of it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from starlette.testclient import TestClient
from tracemill_analysis.store import LocalStore
from tracemill_ui.app import create_app
from tracemill_ui.idle import IdleWatch

from tests.ui_app.conftest import BASE_URL


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_the_watch_expires_after_its_hours_and_not_while_a_request_runs() -> None:
    clock = Clock()
    watch = IdleWatch(2, clock)
    clock.now_s = 7_199
    assert not watch.expired
    watch.begin()
    clock.now_s = 20_000
    assert not watch.expired
    watch.end()
    clock.now_s += 7_200
    assert watch.expired
    watch.idle_hours = 0
    assert not watch.expired


def test_a_request_counts_as_use(store: LocalStore) -> None:
    clock = Clock()
    watch = IdleWatch(1, clock)
    with TestClient(create_app(store, idle=watch), base_url=BASE_URL) as client:
        clock.now_s = 3_600
        assert watch.expired
        client.get("/api/profiles")
        assert not watch.expired


def test_the_setting_is_read_and_changed(client: TestClient) -> None:
    assert client.get("/api/settings").json()["idle_hours"] == 2
    assert client.post("/api/settings", json={"idle_hours": 0.5}).json()["idle_hours"] == 0.5
    assert client.get("/api/settings").json()["idle_hours"] == 0.5


@pytest.mark.parametrize(
    "body", [{}, {"idle_hours": "2"}, {"idle_hours": -1}, {"idle_hours": True}]
)
def test_a_setting_without_sense_is_refused(client: TestClient, body: object) -> None:
    assert client.post("/api/settings", json=body).status_code == 400
    assert client.get("/api/settings").json()["idle_hours"] == 2


def test_the_server_ends_by_itself(store: LocalStore) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tracemill_cli.main", "ui", "--store", str(store.root),
         "--port", "0", "--no-browser", "--idle-hours", "0.0001"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Nobody asked for 0.0001 h: the app ends." in done.stdout
