"""Nothing outside the store is read, no other host or site is answered, every answer is guarded."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tracemill_analysis.store import LocalStore
from tracemill_ui.app import STATIC_FOLDER, create_app
from tracemill_ui.security import HostCheck, page_csp

from tests.ui_app.conftest import BASE_URL

BAD_NAMES = ["..", "%2e%2e", "a..b", "-a", "a%00b", "a%20b", "x" * 129, "job_name=a", "a%5c..%5cb"]
CALLS = ["dashboard", "histogram?series=a", "info", "reports", "report"]


@pytest.fixture
def secret(store: LocalStore) -> Path:
    path = store.root.parent / "secret.html"
    path.write_text("secret")
    return path


@pytest.mark.parametrize("name", BAD_NAMES)
@pytest.mark.parametrize("call", CALLS)
def test_a_name_that_cannot_be_a_job_is_refused(client: TestClient, name: str, call: str) -> None:
    answer = client.get(f"/api/profiles/{name}/{call}")
    assert answer.status_code in (400, 404)
    assert set(answer.json()) == {"error", "hint"}


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_bad_name_cannot_be_loaded_or_unloaded(client: TestClient, name: str) -> None:
    for answer in (client.post(f"/api/loaded/{name}"), client.delete(f"/api/loaded/{name}")):
        assert answer.status_code in (400, 404, 405)
        assert set(answer.json()) == {"error", "hint"}


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.html",
        "/%2e%2e/secret.html",
        "/..%2fsecret.html",
        "/assets/../../secret.html",
        "/assets/..%2f..%2f..%2fapp.py",
        "/%2e%2e/app.py",
        "//etc/passwd",
        "/api/profiles/..%2f..%2fsecret/report",
        "/api/profiles/gpu-job/report?format=../../secret.html",
        "/api/profiles/gpu-job/report?format=html%00",
    ],
)
def test_no_path_leads_out(client: TestClient, secret: Path, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code in (400, 404)
    assert "secret" not in answer.text.replace("secret.html", "").replace("secret/report", "")
    assert "root:" not in answer.text
    assert "import" not in answer.text


def test_a_link_that_leads_out_of_the_store_is_not_followed(
    client: TestClient, store: LocalStore, secret: Path
) -> None:
    link = store.root / "reports/job_name=gpu-job/report.html"
    link.unlink()
    link.symlink_to(secret)
    answer = client.get("/api/profiles/gpu-job/report")
    assert answer.status_code == 500
    assert "outside the store" in answer.json()["error"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8899", "[::1]:8899", "LOCALHOST:1"])
def test_loopback_hosts_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/api/loaded", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "", "[::2]"]
)
def test_other_hosts_are_refused(client: TestClient, host: str) -> None:
    answer = client.get("/api/loaded", headers={"host": host})
    assert answer.status_code == 421
    assert "TRACEMILL_UI_HOSTS" in answer.json()["hint"]


def test_configured_hosts_are_answered() -> None:
    hosts = HostCheck(["proxy.example", ".studio.example", ""])
    assert hosts.allows("proxy.example:443")
    assert hosts.allows("d-1.studio.example")
    assert not hosts.allows("studio.example.evil")
    assert not hosts.allows("x.proxy.example")
    assert not hosts.allows("")


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_changes_asked_by_other_sites_are_refused(client: TestClient, site: str) -> None:
    answer = client.post("/api/loaded/gpu-job", headers={"sec-fetch-site": site})
    assert answer.status_code == 403
    assert client.get("/api/loaded").json() == {"loaded": []}


def test_every_answer_carries_the_safety_headers(client: TestClient) -> None:
    calls = ["/api/profiles", "/api/nothing", "/api/profiles/gpu-job/dashboard", "/api/loaded"]
    for path in calls:
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert "set-cookie" not in headers
    refused = client.get("/", headers={"host": "evil.example"}).headers
    assert refused["x-content-type-options"] == "nosniff"


def test_the_page_allows_its_own_inline_script_and_no_other() -> None:
    script = b"\n  alert(1);\n"
    policy = page_csp(b"<head><script>" + script + b"</script><script src=x></script></head>")
    digest = base64.b64encode(hashlib.sha256(script).digest()).decode()
    assert f"script-src 'self' 'sha256-{digest}';" in policy
    assert policy.count("sha256-") == 1


def test_a_report_may_run_and_load_nothing(client: TestClient) -> None:
    answer = client.get("/api/profiles/gpu-job/report")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox; default-src 'none'")
    assert "script" not in policy


def test_without_a_built_page_the_api_still_answers(store: LocalStore, tmp_path: Path) -> None:
    app = create_app(store, static_folder=tmp_path / "nothing")
    with TestClient(app, base_url=BASE_URL) as client:
        answer = client.get("/")
        assert answer.status_code == 503
        assert "make setup" in answer.json()["hint"]
        assert client.get("/api/profiles").json()["total"] == 5


def test_the_built_page_names_no_absolute_address() -> None:
    index = STATIC_FOLDER / "index.html"
    if not index.is_file():
        pytest.skip("the page is not built")
    addresses = re.findall(r'(?:src|href)="([^"]*)"', index.read_text())
    assert addresses
    assert all(one.startswith(("./", "data:")) for one in addresses)
