"""The app in a real browser: serving it, directly or below a deep path, and watching the page."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from tracemill_analysis.store import Store
from tracemill_ui.app import STATIC_FOLDER, create_app

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "ui_app/web/node_modules/axe-core/axe.min.js"
CHROMIUM_ARGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DEEP_PATH = "/jupyterlab/default/proxy/8899/"
MAX_RESPONSE_BYTES = 5_000_000


def missing(reason: str) -> None:
    """Skip the test; on CI, where everything must be there, fail it."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def chromium() -> str:
    """Path of the browser, or a skip with the reason."""
    path = os.environ.get("TRACEMILL_CHROMIUM", "/usr/bin/chromium")
    if not Path(path).exists():
        missing(f"no Chromium at {path} (TRACEMILL_CHROMIUM names another)")
    if not (STATIC_FOLDER / "index.html").is_file():
        missing("the page is not built: make setup")
    return path


class PrefixProxy:
    """Serves an app below a path, as a proxy does that strips it; nothing else is answered."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = prefix.rstrip("/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; ``/prefix`` without its slash is passed on as ``/``."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        if path != self._prefix and not path.startswith(f"{self._prefix}/"):
            await PlainTextResponse("outside the base path", 404)(scope, receive, send)
            return
        inner = path.removeprefix(self._prefix) or "/"
        await self._app({**scope, "path": inner, "raw_path": inner.encode()}, receive, send)


@contextmanager
def served(store: Store, base_path: str = "/") -> Iterator[str]:
    """Serve the app over a store on a free loopback port; give the address of the page."""
    app: Any = create_app(store)
    if base_path != "/":
        app = PrefixProxy(app, base_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}{base_path}"
        finally:
            server.should_exit = True
            thread.join(timeout=10)


class Watch:
    """What a page must never do: log errors, leave its base path, or fetch huge answers."""

    def __init__(self, page: Any, url: str) -> None:
        self.problems: list[str] = []
        self._url = url
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("dialog", self._on_dialog)
        page.on("request", self._on_request)
        page.on("response", self._on_response)

    def _on_console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"console {message.type}: {message.text}")

    def _on_dialog(self, dialog: Any) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _on_request(self, request: Any) -> None:
        if not request.url.startswith((self._url, "data:", "blob:")):
            self.problems.append(f"request outside the base path: {request.url}")

    def _on_response(self, response: Any) -> None:
        if response.status >= 400:
            self.problems.append(f"status {response.status}: {response.url}")
        if int(response.headers.get("content-length", 0)) > MAX_RESPONSE_BYTES:
            self.problems.append(f"answer of more than {MAX_RESPONSE_BYTES} bytes: {response.url}")


def accessibility_problems(page: Any) -> list[str]:
    """What axe-core finds on the page as it stands, one line per element."""
    if not AXE.is_file():
        missing("axe-core is not installed: make setup")
    page.evaluate(AXE.read_text())
    found = page.evaluate("() => axe.run(document, { iframes: false })")
    return [
        f"{violation['id']}: {node['html'][:160]} {node['failureSummary']}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]
