"""The Query page's server side: answers, limits, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tracemill_analysis.store import LocalStore
from tracemill_schema.queries import named_queries
from tracemill_schema.tables import TABLES
from tracemill_ui import sql as sql_module
from tracemill_ui.errors import ApiError
from tracemill_ui.sql import SqlApi

from tests.support.profiles import SLOW_NS, START_NS


def ask(client: TestClient, sql: Any, job: str = "gpu-job") -> Any:
    return client.post(f"/api/profiles/{job}/query", json={"sql": sql})


def test_a_select_is_answered_with_exact_values(client: TestClient) -> None:
    answer = ask(client, "SELECT rank, max(dur_ns) FROM step_summary GROUP BY rank ORDER BY rank")
    assert answer.status_code == 200
    found = answer.json()
    assert found["columns"] == ["rank", "max(dur_ns)"]
    assert found["rows"][3] == [3, SLOW_NS]
    assert found["truncated"] is False


def test_a_query_sees_its_own_job_only(client: TestClient) -> None:
    rows = ask(client, "SELECT DISTINCT job_name FROM jobs").json()["rows"]
    assert rows == [["gpu-job"]]


def test_values_that_json_or_a_browser_cannot_hold_are_text(client: TestClient) -> None:
    sql = f"SELECT {START_NS} AS big, 'nan'::DOUBLE AS nan, NULL AS none, true AS yes, [1, 2] AS l"
    (row,) = ask(client, sql).json()["rows"]
    assert row == [str(START_NS), "nan", None, True, "[1, 2]"]


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("DELETE FROM jobs", "only SELECT"),
        ("SELECT 1; SELECT 2", "found 2 statements"),
        ("SELECT * FROM read_csv('/etc/passwd')", "disabled"),
        ("SELECT * FROM '/etc/passwd'", ""),
        ("COPY (SELECT 1) TO '/tmp/x'", "only SELECT"),
        ("ATTACH '/tmp/other.db'", "only SELECT"),
        ("SET enable_external_access = true", ""),
        ("SELECT evnts FROM drops", "evnts"),
        ("SELEC 1", "syntax error"),
        ("   ", "empty"),
        (7, "empty"),
        ("SELECT '" + "x" * 60_000 + "'", "too long"),
    ],
)
def test_anything_else_is_refused_with_a_reason(client: TestClient, sql: Any, error: str) -> None:
    answer = ask(client, sql)
    assert answer.status_code in (400, 413)
    assert error in answer.json()["error"]
    assert answer.json()["hint"]


def test_a_body_that_is_no_query_is_refused(client: TestClient) -> None:
    address = "/api/profiles/gpu-job/query"
    assert client.post(address, content=b"\xff").status_code == 400
    assert client.post(address, json=["SELECT 1"]).status_code == 400
    assert client.post(address, content=b"x" * 300_000).status_code == 413


def test_rows_are_cut_at_the_limit_and_it_says_so(client: TestClient) -> None:
    found = ask(client, "SELECT * FROM range(10001)").json()
    assert len(found["rows"]) == sql_module.MAX_ROWS
    assert found["truncated"] is True
    assert ask(client, "SELECT * FROM range(10000)").json()["truncated"] is False


def test_a_query_that_runs_too_long_is_stopped(store: LocalStore) -> None:
    api = SqlApi(store, time_limit_s=0.2)
    with pytest.raises(ApiError, match=r"longer than 0\.2 s") as caught:
        api.answer(
            "gpu-job", "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"
        )
    assert caught.value.status == 408


def test_an_unknown_job_is_named(client: TestClient) -> None:
    assert ask(client, "SELECT 1", "nosuch").status_code == 404
    assert ask(client, "SELECT 1", "%2e%2e").status_code >= 400


def test_the_catalog_lists_every_question_and_table(client: TestClient) -> None:
    catalog = client.get("/api/queries").json()
    assert [query["name"] for query in catalog["queries"]] == [q.name for q in named_queries()]
    assert [table["name"] for table in catalog["tables"]] == [table.name for table in TABLES]
    assert all(column["doc"] for table in catalog["tables"] for column in table["columns"])


@pytest.mark.parametrize("query", named_queries(), ids=lambda query: query.name)
def test_every_named_query_runs_here(client: TestClient, query: Any) -> None:
    assert ask(client, query.sql).status_code == 200


def test_only_the_tables_asked_for_are_read(store: LocalStore, tmp_path: Path) -> None:
    """A damaged table does not stop a query of another."""
    (store.root / "tables" / "jobs" / "job_name=gpu-job").mkdir(parents=True, exist_ok=True)
    for path in (store.root / "tables" / "drops" / "job_name=gpu-job").glob("*.parquet"):
        path.write_bytes(b"PAR1 damaged")
    api = SqlApi(store)
    assert api.answer("gpu-job", "SELECT count(*) FROM jobs")["rows"] == [[1]]
