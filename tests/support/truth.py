"""Compares the tables of a processed job with the ``truth.json`` of the simulator."""

from __future__ import annotations

import json
from typing import Any

import duckdb
from tracemill_analysis.store import Store
from tracemill_schema import layout
from tracemill_schema.tables import TABLES

Row = dict[str, Any]


class Tables:
    """The tables of one job, for SQL."""

    def __init__(self, store: Store, job: str) -> None:
        self._connection = duckdb.connect(":memory:", config={"threads": 1})
        self._present: set[str] = set()
        for table in TABLES:
            found = store.list_objects(layout.table_prefix(table.name, job))
            if found:
                self._present.add(table.name)
                files = [str(store.local_file(info.key)) for info in found]
                self._connection.execute(
                    f"CREATE VIEW {table.name} AS SELECT * FROM read_parquet({files})"
                )

    def has(self, table: str) -> bool:
        return table in self._present

    def rows(self, query: str, *values: object) -> list[Row]:
        result = self._connection.execute(query, list(values))
        names = [column[0] for column in result.description or ()]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def by_rank(self, query: str) -> dict[int, Row]:
        return {row.pop("rank"): row for row in self.rows(query)}


def read_truth(store: Store, job: str) -> Row:
    truth: Row = json.loads(store.read_bytes(layout.truth_key(job)))
    return truth


def assert_truth(store: Store, job: str) -> None:
    """Assert that every figure of the truth is met to the nanosecond."""
    truth, tables = read_truth(store, job), Tables(store, job)
    assert _job(tables) == {
        "ranks": len(truth["ranks"]),
        "processes": len(truth["ranks"]),
        "nodes": len(truth["nodes"]),
        "gpus": truth["gpus"],
        "steps": truth["steps"],
        "events_kept": truth["events"],
        "events_read": truth["events"],
        "events_dropped": 0,
        "simulated": truth["simulated"],
        "completeness": "complete",
        "status": "Completed",
    }
    assert not store.list_objects(layout.table_prefix("drops", job))
    found = _ranks(tables)
    assert len(found) == len(truth["ranks"])
    for expected in truth["ranks"]:
        # One figure after the other: a failure names it.
        for name, value in expected.items():
            assert found[expected["rank"]][name] == value, (expected["rank"], name)
    assert _collectives(tables) == truth["collectives"]["by_rank"]
    listed = truth["collectives"]["listed"]
    assert _each_collective(tables, len(listed)) == listed
    assert _node_clocks(tables) == [
        {key: node[key] for key in ("node", "clock_error_ns", "clock_spread_ns")}
        for node in truth["nodes"]
    ]
    _assert_findings(tables, truth["findings"])


def _assert_findings(tables: Tables, expected: Row) -> None:
    if not tables.has("findings"):
        assert expected["first"] is None
        return
    problems = tables.rows(
        "SELECT rule, evidence, title FROM findings"
        " WHERE NOT abstained AND severity <> 'info' ORDER BY position"
    )
    rules = [row["rule"] for row in problems]
    assert next(iter(rules), None) == expected["first"], problems
    assert set(expected["also"]) <= set(rules), problems
    if expected["first_rank"] is not None:
        assert problems[0]["title"].startswith(f"Rank {expected['first_rank']} ")


def _job(tables: Tables) -> Row:
    (row,) = tables.rows(
        "SELECT ranks, processes, nodes, gpus, steps, events_kept, events_read, events_dropped,"
        " simulated, completeness, status FROM jobs"
    )
    return row


def _ranks(tables: Tables) -> dict[int, Row]:
    found = tables.by_rank(
        "SELECT rank, local_rank, node, devices::INTEGER AS device FROM processes"
    )
    for rank, row in found.items():
        row["rank"] = rank
        row["kernel_totals"], row["memory_ops"], row["ranges"] = {}, {}, {}
        row["samples"] = 0
    for table in ("kernels", "api_calls", "annotations", "samples"):
        for rank, row in tables.by_rank(
            f"SELECT rank, count(*) AS n FROM {table} GROUP BY rank"
        ).items():
            found[rank][table] = row["n"]
    for rank, row in tables.by_rank(
        "SELECT rank, count(*) AS steps, sum(dur_ns)::BIGINT AS total, min(dur_ns) AS min,"
        " max(dur_ns) AS max FROM step_summary GROUP BY rank"
    ).items():
        found[rank]["steps"] = row.pop("steps")
        found[rank]["step_ns"] = row
    for rank, row in tables.by_rank(_LAUNCHES).items():
        found[rank]["launches"] = row
    for rank, row in tables.by_rank(
        "SELECT rank, count(*) FILTER (side = 'host') AS host,"
        " count(*) FILTER (side = 'device') AS device,"
        " sum(dur_ns) FILTER (side = 'host')::BIGINT AS host_ns FROM syncs GROUP BY rank"
    ).items():
        found[rank]["syncs"] = row
    for row in tables.rows("SELECT rank, name, count, total_ns FROM kernel_summary"):
        found[row.pop("rank")]["kernel_totals"][row.pop("name")] = row
    for row in tables.rows("SELECT rank, kind, count, bytes, total_ns FROM memory_op_summary"):
        found[row.pop("rank")]["memory_ops"][row.pop("kind")] = row
    for rank, row in tables.by_rank(_GPU_TIME).items():
        found[rank]["gpu_time"] = row
    for row in tables.rows(
        "SELECT rank, series, count(*) AS count, sum(dur_ns)::BIGINT AS total_ns,"
        " sum(gpu_dur_ns)::BIGINT AS gpu_total_ns FROM annotations GROUP BY rank, series"
    ):
        found[row.pop("rank")]["ranges"][row.pop("series")] = row
    return found


_LAUNCHES = """
SELECT rank, count(*) AS count, sum(launch_dur_ns)::BIGINT AS call_ns,
    sum(start_ns - launch_start_ns)::BIGINT AS latency_sum_ns,
    min(start_ns - launch_start_ns) AS latency_min_ns,
    max(start_ns - launch_start_ns) AS latency_max_ns
FROM (
    SELECT rank, start_ns, launch_start_ns, launch_dur_ns FROM kernels
    UNION ALL SELECT rank, start_ns, launch_start_ns, launch_dur_ns FROM memory_ops
) WHERE launch_start_ns IS NOT NULL GROUP BY rank
"""

_GPU_TIME = """
SELECT rank, window_start_ns, window_end_ns, gpu_events, window_ns, busy_ns, idle_ns, compute_ns,
    comm_ns, mem_ns, overlap_ns, exposed_comm_ns, exposed_mem_ns
FROM time_breakdown WHERE window_kind = 'all_gpu'
"""


def _collectives(tables: Tables) -> list[Row]:
    return tables.rows(
        "SELECT rank, last, last_wait_ns, caused_wait_ns, suffered_wait_ns, max_lateness_ns"
        " FROM stragglers ORDER BY rank"
    )


def _each_collective(tables: Tables, first: int) -> list[Row]:
    return tables.rows(
        "SELECT sequence, any_value(step) AS step, any_value(operation) AS operation,"
        " arg_max(rank, arrival) AS last_rank,"
        " (max(arrival)::HUGEINT * count(*) - sum(arrival))::BIGINT AS wait_ns FROM ("
        "  SELECT c.*, c.start_ns + coalesce(alignment_ns, 0) AS arrival"
        "  FROM collectives c JOIN processes USING (process_id) WHERE sequence < ?)"
        " GROUP BY sequence ORDER BY sequence",
        first,
    )


def _node_clocks(tables: Tables) -> list[Row]:
    return tables.rows(
        "SELECT node, -coalesce(any_value(alignment_ns), 0) AS clock_error_ns,"
        " any_value(clock_spread_ns) AS clock_spread_ns"
        " FROM processes GROUP BY node ORDER BY node"
    )
