"""The app's entry in JupyterLab's launcher, without JupyterLab (tests/infra/test_launcher.py)."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tracemill_analysis.store import LocalStore
from tracemill_ui.launcher import ICON, jupyter_server
from tracemill_ui.proxied import proxied_app

from tests.support import profiles


def test_the_entry_point_is_found_and_starts_nothing_by_itself() -> None:
    (entry,) = entry_points(group="jupyter_serverproxy_servers", name="tracemill")
    told = entry.load()()
    assert told == jupyter_server()
    assert told["command"] == [sys.executable, "-m", "tracemill_ui.proxied", "{unix_socket}"]
    assert told["launcher_entry"] == {"title": "Tracemill", "icon_path": str(ICON)}
    assert ICON.read_text().startswith("<svg ")


def test_reading_the_entry_point_imports_no_library() -> None:
    code = "import sys, tracemill_ui.launcher; print({'pyarrow', 'uvicorn'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_environment_names_the_store(tmp_path: Path) -> None:
    profiles.write_gpu_job(LocalStore(tmp_path))
    app = proxied_app({"TRACEMILL_STORE": str(tmp_path)})
    with TestClient(app, base_url="http://localhost") as client:
        answer = client.get("/api/profiles").json()
    assert [job["job_name"] for job in answer["rows"]] == ["gpu-job"]


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, "Which store? Set TRACEMILL_STORE to"),
        ({"TRACEMILL_STORE": "s3://"}, "TRACEMILL_STORE=s3://: store s3://: write s3://bucket"),
        ({"TRACEMILL_STORE": "ftp://x"}, "TRACEMILL_STORE=ftp://x: store ftp://x: ftp://"),
    ],
)
def test_without_a_usable_store_the_page_says_so(environment: dict[str, str], words: str) -> None:
    answer = TestClient(proxied_app(environment)).get("/")
    assert answer.status_code == 503
    assert answer.text.startswith(words)


def test_the_socket_is_the_only_way_in(tmp_path: Path) -> None:
    """The process opens the socket file it is told, and no port."""
    path = tmp_path / "app.sock"
    process = subprocess.Popen(
        [sys.executable, "-m", "tracemill_ui.proxied", str(path)],
        env={**os.environ, "TRACEMILL_STORE": str(tmp_path)},
    )
    try:
        while not path.exists():
            assert process.poll() is None
        links = [fd.readlink().name for fd in Path(f"/proc/{process.pid}/fd").iterdir()]
        inodes = {name[8:-1] for name in links if name.startswith("socket:")}
        tcp = "".join(
            Path(f"/proc/{process.pid}/net/{kind}").read_text() for kind in ("tcp", "tcp6")
        )
        listening = {line.split()[9] for line in tcp.splitlines() if " 0A " in line}
        assert not inodes & listening
    finally:
        process.terminate()
        process.wait(timeout=20)
