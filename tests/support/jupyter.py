"""JupyterLab as Studio starts it, in an environment that stands for the image of the app."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support.browser import ROOT, missing

BASE = ROOT / ".venv-jupyter"
"""Stands for SageMaker Distribution: its JupyterLab, and the packages that the app needs."""
BASE_URL = "/jupyterlab/default/"
START_S = 120


def base_environment() -> Path:
    """Folder of the environment without the app, or a skip with the reason."""
    if not (BASE / "bin" / "jupyter-lab").exists():
        missing("JupyterLab is not installed: tools/setup.sh test")
    return BASE


@contextmanager
def jupyterlab(prefix: Path, home: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """Run the JupyterLab of ``prefix`` on a free loopback port; give its address.

    The arguments are those of SageMaker Distribution's ``start-jupyter-server``, but for the
    address it binds.
    """
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}{BASE_URL}"
    command = [
        *(prefix / "bin" / "python", "-m", "jupyterlab", "--allow-root", "--no-browser"),
        *("--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"),
        f"--ServerApp.base_url={BASE_URL.rstrip('/')}",
        *("--IdentityProvider.token=", "--ServerApp.allow_origin=*"),
        # Nothing here may ask the internet for news.
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    log = home / "jupyter.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=home,
            env={"PATH": os.environ["PATH"], "HOME": str(home), **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait(f"{url}api", process, log)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_S
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            ended = process.poll() is not None
            assert not ended and time.monotonic() < end, log.read_text()[-4000:]
            time.sleep(0.1)
