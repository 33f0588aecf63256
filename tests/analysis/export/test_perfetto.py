"""Perfetto export of real traces, decoded with Perfetto's own classes, equals the tables."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tracemill_analysis.export import Exported, export_job, select
from tracemill_analysis.pipeline import import_traces
from tracemill_analysis.query import connect, run_query
from tracemill_analysis.store import LocalStore
from tracemill_schema.errors import StoreError, UsageError

from tests.support.perfetto import Slice, Trace, read_trace
from tests.support.shared import shared_path

DLRM = "traces/param/dlrm_8rank/worker{}.pt.trace.json.gz"
TRACES = {
    "dlrm": [
        DLRM.format("1_step_12.1694128201556"),  # 64 kernels without a launch
        DLRM.format("6_step_12.1694128201553"),
        DLRM.format("7_step_12.1694128201553"),
    ],
    "sampled": ["traces/hta/trace_filter__sampled_rank-0.json.gz"],
    "amd": ["traces/hta/amd_trace__mi250_minitoy_train_ROCm6_2_kineto.json.gz"],
    "syncs": ["traces/hta/critical_path__cuda_event_sync_multi_stream__event_sync_trace.json.gz"],
}
SLICES = """
    SELECT name, category, start_ns, dur_ns, correlation, step FROM kernels
    UNION ALL SELECT name, kind, start_ns, dur_ns, correlation, step FROM memory_ops
    UNION ALL SELECT name, api, start_ns, dur_ns, correlation, step FROM api_calls
    UNION ALL SELECT name, category, start_ns, dur_ns, NULL, step FROM operators
    UNION ALL SELECT name, 'annotation', start_ns, dur_ns, NULL, NULL FROM annotations
    UNION ALL SELECT name, kind, start_ns, dur_ns, correlation, NULL FROM syncs
              WHERE side = 'device'"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> LocalStore:
    store = LocalStore(tmp_path_factory.mktemp("store"))
    for job, traces in TRACES.items():
        import_traces(store, job, [shared_path(trace) for trace in traces])
    return store


def query(store: LocalStore, job: str, sql: str) -> list[tuple[Any, ...]]:
    connection = connect(store, job)
    try:
        return run_query(connection, sql)[1]
    finally:
        connection.close()


def exported(store: LocalStore, job: str, folder: Path, **asked: str) -> tuple[Trace, Exported]:
    path = folder / "job.pftrace"
    done = export_job(store, job, select(store, job, **asked), path)
    return read_trace(path), done


def shown(one: Slice) -> tuple[Any, ...]:
    get = one.arguments.get
    return (one.name, one.category, one.start_ns, one.dur_ns, get("correlation"), get("step"))


@pytest.mark.parametrize("job", TRACES)
def test_every_event_is_there_with_its_times(store: LocalStore, job: str, tmp_path: Path) -> None:
    trace, done = exported(store, job, tmp_path)
    assert Counter(map(shown, trace.slices)) == Counter(query(store, job, SLICES))
    assert sum(n for table, n in done.counts.items() if table != "flows") == len(trace.slices)
    for table, count in done.counts.items():
        if table != "flows":
            where = "WHERE side = 'device'" if table == "syncs" else ""
            assert query(store, job, f"SELECT count(*) FROM {table} {where}") == [(count,)]


@pytest.mark.parametrize("job", ["dlrm", "sampled"])
def test_arrows_lead_from_each_launch_to_its_run(
    store: LocalStore, job: str, tmp_path: Path
) -> None:
    trace, done = exported(store, job, tmp_path)
    begins = {flow: one for one in trace.slices for flow in one.flows}
    ends = {flow: one for one in trace.slices for flow in one.flow_ends}
    assert begins.keys() == ends.keys() and len(begins) == done.counts["flows"]
    found = Counter(
        (begins[flow].start_ns, ends[flow].start_ns, ends[flow].name) for flow in begins
    )
    launched = query(
        store,
        job,
        """SELECT launch_start_ns, start_ns, name FROM kernels WHERE launch_start_ns IS NOT NULL
           UNION ALL SELECT launch_start_ns, start_ns, name FROM memory_ops
           WHERE launch_start_ns IS NOT NULL""",
    )
    assert found == Counter(launched)
    for flow, one in begins.items():
        assert one.arguments["correlation"] == ends[flow].arguments["correlation"]


def test_tracks_are_processes_threads_and_streams(store: LocalStore, tmp_path: Path) -> None:
    trace, _ = exported(store, "dlrm", tmp_path)
    assert [name.split(" on ")[0] for _, name in sorted(trace.processes.items())] == [
        "rank 1",
        "rank 6",
        "rank 7",
    ]
    assert len({tid for _, tid, _ in trace.threads}) == len(trace.threads)
    streams = query(store, "dlrm", "SELECT DISTINCT rank, device, stream FROM kernels")
    paths = {one.track for one in trace.slices}
    for rank, device, stream in streams:
        name = (f"GPU {device}", f"GPU {device} stream {stream}")
        assert any(path[0].startswith(f"rank {rank} ") and path[1:3] == name for path in paths)


def test_the_same_job_gives_the_same_bytes(store: LocalStore, tmp_path: Path) -> None:
    for name in ("a", "b"):
        export_job(store, "syncs", select(store, "syncs"), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_window_holds_what_overlaps_it_whole(store: LocalStore, tmp_path: Path) -> None:
    ((start,),) = query(store, "sampled", "SELECT min(start_ns) FROM processes")
    low, high = start + 1_500_000, start + 20_000_000
    by_time, _ = exported(store, "sampled", tmp_path, from_=str(low), until=str(high))
    inside = (
        f"SELECT * FROM ({SLICES}) WHERE start_ns < {high} "
        f"AND (start_ns + dur_ns > {low} OR start_ns >= {low})"
    )
    expected = Counter(query(store, "sampled", inside))
    assert 0 < sum(expected.values()) < sum(Counter(query(store, "sampled", SLICES)).values())
    assert Counter(map(shown, by_time.slices)) == expected
    since, _ = exported(store, "sampled", tmp_path, from_="1.5ms", until="20ms")
    assert since.slices == by_time.slices


def test_ranks_can_be_chosen(store: LocalStore, tmp_path: Path) -> None:
    trace, done = exported(store, "dlrm", tmp_path, ranks="1,6-6")
    names = sorted(trace.processes.values())
    assert [name.split(" on ")[0] for name in names] == ["rank 1", "rank 6"]
    of_ranks = "SELECT count(*) FROM kernels WHERE rank IN (1, 6)"
    assert query(store, "dlrm", of_ranks) == [(done.counts["kernels"],)]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"ranks": "9"}, "job dlrm has no rank 9; it has: 1, 6, 7"),
        ({"ranks": "0-4000000000"}, "take numbers and ranges"),
        ({"ranks": "6-999999999"}, "has no rank 8"),
        ({"ranks": "7-5"}, "7-5 runs backwards"),
        ({"ranks": "a"}, "take numbers and ranges"),
        ({"from_": "soon"}, "--from 'soon': take a time of the tables"),
        ({"from_": "5ms", "until": "5ms"}, "--from 5ms is not before --to 5ms"),
        ({"from_": "1min"}, "the job runs from"),
        ({"until": "0"}, "the job runs from"),
    ],
)
def test_a_bad_window_or_rank_is_one_clear_error(
    store: LocalStore, asked: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        select(store, "dlrm", **asked)


def test_nothing_in_the_window_leaves_no_file(store: LocalStore, tmp_path: Path) -> None:
    ((end,),) = query(store, "dlrm", "SELECT max(end_ns) FROM processes WHERE rank = 6")
    selection = select(store, "dlrm", ranks="6", from_=str(end + 1))
    with pytest.raises(UsageError, match="no event lies in the chosen window"):
        export_job(store, "dlrm", selection, tmp_path / "x.pftrace")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_one_clear_error(
    store: LocalStore, tmp_path: Path
) -> None:
    selection = select(store, "amd")
    with pytest.raises(StoreError, match="cannot write the export"):
        export_job(store, "amd", selection, tmp_path / "no" / "x.pftrace")
    with pytest.raises(StoreError, match="is a folder"):
        export_job(store, "amd", selection, tmp_path)
