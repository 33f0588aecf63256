"""Named queries: the same text that Athena gets runs here, on Parquet files of the real writer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot
from sqlglot import expressions as sql
from tracemill_analysis.parquet import write_rows
from tracemill_analysis.store import LocalStore
from tracemill_schema import layout
from tracemill_schema.queries import NamedQuery, named_queries
from tracemill_schema.tables import TABLE_BY_NAME, TABLES
from tracemill_schema.targets.duckdb import empty_select

from tests.support.synth import Assembly
from tests.support.tables import row

QUERIES = {query.name: query for query in named_queries()}
every_query = pytest.mark.parametrize("query", QUERIES.values(), ids=lambda query: query.name)

HOUR = 3_600_000_000_000
MS = 1_000_000
US = 1_000


def _gpu(rank: int, **values: Any) -> dict[str, Any]:
    return {"process_id": rank, "rank": rank, "node": f"n{rank}", "device": rank, **values}


def _steps(job_ms: list[tuple[int, int, int]], **values: Any) -> list[dict[str, Any]]:
    """Steps of (rank, number, milliseconds)."""
    return [
        {
            "process_id": rank,
            "rank": rank,
            "node": f"n{rank}",
            "occurrence": step,
            "step": step,
            "dur_ns": ms * MS,
            **values,
        }
        for rank, step, ms in job_ms
    ]


ROWS: dict[str, dict[str, list[dict[str, Any]]]] = {
    "big": {
        "idle_causes": [
            _gpu(0, cause="input_wait", idle_ns=600 * MS, gaps=3, longest_ns=250 * MS),
            _gpu(1, cause="input_wait", idle_ns=150 * MS, gaps=2, longest_ns=100 * MS),
            _gpu(1, cause="sync", idle_ns=250 * MS, gaps=1, longest_ns=250 * MS),
        ],
        "jobs": [
            {
                "status": "Completed",
                "completeness": "partial",
                "gpus": 2,
                "gpu_utilization": 0.25,
                "start_ns": 0,
                "dur_ns": 2 * HOUR,
                "events_read": 100,
                "verdict": "idle",
            }
        ],
        "time_breakdown": [
            _gpu(
                rank,
                window_kind="all_gpu",
                window_ns=2 * HOUR,
                idle_ns=idle,
                compute_ns=HOUR // 2,
                comm_ns=HOUR,
                overlap_ns=HOUR // 4,
                exposed_comm_ns=3 * HOUR // 4,
                exposed_mem_ns=0,
            )
            for rank, idle in ((0, HOUR), (1, HOUR // 2))
        ],
        "kernel_summary": [
            _gpu(
                0, name="gemm", category="compute", precision="BF16", count=4, total_ns=9_000 * MS
            ),
            _gpu(
                1, name="gemm", category="compute", precision="BF16", count=5, total_ns=9_000 * MS
            ),
        ],
        "step_summary": [
            *_steps([(0, 0, 10), (1, 0, 14), (0, 1, 10), (1, 1, 15)]),
            *_steps([(0, 2, 40), (1, 2, 12)], gap_before_ns=8 * MS, gap_input_ns=4 * MS),
        ],
        "operator_summary": [
            {
                "process_id": 0,
                "category": "cpu_op",
                "name": "aten::mm",
                "module": module,
                "count": 3,
                "self_ns": 1_500 * MS,
                "self_kernels": 6,
                "self_gpu_ns": 250 * MS,
                "launches": launches,
                "launch_delay_ns": launches * 4 * US,
            }
            for module, launches in ((None, 2), ("net", 4))
        ],
        "launch_latency": [
            _gpu(0, launches=7, p50_ns=9_500, p95_ns=20_000, max_ns=30_000, negative=1)
        ],
        "precision_summary": [
            _gpu(0, precision="BF16", count=3, total_ns=4_000 * MS, tensor_core_ns=3_000 * MS)
        ],
        "memory_op_summary": [
            _gpu(
                0,
                kind="HtoD",
                src_kind="pageable",
                dst_kind="device",
                count=2,
                bytes=3 * 10**9,
                total_ns=1_500 * MS,
                bandwidth_bytes_per_s=2e9,
            ),
            _gpu(0, kind="DtoD", count=9, bytes=1, total_ns=1),
        ],
        "findings": [
            {
                "rule": "input",
                "severity": "high",
                "title": "big waits",
                "gpu_hours": 1.5,
                "abstained": False,
            },
            {"rule": "input", "severity": "info", "title": "?", "abstained": True},
        ],
        "drops": [
            {"reason": "checksum", "source_file": "a", "events": 5, "lost": True, "example": "a:1"},
            {"reason": "checksum", "source_file": "b", "events": 2, "lost": True},
            {"reason": "unlinked", "source_file": "b", "events": 9, "lost": False},
        ],
        "cpu_summary": [
            {"node": "n0", "metric": "cpu_utilization", "index": -1, "mean": 0.5, "p95": 0.975},
            {"node": "n0", "metric": "cpu_utilization", "index": 0, "mean": 0.9, "p95": 1.0},
        ],
        "collective_summary": [
            _gpu(
                0,
                operation="all_reduce",
                process_group=None,
                count=4,
                bytes=8_000_000,
                total_ns=10 * MS,
                max_ns=7 * MS,
            )
        ],
        "utilization": [
            {"resource": "gpu", "bin_start_ns": 0, "utilization": 0.5},
            {"resource": "gpu", "bin_start_ns": HOUR // 20, "utilization": 0.25},
            {"resource": "gpu", "bin_start_ns": HOUR, "utilization": 1.0},
            {"resource": "gpu", "bin_start_ns": 2 * HOUR, "utilization": 0.0},
            {"resource": "cpu", "bin_start_ns": 0, "utilization": 1.0},
        ],
    },
    "small": {
        "operator_summary": [
            {"process_id": 0, "category": "cpu_op", "name": "aten::t", "count": 2, "self_ns": 9}
        ],
        "jobs": [
            {"status": "Failed", "completeness": "complete", "gpus": 1, "gpu_utilization": 0.9}
        ],
        "time_breakdown": [_gpu(0, window_kind="all_gpu", window_ns=0)],
        "kernel_summary": [
            _gpu(0, name="gemm", category="compute", precision="BF16", count=1, total_ns=2_000 * MS)
        ],
        "findings": [
            {
                "rule": "input",
                "severity": "high",
                "title": "small waits",
                "gpu_hours": 0.25,
                "abstained": False,
            }
        ],
    },
}


def database(store: LocalStore) -> duckdb.DuckDBPyConnection:
    """The tables as Athena sees them: all jobs, job_name from the folder."""
    connection = duckdb.connect()
    for table in TABLES:
        folder = f"{layout.TABLES_PREFIX}{table.name}/"
        if store.list_objects(folder):
            files = f"{store.root}/{folder}*/*.parquet"
            source = (
                f"SELECT * FROM read_parquet('{files}', hive_partitioning=true, "
                "hive_types={'job_name': VARCHAR})"
            )
        else:
            source = empty_select(table)
        connection.execute(f'CREATE VIEW "{table.name}" AS {source}')
    return connection


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    store = LocalStore(tmp_path_factory.mktemp("store"))
    for job, tables in ROWS.items():
        for name, rows in tables.items():
            write_rows(store, TABLE_BY_NAME[name], job, "all", [row(name, **one) for one in rows])
    with database(store) as connection:
        yield connection


def test_there_are_enough_questions_and_each_is_one() -> None:
    assert len(QUERIES) >= 15
    for query in QUERIES.values():
        assert "?" in query.question
        assert query.name.replace("_", "").isalpha()


def test_every_file_becomes_a_named_query(stacks: Assembly) -> None:
    found = {q["Name"]: q for q in stacks.resources("catalog", "AWS::Athena::NamedQuery").values()}
    assert set(found) == set(QUERIES)
    for name, query in QUERIES.items():
        assert found[name]["QueryString"] == query.sql
        assert found[name]["Description"] == query.question
        assert found[name]["Database"] == "tracemill"
        assert found[name]["WorkGroup"] == "tracemill"


def test_a_file_without_a_question_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bare.sql").write_text("SELECT 1")
    with pytest.raises(ValueError, match=r"bare\.sql: the first line must be a comment"):
        named_queries(tmp_path)


@every_query
def test_a_query_is_one_bounded_select_of_known_tables(query: NamedQuery) -> None:
    (statement,) = sqlglot.parse(query.sql, dialect="athena")
    assert isinstance(statement, sql.Select)
    assert statement.args.get("limit"), "an answer has to end"
    assert statement.args.get("order"), "an answer has an order"
    ours = {cte.alias for cte in statement.find_all(sql.CTE)}
    assert {table.name for table in statement.find_all(sql.Table)} <= set(TABLE_BY_NAME) | ours


@every_query
def test_no_division_is_between_integers(query: NamedQuery) -> None:
    """Athena cuts 7/2 to 3, DuckDB says 3.5: each side is a double, a literal one or a cast one."""
    for division in sqlglot.parse_one(query.sql, dialect="athena").find_all(sql.Div):
        for side in (division.left, division.right):
            assert _is_double(side), division.sql()


def _is_double(side: sql.Expression) -> bool:
    if isinstance(side, sql.Literal):
        return "e" in side.name.lower()
    cast = any(c.to.this == sql.DataType.Type.DOUBLE for c in side.find_all(sql.Cast))
    return cast or any(column.name in _DOUBLES for column in side.find_all(sql.Column))


_DOUBLES = {"mean_ns", "bandwidth_bytes_per_s"}
"""Columns that are doubles already."""


@every_query
def test_a_query_runs_on_a_store_without_any_job(query: NamedQuery, tmp_path: Path) -> None:
    with database(LocalStore(tmp_path)) as connection:
        assert connection.execute(query.sql).fetchall() == []


ANSWERS: dict[str, list[tuple[Any, ...]]] = {
    "idle_causes": [
        ("big", "input_wait", 0.75, 75.0, 5, 250.0),
        ("big", "sync", 0.25, 25.0, 1, 250.0),
    ],
    "least_used_gpus": [
        ("big", "Completed", None, 2, 25.0, 4.0, "idle"),
        ("small", "Failed", None, 1, 90.0, 0.0, ""),
    ],
    "idle_gpu_hours": [("big", 1.5, 4.0, 37.5), ("small", 0.0, 0.0, None)],
    "gpu_time_by_rank": [
        ("big", 0, "n0", 0, 25.0, 37.5, 0.0, 50.0),
        ("big", 1, "n1", 1, 25.0, 37.5, 0.0, 25.0),
        ("small", 0, "n0", 0, None, None, None, None),
    ],
    "exposed_communication": [("big", 2, 1.5, 37.5, 25.0)],
    "top_kernels": [("gemm", "compute", "BF16", 2, 10, 20.0, 2_000_000.0)],
    "top_operators": [
        ("cpu_op", "aten::mm", 1, 6, 3.0, 12, 0.5, 4.0),
        ("cpu_op", "aten::t", 1, 2, 0.0, 0, 0.0, None),
    ],
    "slowest_steps": [
        ("big", 0, 2, 40.0, 20.0, 2.0, 8.0, None),
        ("big", 1, 1, 15.0, 13.667, 1.1, None, None),
        ("big", 1, 0, 14.0, 13.667, 1.02, None, None),
        ("big", 1, 2, 12.0, 13.667, 0.88, 8.0, None),
        ("big", 0, 0, 10.0, 20.0, 0.5, None, None),
        ("big", 0, 1, 10.0, 20.0, 0.5, None, None),
    ],
    "input_bound_jobs": [("big", 6, 0.117, 0.008, 6.8)],
    "stragglers": [
        ("big", "n1", 1, 3, 2, 66.7, 3.0),
        ("big", "n0", 0, 3, 1, 33.3, 9.333),
    ],
    "launch_latency": [("big", 0, "n0", 0, 7, 9.5, 20.0, 30.0, 1)],
    "tensor_core_share": [("big", "BF16", 3, 4.0, 75.0)],
    "memory_copies": [("big", "HtoD", "pageable", "device", 2, 3.0, 1.5, 2.0)],
    "common_findings": [("input", "high", 2, 1.75, "big", "big waits")],
    "lost_events": [("big", "partial", 100, "checksum", 7, 2, "a:1")],
    "busy_hosts": [("big", "n0", 50.0, 97.5, 25.0)],
    "collectives": [("big", "all_reduce", "unknown", 4, 2.0, 2.5, 7.0)],
    "utilization_over_time": [("big", 0, 37.5), ("big", 10, 100.0), ("big", 19, 0.0)],
}


@every_query
def test_a_query_answers_its_question(query: NamedQuery, filled: duckdb.DuckDBPyConnection) -> None:
    assert filled.execute(query.sql).fetchall() == ANSWERS[query.name]
