"""Ending the server when nobody uses it any more.

A profile's tables take memory, and in Studio an instance costs money while it runs. A request for
data counts as use; a page that lies open without being touched asks for nothing.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tracemill_ui.errors import ApiError

DEFAULT_IDLE_HOURS = 2.0
IDLE_CHOICES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 24.0)
"""Hours offered on the Settings page; 0 never ends the server."""
MAX_IDLE_HOURS = 24.0 * 30


class IdleWatch:
    """Knows when the last request came. ``expired`` is asked by whoever can end the server."""

    def __init__(
        self, idle_hours: float = DEFAULT_IDLE_HOURS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last_s = clock()
        self._open = 0
        self.idle_hours = idle_hours

    def begin(self) -> None:
        """Note that a request begins."""
        with self._lock:
            self._open += 1
            self._last_s = self._clock()

    def end(self) -> None:
        """Note that a request is answered."""
        with self._lock:
            self._open -= 1
            self._last_s = self._clock()

    @property
    def expired(self) -> bool:
        """True once nothing was asked for ``idle_hours``."""
        with self._lock:
            quiet_s = self._clock() - self._last_s
            return self.idle_hours > 0 and not self._open and quiet_s >= self.idle_hours * 3600

    def routes(self) -> list[Route]:
        """Return the routes of the Settings page."""
        return [
            Route("/api/settings", self._get, methods=["GET"]),
            Route("/api/settings", self._set, methods=["POST"]),
        ]

    def _get(self, _request: Request) -> Response:
        return JSONResponse({"idle_hours": self.idle_hours, "idle_choices": list(IDLE_CHOICES)})

    async def _set(self, request: Request) -> Response:
        try:
            hours = json.loads(await request.body())["idle_hours"]
        except (ValueError, KeyError, TypeError) as error:
            raise ApiError(400, "No setting was sent.", 'Send {"idle_hours": 2}.') from error
        if isinstance(hours, bool) or not isinstance(hours, int | float):
            raise ApiError(400, "idle_hours is not a number.", "Take 0 (never) or hours.")
        if not 0 <= hours <= MAX_IDLE_HOURS:
            raise ApiError(
                400, "idle_hours is out of range.", f"Take 0 (never) to {MAX_IDLE_HOURS:g}."
            )
        self.idle_hours = float(hours)
        return self._get(request)


class IdleNote:
    """ASGI middleware: tells the watch of every request."""

    def __init__(self, app: ASGIApp, watch: IdleWatch) -> None:
        self._app = app
        self._watch = watch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._watch.begin()
        try:
            await self._app(scope, receive, send)
        finally:
            self._watch.end()
