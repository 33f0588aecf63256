"""Glue's columns and the named queries against files that the pipeline made of real traces."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow.parquet as pq
import pytest
from tracemill_analysis.pipeline import import_traces
from tracemill_analysis.store import LocalStore
from tracemill_schema import layout
from tracemill_schema.queries import named_queries
from tracemill_schema.tables import TABLES

from tests.infra.test_catalog import GLUE_TYPES
from tests.infra.test_queries import database
from tests.support.shared import shared_path
from tests.support.synth import Assembly

TRACES = {"dlrm": "traces/param/dlrm_8rank", "resnet": "traces/param/resnet_kineto.json.gz"}
QUERIES = {query.name: query for query in named_queries()}

ROWS_BY_JOB = {
    "collectives": (2, 0),
    "exposed_communication": (1, 0),
    "gpu_time_by_rank": (8, 1),
    "idle_gpu_hours": (1, 1),
    "input_bound_jobs": (1, 0),
    "launch_latency": (8, 1),
    "least_used_gpus": (1, 1),
    "slowest_steps": (8, 0),
    "stragglers": (8, 0),
    "utilization_over_time": (20, 20),
}
"""Rows about the eight ranks with one step and collectives, and about the one rank without."""
NOTHING_TO_TELL = {"busy_hosts", "lost_events"}
"""Kineto records no CPU utilisation, and of these files nothing was lost."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> LocalStore:
    store = LocalStore(tmp_path_factory.mktemp("real"))
    for job, path in TRACES.items():
        import_traces(store, job, [shared_path(path)])
    return store


@pytest.fixture(scope="module")
def tables(store: LocalStore) -> Iterator[duckdb.DuckDBPyConnection]:
    with database(store) as connection:
        yield connection


def test_footers_of_real_files_are_what_glue_declares(store: LocalStore, stacks: Assembly) -> None:
    glue = {
        table["TableInput"]["Name"]: table["TableInput"]["StorageDescriptor"]["Columns"]
        for table in stacks.resources("catalog", "AWS::Glue::Table").values()
    }
    files = 0
    for table in TABLES:
        declared = [(column["Name"], column["Type"]) for column in glue[table.name]]
        for info in store.list_objects(f"{layout.TABLES_PREFIX}{table.name}/"):
            footer = pq.ParquetFile(store.local_file(info.key)).schema_arrow
            assert [(field.name, GLUE_TYPES[field.type]) for field in footer] == declared, info.key
            files += 1
    assert files > 90


@pytest.mark.parametrize("name", QUERIES)
def test_a_named_query_answers_for_real_jobs(tables: duckdb.DuckDBPyConnection, name: str) -> None:
    answer = tables.execute(QUERIES[name].sql)
    columns = [column[0] for column in answer.description]
    rows = [dict(zip(columns, row, strict=True)) for row in answer.fetchall()]
    assert bool(rows) == (name not in NOTHING_TO_TELL)
    if name in ROWS_BY_JOB:
        counts = tuple(sum(row["job_name"] == job for row in rows) for job in TRACES)
        assert counts == ROWS_BY_JOB[name]


def test_two_answers_that_are_known_from_the_traces(tables: duckdb.DuckDBPyConnection) -> None:
    latency = tables.execute(QUERIES["launch_latency"].sql).fetchall()
    assert latency[0][:5] == ("resnet", 0, "node-0", 0, 10_113)
    sizes = dict(tables.execute("SELECT job_name, gpus FROM jobs").fetchall())
    assert sizes == {"dlrm": 8, "resnet": 1}
