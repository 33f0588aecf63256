"""The timeline's endpoints.

    GET api/profiles/{job}/timeline/meta      tree of lanes, steps, span, levels
    GET …/timeline/window?t0=&t1=&px=&lanes=  marks of lanes, binary (see encode.py)
    GET …/timeline/event?lane=&start=         one event; &dur=&name= tell it from others
    GET …/timeline/search?q=                  events by name, the whole profile
    GET …/timeline/range?t0=&t1=&lanes=       statistics of a range
    GET …/timeline/perfetto?t0=&t1=           the window's events as a Perfetto trace

``t0``, ``t1`` and ``start`` are whole nanoseconds since the start of the profile, on the clock
that all nodes are aligned to. A Perfetto trace holds each node's own times.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import tempfile
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route
from tracemill_analysis.export import export_job, select
from tracemill_analysis.store import Store
from tracemill_schema import layout

from tracemill_ui.errors import ApiError
from tracemill_ui.listing import whole_number
from tracemill_ui.loaded import LoadedProfiles, Profile
from tracemill_ui.timeline.encode import encode_window
from tracemill_ui.timeline.event import event
from tracemill_ui.timeline.groups import GroupCache
from tracemill_ui.timeline.lanes import LANE_OF_TABLE, Lane, parse_lane, parse_lanes
from tracemill_ui.timeline.marks import MAX_PX, Window
from tracemill_ui.timeline.ranges import range_statistics
from tracemill_ui.timeline.search import search
from tracemill_ui.timeline.source import Source
from tracemill_ui.timeline.tree import meta
from tracemill_ui.timeline.window import groups_needed, lane_marks

MAX_SOURCES = 8
MAX_TIME_NS = 2**53
MAX_EXPORTED = 4_000_000
"""Rows of the row groups that a window touches."""
READERS = min(os.cpu_count() or 1, 4)
MAX_READ_AHEAD = 64
"""More groups than this would push each other out of the cache before they are used."""
_PROXIED = ("x-forwarded-prefix", "x-forwarded-context", "x-forwarded-host")
_INTEGER = re.compile(r"-?\d{1,19}")


class TimelineApi:
    """Endpoints over loaded profiles. Plain functions: they run in worker threads."""

    def __init__(self, store: Store, loaded: LoadedProfiles) -> None:
        self._store = store
        self._loaded = loaded
        self._cache = GroupCache()
        self._lock = threading.Lock()
        self._sources: OrderedDict[str, Source] = OrderedDict()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="tracemill-timeline")

    def routes(self) -> list[Route]:
        """Return the endpoints' routes."""
        base = "/api/profiles/{job}/timeline"
        return [
            Route(f"{base}/meta", self.meta, methods=["GET"]),
            Route(f"{base}/window", self.window, methods=["GET"]),
            Route(f"{base}/event", self.event, methods=["GET"]),
            Route(f"{base}/search", self.search, methods=["GET"]),
            Route(f"{base}/range", self.range, methods=["GET"]),
            Route(f"{base}/perfetto", self.perfetto, methods=["GET"]),
        ]

    def meta(self, request: Request) -> Response:
        """Answer the tree, steps and span."""
        return JSONResponse(meta(self._source(request)))

    def window(self, request: Request) -> Response:
        """Answer the marks of lanes in a window."""
        source = self._source(request)
        query = request.query_params
        start, end = _span(query)
        window = Window(
            start + source.start_ns,
            end + source.start_ns,
            whole_number(query, "px", 1_000, 1, MAX_PX),
        )
        lanes = parse_lanes(query.get("lanes", ""))
        self._read_ahead(source, lanes, window)
        parts = [(lane.key, *lane_marks(source, lane, window)) for lane in lanes]
        content = encode_window(source, window, parts)
        # Packing costs more than it saves on loopback; a proxy means there is a network behind it.
        encoding = "identity"
        if any(name in request.headers for name in _PROXIED):
            content, encoding = gzip.compress(content, 1), "gzip"
        headers = {"content-encoding": encoding}
        return Response(content, media_type="application/octet-stream", headers=headers)

    def _read_ahead(self, source: Source, lanes: list[Lane], window: Window) -> None:
        """Decode what a window needs side by side: it is most of the work, outside Python."""
        needed = {
            (id(file), number): file
            for lane in lanes
            for file, number in groups_needed(source, lane, window)
            if not file.has(number)
        }
        if 1 < len(needed) <= MAX_READ_AHEAD:
            list(self._readers.map(lambda one: one[1].group(one[0][1]), needed.items()))

    def event(self, request: Request) -> Response:
        """Answer one event with its connections."""
        query = request.query_params
        lane = parse_lane(query.get("lane", ""))
        start = _time(query, "start")
        dur = _time(query, "dur") if "dur" in query else None
        return JSONResponse(event(self._source(request), lane, start, dur, query.get("name")))

    def search(self, request: Request) -> Response:
        """Answer the events whose name contains a text."""
        return JSONResponse(search(self._source(request), request.query_params.get("q", "")))

    def range(self, request: Request) -> Response:
        """Answer the statistics of a range."""
        source = self._source(request)
        start, end = _span(request.query_params)
        named = request.query_params.get("lanes", "")
        lanes = parse_lanes(named) if named else source.all_lanes
        return JSONResponse(range_statistics(source, lanes, start, end))

    def perfetto(self, request: Request) -> Response:
        """Answer a window as a Perfetto trace; 409 if it holds too many events."""
        source = self._source(request)
        start, end = (time + source.start_ns for time in _span(request.query_params))
        numbers = [process["process_id"] for process in source.processes]
        if sum(source.cost(p, tuple(LANE_OF_TABLE), start, end) for p in numbers) > MAX_EXPORTED:
            raise ApiError(
                409,
                "This window holds too many events for a download.",
                "Zoom in, or use 'tracemill export'.",
            )
        chosen = select(self._store, source.job, from_=str(start), until=str(end), aligned=True)
        folder = Path(tempfile.mkdtemp(prefix="tracemill-export-"))
        away = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
        try:
            [path] = export_job(self._store, source.job, chosen, folder / "window.pftrace").paths
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        name = f"{source.job}.pftrace"
        return FileResponse(path, filename=name, background=away)

    def _source(self, request: Request) -> Source:
        profile = self._loaded.profile(layout.check_name(request.path_params["job"]))
        return self._of(profile)

    def _of(self, profile: Profile) -> Source:
        name = profile.entry.name
        with self._lock:
            source = self._sources.get(name)
            if source is None or source.profile.entry.version != profile.entry.version:
                source = self._sources[name] = Source(self._store, profile, self._cache)
            self._sources.move_to_end(name)
            while len(self._sources) > MAX_SOURCES:
                self._sources.popitem(last=False)
            return source


def _time(query: Any, name: str) -> int:
    text = query.get(name, "")
    if not _INTEGER.fullmatch(text) or abs(int(text)) > MAX_TIME_NS:
        raise ApiError(400, f"The time {name} is not usable.", "Write whole nanoseconds.")
    return int(text)


def _span(query: Any) -> tuple[int, int]:
    start, end = _time(query, "t0"), _time(query, "t1")
    if end <= start:
        raise ApiError(400, "The window ends before it begins.", "Let t1 be greater than t0.")
    return start, end
