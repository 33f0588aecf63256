"""What keeps other web pages and other hosts out: Host check, origin check, response headers."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tracemill_ui.errors import error_response

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})

REPORT_CSP = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""A stored report is data of a job: it may look as it likes, but runs nothing and loads nothing."""

_INLINE_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


def page_csp(index_html: bytes) -> str:
    """Return the app's policy; the page's own inline scripts are allowed by their hash."""
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"
        for script in _INLINE_SCRIPT.findall(index_html)
    ]
    return "; ".join(
        (
            "default-src 'self'",
            " ".join(("script-src 'self'", *hashes)),
            "img-src 'self' data: blob:",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'self'",
        )
    )


def host_name(host_header: str) -> str:
    """Return the lower-case host of a Host header without its port (``[::1]:80`` gives ``::1``)."""
    host = host_header.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if host.count(":") == 1 else host


class HostCheck:
    """Which Host headers are answered. An entry that begins with a dot stands for all below it."""

    def __init__(self, extra: Iterable[str] = ()) -> None:
        entries = {entry.strip().lower() for entry in extra if entry.strip()}
        self._exact = LOOPBACK_HOSTS | {entry for entry in entries if not entry.startswith(".")}
        self._suffixes = tuple(entry for entry in entries if entry.startswith("."))

    def allows(self, host_header: str) -> bool:
        """Tell whether a request for this host is meant for this server."""
        name = host_name(host_header)
        return name in self._exact or any(name.endswith(suffix) for suffix in self._suffixes)


class Guard:
    """ASGI middleware: refuses foreign hosts and cross-site requests, adds the safety headers."""

    def __init__(self, app: ASGIApp, hosts: HostCheck, csp: str) -> None:
        self._app = app
        self._hosts = hosts
        self._csp = csp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._add_headers(MutableHeaders(scope=message))
            await send(message)

        refusal = self._refusal(Headers(scope=scope), scope["method"])
        await (refusal or self._app)(scope, receive, send_with_headers)

    def _refusal(self, headers: Headers, method: str) -> ASGIApp | None:
        host = headers.get("host", "")
        if not self._hosts.allows(host):
            return error_response(
                421,
                f"This server does not answer for host {host[:200]!r}.",
                "Open it under 127.0.0.1, or name the host in TRACEMILL_UI_HOSTS.",
            )
        site = headers.get("sec-fetch-site", "same-origin")
        if method not in ("GET", "HEAD") and site not in ("same-origin", "none"):
            return error_response(403, "Requests from other sites are refused.", "Use the app.")
        return None

    def _add_headers(self, headers: MutableHeaders) -> None:
        headers.setdefault("content-security-policy", self._csp)
        headers.setdefault("cache-control", "no-store")
        headers["x-content-type-options"] = "nosniff"
        headers["referrer-policy"] = "no-referrer"
        headers["cross-origin-resource-policy"] = "same-origin"
