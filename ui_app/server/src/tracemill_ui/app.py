"""The web application: routes from addresses to the parts that answer them.

    GET    api/profiles                         all jobs: search, sort, page
    GET    api/loaded                           loaded profiles with their state
    POST   api/loaded/{job}                     begin to load
    DELETE api/loaded/{job}                     unload
    GET    api/profiles/{job}/dashboard         panels; ?node=&rank=&device=&steps=&k=&only=
    GET    api/profiles/{job}/histogram         own histogram; ?series=
    GET    api/profiles/{job}/info              processes, clocks, drops
    GET    api/profiles/{job}/timeline/…        lanes and events; see timeline/api.py
    GET    api/compare                          two profiles side by side; ?a=&b=
    GET    api/queries                          named queries and tables; see sql.py
    POST   api/profiles/{job}/query             one SELECT; see sql.py
    GET    api/settings                         hours after which the server ends; POST sets them
    GET    api/profiles/{job}/reports           formats of the stored report
    GET    api/profiles/{job}/report            stored report; ?format=html|json|txt
    GET    /…                                   the page itself

Nothing here writes to the store. Job names are checked before they become part of a key.
"""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from tracemill_analysis.store import Store
from tracemill_schema import layout
from tracemill_schema.errors import TracemillError
from tracemill_schema.vocab import WindowKind

from tracemill_ui import errors
from tracemill_ui.errors import ApiError
from tracemill_ui.filters import parse_filter
from tracemill_ui.histogram import annotation_histogram
from tracemill_ui.idle import IdleNote, IdleWatch
from tracemill_ui.info import information
from tracemill_ui.jobs import JobList
from tracemill_ui.listing import find, parse_search, whole_number
from tracemill_ui.loaded import LoadedProfiles
from tracemill_ui.panels.compare import comparison
from tracemill_ui.panels.dashboard import dashboard
from tracemill_ui.panels.kernels import MAX_K
from tracemill_ui.panels.model import Context, Options
from tracemill_ui.panels.steps import MEASURES
from tracemill_ui.security import REPORT_CSP, Guard, HostCheck, page_csp
from tracemill_ui.sql import SqlApi
from tracemill_ui.timeline.api import TimelineApi

STATIC_FOLDER = Path(__file__).parent / "static"
REPORT_TYPES = {"html": "text/html", "json": "application/json", "txt": "text/plain"}
MAX_NAME_CHARS = 100_000


class Api:
    """The API's endpoints over one store. All are plain functions: they run in worker threads."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.jobs = JobList(store)
        self.loaded = LoadedProfiles(store, self.jobs)
        self.timeline = TimelineApi(store, self.loaded)
        self.sql = SqlApi(store)

    def profiles(self, request: Request) -> Response:
        """List jobs."""
        found = find(self.jobs.all(), parse_search(request.query_params))
        return JSONResponse({**found, "store": self.store.address})

    def list_loaded(self, _request: Request) -> Response:
        """List loaded profiles."""
        return JSONResponse({"loaded": self.loaded.as_json()})

    def load(self, request: Request) -> Response:
        """Begin to load a profile."""
        self.loaded.load(_job_name(request))
        return JSONResponse({"loaded": self.loaded.as_json()}, status_code=202)

    def unload(self, request: Request) -> Response:
        """Forget a loaded profile; asking twice is no error."""
        self.loaded.unload(_job_name(request))
        return JSONResponse({"loaded": self.loaded.as_json()})

    def dashboard(self, request: Request) -> Response:
        """Answer the dashboard's panels."""
        only = tuple(part for part in request.query_params.get("only", "").split(",") if part)
        return JSONResponse(dashboard(self._context(request), only))

    def histogram(self, request: Request) -> Response:
        """Answer the histogram of one annotation."""
        series = request.query_params.get("series", "")
        if not 0 < len(series) <= MAX_NAME_CHARS:
            raise ApiError(400, "Which annotation?", "Name it with ?series=.")
        return JSONResponse(annotation_histogram(self.store, self._context(request), series))

    def info(self, request: Request) -> Response:
        """Answer the Info page."""
        return JSONResponse(information(self._context(request)))

    def compare(self, request: Request) -> Response:
        """Answer two profiles side by side."""
        names = [layout.check_name(request.query_params.get(side, "")) for side in ("a", "b")]
        for name in names:
            self.loaded.require_processed(name)
        return JSONResponse(comparison(self.store, *names))

    def reports(self, request: Request) -> Response:
        """List the formats a report is stored in."""
        job = _job_name(request)
        formats = [
            name
            for name in layout.REPORT_FORMATS
            if self.store.exists(layout.report_key(job, name))
        ]
        return JSONResponse({"formats": formats})

    def report(self, request: Request) -> Response:
        """Answer the stored report as it lies in the store."""
        job = _job_name(request)
        report_format = request.query_params.get("format", "html")
        key = layout.report_key(job, report_format)
        if not self.store.exists(key):
            raise ApiError(
                404,
                f"Profile {job!r} has no stored {report_format} report.",
                f"Run: tracemill process --store {shlex.quote(self.store.address)} --job {job}",
            )
        headers = {"content-security-policy": REPORT_CSP}
        if "download" in request.query_params:
            name = f"{job}-report.{report_format}"
            headers["content-disposition"] = f'attachment; filename="{name}"'
        content = self.store.read_bytes(key)
        return Response(content, media_type=REPORT_TYPES[report_format], headers=headers)

    def _context(self, request: Request) -> Context:
        query = request.query_params
        options = Options(
            k=whole_number(query, "k", Options.k, 1, MAX_K),
            window_kind=_word(query.get("window"), Options.window_kind, [*WindowKind]),
            step_time=_word(query.get("step_time"), Options.step_time, [*MEASURES]),
        )
        where = parse_filter(query)
        return Context(self.loaded.profile(_job_name(request)), where, options)

    def routes(self) -> list[Route]:
        """Return the API's routes."""
        job = "/api/profiles/{job}"
        return [
            Route("/api/profiles", self.profiles, methods=["GET"]),
            Route("/api/loaded", self.list_loaded, methods=["GET"]),
            Route("/api/loaded/{job}", self.load, methods=["POST"]),
            Route("/api/loaded/{job}", self.unload, methods=["DELETE"]),
            Route(f"{job}/dashboard", self.dashboard, methods=["GET"]),
            Route("/api/compare", self.compare, methods=["GET"]),
            Route(f"{job}/histogram", self.histogram, methods=["GET"]),
            Route(f"{job}/info", self.info, methods=["GET"]),
            *self.timeline.routes(),
            *self.sql.routes(),
            Route(f"{job}/reports", self.reports, methods=["GET"]),
            Route(f"{job}/report", self.report, methods=["GET"]),
            Route("/api/{rest:path}", _no_such_call),
        ]


def _job_name(request: Request) -> str:
    return layout.check_name(request.path_params["job"])


def _word(text: str | None, default: str, words: list[str]) -> str:
    if text is None or text in words:
        return text or default
    raise ApiError(400, f"{text[:40]!r} is not a choice.", f"Take one of {', '.join(words)}.")


def _no_such_call(request: Request) -> Response:
    raise HTTPException(404, f"There is no {request.method} {request.url.path[:200]}.")


class PageFiles(StaticFiles):
    """The built page. Files under assets/ have a hash in their name and never change."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        """Answer a file, with the time it may be kept."""
        response = super().file_response(*args, **kwargs)
        lasting = Path(str(args[0])).parent.name == "assets"
        response.headers["cache-control"] = (
            "public, max-age=31536000, immutable" if lasting else "no-cache"
        )
        return response


def create_app(
    store: Store,
    allowed_hosts: Iterable[str] = (),
    static_folder: Path = STATIC_FOLDER,
    idle: IdleWatch | None = None,
) -> Starlette:
    """Build the application over a store.

    ``allowed_hosts`` are answered besides loopback names; ``.example.org`` stands for all names
    below. Without a built page in ``static_folder`` the API still answers. ``idle`` is told of
    every request.
    """
    api = Api(store)
    idle = idle or IdleWatch()

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        api.loaded.close()

    index = static_folder / "index.html"
    built = index.is_file()
    page = Mount("/", PageFiles(directory=static_folder, html=True)) if built else None
    app = Starlette(
        routes=[*idle.routes(), *api.routes(), *([page] if page else [Route("/", _not_built)])],
        middleware=[
            Middleware(IdleNote, watch=idle),
            Middleware(
                Guard,
                hosts=HostCheck(allowed_hosts),
                csp=page_csp(index.read_bytes() if built else b""),
            ),
            Middleware(GZipMiddleware, minimum_size=1000),
        ],
        exception_handlers={
            ApiError: errors.on_api_error,
            TracemillError: errors.on_tracemill_error,
            HTTPException: errors.on_http_error,
            Exception: errors.on_unexpected,
        },
        lifespan=lifespan,
    )
    app.state.api = api
    return app


def _not_built(_request: Request) -> Response:
    raise ApiError(
        503, "The page is not built.", "Run 'make setup', or: npm run build in ui_app/web."
    )
