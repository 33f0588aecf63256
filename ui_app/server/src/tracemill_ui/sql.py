"""The Query page: one SELECT over a profile's tables, bounded in rows, time, memory and length.

    GET  api/queries                 named queries, tables with their columns, the limits
    POST api/profiles/{job}/query    {"sql": "SELECT …"}

The engine opens nothing but the profile's own tables (see ``tracemill_analysis.query``).
"""

from __future__ import annotations

import json
import math
import threading
import time
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from tracemill_analysis.query import connect, run_query, tables_in
from tracemill_analysis.store import Store
from tracemill_schema import layout
from tracemill_schema.columns import Table
from tracemill_schema.errors import QueryError
from tracemill_schema.queries import named_queries
from tracemill_schema.tables import TABLES
from tracemill_schema.targets.duckdb import TYPES

from tracemill_ui.errors import ApiError

MAX_ROWS = 10_000
TIME_LIMIT_S = 30.0
MAX_SQL_CHARS = 50_000
MAX_CELL_CHARS = 20_000
MAX_AT_ONCE = 2
MAX_EXACT_INT = 2**53
"""Beyond it a JSON number loses digits in a browser: such integers are sent as text."""


class SqlApi:
    """The endpoints of the Query page over one store."""

    def __init__(self, store: Store, time_limit_s: float = TIME_LIMIT_S) -> None:
        self._store = store
        self._time_limit_s = time_limit_s
        self._running = threading.BoundedSemaphore(MAX_AT_ONCE)

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/api/queries", self.catalog, methods=["GET"]),
            Route("/api/profiles/{job}/query", self.query, methods=["POST"]),
        ]

    def catalog(self, _request: Request) -> Response:
        """List the named queries and the tables that can be asked."""
        return JSONResponse(
            {
                "queries": [
                    {"name": query.name, "question": query.question, "sql": query.sql}
                    for query in named_queries()
                ],
                "tables": [_table(table) for table in TABLES],
                "max_rows": MAX_ROWS,
                "time_limit_s": self._time_limit_s,
            }
        )

    async def query(self, request: Request) -> Response:
        """Answer one SELECT."""
        job = layout.check_name(request.path_params["job"])
        sql = _sql_of(await _body(request))
        return JSONResponse(await run_in_threadpool(self.answer, job, sql))

    def answer(self, job: str, sql: str) -> dict[str, Any]:
        """Run one SELECT over a job; ApiError says what is wrong with it or which limit it hit."""
        if not self._running.acquire(timeout=self._time_limit_s):
            raise ApiError(503, "Other queries are still running.", "Try again when they are done.")
        try:
            return self._answer(job, sql)
        except QueryError as error:
            raise ApiError(
                400, str(error), "Correct the query; tables are listed beside it."
            ) from error
        finally:
            self._running.release()

    def _answer(self, job: str, sql: str) -> dict[str, Any]:
        began = time.monotonic()
        connection = connect(self._store, job, tables_in(sql))
        timed_out = threading.Event()

        def stop() -> None:
            timed_out.set()
            connection.interrupt()

        timer = threading.Timer(self._time_limit_s, stop)
        timer.start()
        try:
            columns, rows = run_query(connection, sql, MAX_ROWS + 1)
        except QueryError as error:
            if timed_out.is_set():
                raise ApiError(
                    408,
                    f"The query ran longer than {self._time_limit_s:g} s and was stopped.",
                    "Ask for less: fewer ranks, a narrower time, an aggregate instead of events; "
                    "or use tracemill query, which has no time limit.",
                ) from error
            raise
        finally:
            timer.cancel()
            timer.join()
            connection.close()
        return {
            "columns": columns,
            "rows": [[_cell(value) for value in row] for row in rows[:MAX_ROWS]],
            "truncated": len(rows) > MAX_ROWS,
            "dur_ms": round((time.monotonic() - began) * 1e3, 1),
        }


async def _body(request: Request) -> bytes:
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > 4 * MAX_SQL_CHARS:
            raise ApiError(
                413, "The query is too long.", f"Take up to {MAX_SQL_CHARS:,} characters."
            )
    return content


def _sql_of(body: bytes) -> str:
    try:
        sql = json.loads(body)["sql"]
    except (ValueError, KeyError, TypeError) as error:
        raise ApiError(400, "No query was sent.", 'Send {"sql": "SELECT …"}.') from error
    if not isinstance(sql, str) or not sql.strip():
        raise ApiError(400, "The query is empty.", "Write one SELECT, or choose an example.")
    if len(sql) > MAX_SQL_CHARS:
        raise ApiError(413, "The query is too long.", f"Take up to {MAX_SQL_CHARS:,} characters.")
    return sql


def _table(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "doc": table.doc,
        "columns": [
            {"name": c.name, "type": TYPES[c.kind], "unit": c.unit or "", "doc": c.doc}
            for c in table.columns
        ],
    }


def _cell(value: Any) -> Any:
    """Return a value as JSON has it; what JSON lacks becomes text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= MAX_EXACT_INT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)[:MAX_CELL_CHARS]
