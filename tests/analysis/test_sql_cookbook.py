"""docs/sql-cookbook.md: every query runs on real traces, and the page shows what it answers."""

from __future__ import annotations

import pytest
from tracemill_analysis.query import connect, run_query
from tracemill_analysis.store import LocalStore
from tracemill_schema.queries import named_queries

from tests.support.shared import shared_path
from tools.sql_cookbook import PAGE, TRACES, import_examples, render


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> LocalStore:
    for trace in TRACES.values():
        shared_path(trace)
    return import_examples(tmp_path_factory.mktemp("s"), shared_path("traces").parent)


def test_the_page_is_what_the_queries_answer(store: LocalStore) -> None:
    assert PAGE.read_text(encoding="utf-8") == render(store), "run: python tools/sql_cookbook.py"


def test_there_are_at_least_fifteen_questions_and_most_have_an_answer(store: LocalStore) -> None:
    queries = named_queries()
    assert len(queries) >= 15
    assert all("?" in query.question for query in queries)
    connection = connect(store)
    answered = [query.name for query in queries if run_query(connection, query.sql)[1]]
    connection.close()
    assert len(answered) >= 15
