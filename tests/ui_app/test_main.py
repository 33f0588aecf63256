"""Serving: the entry point, the port, and what is said when it cannot be had."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.request
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from tracemill_schema.errors import TracemillError, UsageError
from tracemill_ui import main


def test_the_command_line_finds_the_app() -> None:
    (point,) = entry_points(group="tracemill.apps", name="ui")
    assert point.load() is main.run


def test_a_taken_port_is_said_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(TracemillError, match=f"port {port} is taken.*--port"):
            main.run("anywhere", port, open_browser=False)


@pytest.mark.parametrize("port", [-1, 65_536])
def test_a_port_that_cannot_be(port: int) -> None:
    with pytest.raises(UsageError, match="0 .any free port. to 65535"):
        main.run("anywhere", port, open_browser=False)


def test_a_store_that_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(TracemillError, match="this is a file"):
        main.run(str(path), 0, open_browser=False)


def test_it_serves_on_loopback_until_interrupted(tmp_path: Path) -> None:
    code = (
        "import sys; from tracemill_ui.main import run; "
        "sys.exit(run(sys.argv[1], 0, open_browser=False))"
    )
    server = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout
        line = server.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/", line)
        assert found, line
        with urllib.request.urlopen(f"{found[0]}api/profiles", timeout=10) as answer:
            assert b'"total":0' in answer.read()
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=20)
    finally:
        server.kill()
        server.communicate()
    assert server.returncode == 0
    assert errors == ""
