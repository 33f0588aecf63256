"""The timeline's answers: compared with SQL on the same profile, and bounded."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient
from tracemill_analysis import intervals as iv
from tracemill_analysis.parquet import read_table, write_rows
from tracemill_analysis.query import connect, run_query
from tracemill_analysis.store import LocalStore
from tracemill_schema import layout
from tracemill_schema.tables import TABLE_BY_NAME
from tracemill_ui.app import create_app
from tracemill_ui.timeline.encode import decode_window
from tracemill_ui.timeline.marks import MARKS_PER_PIXEL
from tracemill_ui.timeline.search import MAX_HITS, search
from tracemill_ui.timeline.source import Source

from tests.support import profiles, tables, timeline
from tests.support.aggregates import write_rows_to_store
from tests.support.perfetto import read_trace
from tests.support.timeline import JOB, MARKUP, STEPS, STREAM, THREAD
from tests.ui_app.conftest import BASE_URL, load

RANK_0_STREAM = f"0.stream.0.{STREAM}"
RANK_1_STREAM = f"1.stream.1.{STREAM}"
SPAN_NS = 319_600_000
Json = dict[str, Any]


@pytest.fixture(scope="module")
def client(timeline_store: LocalStore) -> Iterator[TestClient]:
    with TestClient(create_app(timeline_store), base_url=BASE_URL) as client:
        load(client, JOB)
        yield client


@pytest.fixture(scope="module")
def database(timeline_store: LocalStore) -> Any:
    return connect(timeline_store, JOB)


def sql(database: Any, text: str) -> list[tuple[Any, ...]]:
    return run_query(database, text)[1]


def ask(client: TestClient, what: str, status: int = 200, job: str = JOB, **query: Any) -> Json:
    answer = client.get(f"/api/profiles/{job}/timeline/{what}", params=query)
    assert answer.status_code == status, answer.text
    return dict(answer.json())


def window(client: TestClient, t0: int, t1: int, px: int, *lanes: str) -> dict[str, list[Json]]:
    """The marks of a window by lane, each as a row."""
    query = {"t0": t0, "t1": t1, "px": px, "lanes": ",".join(lanes)}
    answer = client.get(f"/api/profiles/{JOB}/timeline/window", params=query)
    assert answer.status_code == 200, answer.text
    header, columns = decode_window(answer.content)
    assert (header["t0"], header["t1"], header["px"]) == (t0, t1, px)
    found, first = {}, 0
    for lane in header["lanes"]:
        rows = range(first, first + lane["marks"])
        found[lane["key"]] = [
            {
                "bin_ns": lane["bin_ns"],
                **{name: column[row].item() for name, column in columns.items()},
                "name": header["names"][columns["name"][row]],
                "category": header["categories"][columns["category"][row]],
            }
            for row in rows
        ]
        first += lane["marks"]
    return found


def rows_of(tree: list[Json]) -> dict[str, Json]:
    found = {}
    for row in tree:
        found |= {row["id"]: row, **rows_of(row["children"])}
    return found


def test_meta_tells_tree_steps_and_levels(client: TestClient) -> None:
    meta = ask(client, "meta")
    assert meta["span_ns"] == SPAN_NS
    assert meta["levels"] == [2**20, 2**22]
    assert meta["notes"] == []
    assert (meta["partial"], meta["simulated"], meta["steps_total"]) == (False, False, STEPS)
    assert meta["steps"]["step"] == list(range(STEPS))
    # A step lasts from the first rank's start to the last one's end.
    assert meta["steps"]["start"] == [step * 40_000_000 for step in range(STEPS)]
    assert meta["steps"]["end"] == [step * 40_000_000 + 39_600_000 for step in range(STEPS)]
    rows = rows_of(meta["tree"])
    assert list(rows) == [
        "n0", "n0.gpus",
        "p0", "p0.t7", "p0.t7.annotation", "p0.t7.operator", "p0.t7.api",
        "p0.d0", "p0.d0.comm", "p0.d0.s7", "p0.d0.s20",
        "p1", "p1.t7", "p1.t7.annotation", "p1.t7.operator", "p1.t7.api",
        "p1.d1", "p1.d1.comm", "p1.d1.s7", "p1.d1.s20",
    ]  # fmt: skip
    assert rows["p1"]["label"] == "rank 1 · pid 42"
    assert rows["p1"]["lanes"] == ["1.device.1"]
    assert rows["p1"]["summary"] == ["1.annotation.7.0"]
    assert rows["p1.t7.annotation"]["lanes"] == ["1.annotation.7.0", "1.annotation.7.1"]
    assert rows["p1.d1.s7"]["lanes"] == [RANK_1_STREAM]


def test_a_near_window_has_the_events_of_the_table(client: TestClient, database: Any) -> None:
    t0, t1 = 41_000_000, 43_000_000
    marks = window(client, t0, t1, 1_000, RANK_1_STREAM)[RANK_1_STREAM]
    expected = sql(
        database,
        "SELECT start_ns, dur_ns, name, category FROM kernels WHERE process_id = 1 AND stream = 7 "
        f"AND start_ns < {t1} AND start_ns + dur_ns > {t0} ORDER BY start_ns",
    )
    assert len(expected) == 10
    found = [(m["start"], m["dur"], m["name"], m["category"]) for m in marks]
    shortened = [(*row[:2], row[2] if row[2] != MARKUP else found[at][2], row[3])
                 for at, row in enumerate(expected)]  # fmt: skip
    assert found == shortened
    long = next(m["name"] for m in marks if m["name"].startswith("<img"))
    assert len(long) == 1_000
    assert all(m["exact"] == 1 and m["count"] == 1 and m["share"] == 1 for m in marks)
    assert {m["bin_ns"] for m in marks} == {0}


@pytest.mark.parametrize(("px", "bin_ns"), [(290, 2**20), (80, 2**21), (70, 2**22)])
def test_a_far_window_conserves_events_and_busy_time(
    client: TestClient, database: Any, px: int, bin_ns: int
) -> None:
    marks = window(client, 0, SPAN_NS, px, RANK_0_STREAM, "0.device.0")
    [(kernels,)] = sql(database, "SELECT count(*) FROM kernels WHERE process_id=0 AND stream=7")
    stream = marks[RANK_0_STREAM]
    assert sum(m["count"] for m in stream) == kernels + STEPS
    assert len(stream) <= MARKS_PER_PIXEL * px + 4
    spans = sql(
        database,
        "SELECT start_ns, start_ns + dur_ns FROM kernels WHERE process_id = 0 UNION ALL "
        "SELECT start_ns, start_ns + dur_ns FROM memory_ops WHERE process_id = 0",
    )
    busy = iv.length(iv.union(*np.array(spans, np.int64).T))
    assert sum(m["share"] * m["dur"] for m in marks["0.device.0"]) == pytest.approx(busy, rel=1e-5)
    assert {m["bin_ns"] for m in stream} == {bin_ns}


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    start=st.integers(-1_000_000, SPAN_NS),
    length=st.integers(1, SPAN_NS),
    px=st.integers(1, 700),
    lane=st.sampled_from([RANK_0_STREAM, "0.api.7", "0.operator.7.0", "0.annotation.7.0"]),
)
def test_any_window_is_bounded_and_right_within_a_bin(
    client: TestClient, database: Any, start: int, length: int, px: int, lane: str
) -> None:
    marks = window(client, start, start + length, px, lane)[lane]
    assert len(marks) <= MARKS_PER_PIXEL * px + 4
    assert all(m["start"] < start + length for m in marks)
    assert [m["start"] for m in marks] == sorted(m["start"] for m in marks)
    slack = max((m["bin_ns"] for m in marks), default=0)
    low, high = start - slack, start + length + slack
    inside = _events(database, lane, start, start + length)
    near = _events(database, lane, low, high)
    assert len(inside) - _starting_before(inside, start) <= sum(m["count"] for m in marks)
    assert sum(m["count"] for m in marks) <= len(near)
    for begin, end in inside:
        assert any(
            m["start"] < max(end, begin + 1) and m["start"] + m["dur"] >= begin for m in marks
        )


def _events(database: Any, lane: str, low: int, high: int) -> list[tuple[int, int]]:
    source = {
        RANK_0_STREAM: "(SELECT * FROM (SELECT process_id, stream, start_ns, dur_ns FROM kernels "
        "UNION ALL SELECT process_id, stream, start_ns, dur_ns FROM memory_ops) WHERE stream = 7)",
        "0.api.7": "api_calls",
        "0.operator.7.0": "(SELECT * FROM operators WHERE depth = 0)",
        "0.annotation.7.0": "(SELECT * FROM annotations WHERE depth = 0)",
    }[lane]
    return sql(
        database,
        f"SELECT start_ns, start_ns + dur_ns FROM {source} WHERE process_id = 0 "
        f"AND start_ns < {high} AND start_ns + dur_ns > {low}",
    )


def _starting_before(events: list[tuple[int, int]], start: int) -> int:
    return sum(begin < start for begin, _ in events)


def test_a_node_lane_is_the_mean_of_its_gpus(client: TestClient, database: Any) -> None:
    marks = window(client, 0, SPAN_NS, 400, "n0.gpus")["n0.gpus"]
    busy = 0
    for process in (0, 1):
        spans = sql(
            database,
            f"SELECT start_ns, start_ns + dur_ns FROM kernels WHERE process_id = {process} UNION "
            f"ALL SELECT start_ns, start_ns + dur_ns FROM memory_ops WHERE process_id = {process}",
        )
        busy += iv.length(iv.union(*np.array(spans, np.int64).T))
    assert sum(m["share"] * m["dur"] for m in marks) == pytest.approx(busy / 2, rel=1e-3)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("ALLREDUCE", "name ILIKE '%allreduce%'"),
        ("gemm_128", "contains(name, 'gemm_128')"),
        ("<img src=x", "contains(name, '<img src=x')"),
        ("%", "contains(name, '%')"),
        ("mm", "contains(name, 'mm') OR contains(name, 'MM')"),
    ],
)
def test_search_finds_what_sql_finds(
    client: TestClient, database: Any, text: str, where: str
) -> None:
    found = ask(client, "search", q=text)
    tables = ("annotations", "kernels", "memory_ops", "operators", "api_calls")
    counts = {
        table: f"SELECT name, start_ns, dur_ns FROM {table} WHERE {where}" for table in tables
    }
    expected = sql(database, " UNION ALL ".join(counts.values()) + " ORDER BY start_ns")
    assert found["total"] == len(expected)
    assert found["complete"] is True
    assert found["names_total"] == len({name for name, _, _ in expected})
    assert len(found["hits"]) == min(len(expected), MAX_HITS)
    starts = [start for _, start, _ in expected][:MAX_HITS]
    assert [hit["start"] for hit in found["hits"]] == starts
    by_name = {one["name"]: one["count"] for one in found["names"]}
    if len(expected) and MARKUP not in {name for name, _, _ in expected}:
        assert by_name == {name: sum(n == name for n, _, _ in expected) for name, _, _ in expected}


def test_a_hit_leads_to_its_event(client: TestClient) -> None:
    hits = ask(client, "search", q="allreduce")["hits"]
    for hit in random.Random(0).sample(hits, 5):
        event = ask(client, "event", lane=hit["lane"], start=hit["start"], dur=hit["dur"])
        assert (event["name"], event["dur"]) == (hit["name"], hit["dur"])


def test_search_that_runs_out_of_time_says_so(timeline_store: LocalStore) -> None:
    app = create_app(timeline_store)
    with TestClient(app, base_url=BASE_URL) as client:
        load(client, JOB)
        profile = app.state.api.loaded.profile(JOB)
        source = app.state.api.timeline._of(profile)
        assert isinstance(source, Source)
        found = search(source, "gemm", time_limit_s=-1)
        assert found["complete"] is False
        assert found["total"] == 0


def test_range_statistics_agree_with_sql(client: TestClient, database: Any) -> None:
    t0, t1 = 45_000_000, 87_654_321
    found = ask(client, "range", t0=t0, t1=t1)
    inside = f"least(start_ns + dur_ns, {t1}) - greatest(start_ns, {t0})"
    parts = [
        f"SELECT name, {category} AS category, {inside} AS inside, "
        f"greatest(start_ns, {t0}) AS s, least(start_ns + dur_ns, {t1}) AS e FROM {table} "
        f"WHERE start_ns < {t1} AND (start_ns + dur_ns > {t0} OR start_ns >= {t0})"
        for table, category in (
            ("kernels", "category"),
            ("memory_ops", "'memory'"),
            ("annotations", "'host'"),
            ("api_calls", "'host'"),
            ("operators", "'host'"),
        )
    ]
    rows = sql(database, " UNION ALL ".join(parts))
    assert found["exact"] is True
    assert found["lanes"] == 12
    assert found["count"] == len(rows)
    assert found["total_ns"] == sum(row[2] for row in rows)
    assert found["busy_ns"] == _union(rows)
    for category in ("compute", "communication", "memory", "host"):
        of_category = [row for row in rows if row[1] == category]
        [one] = [one for one in found["by_category"] if one["category"] == category]
        assert one == _summed("category", category, of_category)
    names = {row[0] for row in rows}
    assert found["names_total"] == len(names)
    for one in found["by_name"]:
        assert one == _summed("name", one["name"], [row for row in rows if row[0] == one["name"]])
    totals = [one["total_ns"] for one in found["by_name"]]
    assert totals == sorted(totals, reverse=True)


def _summed(key: str, value: str, rows: list[Any]) -> Json:
    return {
        key: value,
        "count": len(rows),
        "total_ns": sum(row[2] for row in rows),
        "busy_ns": _union(rows),
        "max_ns": max(row[2] for row in rows),
    }


def _union(rows: list[Any]) -> int:
    spans = np.array([row[3:5] for row in rows], np.int64)
    return int(iv.length(iv.union(spans[:, 0], spans[:, 1])))


def test_a_range_over_chosen_lanes_leaves_the_others_out(client: TestClient, database: Any) -> None:
    found = ask(client, "range", t0=0, t1=SPAN_NS, lanes=f"{RANK_0_STREAM},0.device.0,n0.gpus")
    [(kernels,)] = sql(database, "SELECT count(*) FROM kernels WHERE process_id=0 AND stream=7")
    assert (found["lanes"], found["count"]) == (1, kernels + STEPS)


def test_an_event_has_the_fields_of_its_row_and_its_launch(
    client: TestClient, database: Any
) -> None:
    names = (
        "start_ns", "dur_ns", "launch_start_ns", "launch_dur_ns", "correlation", "category",
        "device", "stream",
    )  # fmt: skip
    query = f"SELECT {', '.join(names)} FROM kernels WHERE process_id = 1 AND correlation = 3025"
    [row] = sql(database, query)
    event = ask(client, "event", lane="1.stream.1.20", start=row[0])
    fields = {field["name"]: field for field in event["fields"]}
    assert tuple(fields[name]["value"] for name in names) == row
    assert event["table"] == "kernels"
    assert fields["launch_latency"]["value"] == row[0] - row[2]
    assert fields["dur_ns"]["unit"] == "ns"
    launch, step, phase, operator = event["connections"]
    assert (launch["relation"], launch["lane"]) == ("launched by", f"1.api.{THREAD}")
    assert (launch["start"], launch["dur"]) == (row[2], row[3])
    assert (step["relation"], step["name"]) == ("inside annotation", "ProfilerStep#3")
    assert (phase["relation"], phase["name"]) == ("inside annotation", "Forward")
    assert (operator["relation"], operator["name"]) == ("inside operator", "aten::mm")

    back = ask(client, "event", lane=launch["lane"], start=launch["start"], dur=launch["dur"])
    runs = [one for one in back["connections"] if one["relation"] == "runs on the GPU"]
    assert [(one["lane"], one["start"], one["dur"]) for one in runs] == [
        ("1.stream.1.20", row[0], row[1])
    ]


def test_a_step_is_connected_with_its_first_gpu_event(client: TestClient, database: Any) -> None:
    event = ask(client, "event", lane="0.annotation.7.0", start=80_000_000)
    [(first,)] = sql(
        database,
        "SELECT min(start_ns) FROM memory_ops WHERE process_id = 0 AND launch_start_ns >= 80000000",
    )
    [one] = [c for c in event["connections"] if c["relation"] == "first GPU event"]
    assert one["start"] == first
    assert one["name"] == "Memcpy HtoD (Pinned -> Device)"


@pytest.mark.parametrize(
    ("what", "query", "status", "error"),
    [
        ("window", {"t0": 0, "t1": 10, "lanes": "0.stream"}, 400, "'0.stream' is no lane."),
        ("window", {"t0": 0, "t1": 10, "lanes": "../../etc"}, 400, "'../../etc' is no lane."),
        ("window", {"t0": 0, "t1": 10}, 400, "Which lanes?"),
        ("window", {"t0": 10, "t1": 10, "lanes": "0.api.7"}, 400, "The window ends before"),
        ("window", {"t0": "1e3", "t1": 10, "lanes": "0.api.7"}, 400, "The time t0 is not usable."),
        ("window", {"t0": 0, "t1": 10**18, "lanes": "0.api.7"}, 400, "The time t1 is not usable."),
        ("window", {"t0": 0, "t1": 9, "px": 9_999, "lanes": "0.api.7"}, 400, None),
        ("window", {"t0": 0, "t1": 9, "lanes": "n7.gpus"}, 400, "'n7.gpus' is no lane"),
        (
            "window",
            {"t0": 0, "t1": 9, "lanes": "n0.counter.99"},
            400,
            "'n0.counter.99' is no lane",
        ),
        ("event", {"lane": "0.api.7", "start": 1}, 404, "There is no such event in this lane."),
        (
            "event",
            {"lane": "0.device.0", "start": 1},
            400,
            "This lane shows use over time, not events.",
        ),
        ("search", {"q": "  "}, 400, "Search for what?"),
        ("search", {"q": "x" * 1_001}, 400, "Search for what?"),
        ("range", {"t0": 5, "t1": 1}, 400, "The window ends before it begins."),
    ],
)  # fmt: skip
def test_wrong_questions_are_refused(
    client: TestClient, what: str, query: Json, status: int, error: str | None
) -> None:
    answer = ask(client, what, status, **query)
    assert answer["hint"]
    assert (error or "") in answer["error"]


def test_a_window_is_saved_for_perfetto(client: TestClient) -> None:
    address = f"/api/profiles/{JOB}/timeline/perfetto"
    whole = client.get(address, params={"t0": -1, "t1": SPAN_NS})
    part = client.get(address, params={"t0": 41_000_000, "t1": 43_000_000})
    assert (whole.status_code, part.status_code) == (200, 200)
    assert whole.content.count(b"ncclDevKernel") >= 1
    assert 0 < len(part.content) < len(whole.content) / 10
    assert f'filename="{JOB}.pftrace"' in part.headers["content-disposition"]
    nothing = client.get(address, params={"t0": 10**12, "t1": 10**12 + 1})
    assert nothing.status_code == 400
    assert "nothing between" in nothing.json()["error"]


def test_too_many_lanes_are_refused(client: TestClient) -> None:
    lanes = ",".join(f"0.api.{thread}" for thread in range(401))
    assert "Name 1 to 400" in ask(client, "window", 400, t0=0, t1=9, lanes=lanes)["hint"]


def test_a_lane_nobody_used_is_empty(client: TestClient) -> None:
    lanes = window(client, 0, SPAN_NS, 100, "0.api.12345", "7.stream.0.7")
    assert lanes == {"0.api.12345": [], "7.stream.0.7": []}


def test_an_unknown_profile_is_not_found(client: TestClient) -> None:
    assert "no profile" in ask(client, "meta", 404, job="gone")["error"]
    assert ask(client, "meta", 400, job="no such name!")["hint"]


def test_behind_a_proxy_answers_are_packed(client: TestClient) -> None:
    query = {"t0": 0, "t1": SPAN_NS, "px": 500, "lanes": RANK_0_STREAM}
    address = f"/api/profiles/{JOB}/timeline/window"
    direct = client.get(address, params=query)
    proxied = client.get(address, params=query, headers={"x-forwarded-prefix": "/proxy/1"})
    assert direct.headers["content-encoding"] == "identity"
    assert proxied.headers["content-encoding"] == "gzip"
    assert proxied.content == direct.content


def test_a_profile_processed_anew_is_read_anew(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "store")
    traces = tmp_path / "traces"
    timeline.write_job(store, traces)
    with TestClient(create_app(store), base_url=BASE_URL) as client:
        load(client, JOB)
        assert ask(client, "search", q="gemm")["total"] > 0
        for path in traces.iterdir():
            path.write_bytes(path.read_bytes().replace(b"gemm_128x64", b"conv_128x64"))
        store.delete_prefix("tables/")
        timeline.import_traces(store, JOB, [traces], replace=True)
        assert ask(client, "search", q="gemm")["total"] == 0
        names = {
            m["name"] for m in window(client, 0, 10_000_000, 1_000, RANK_0_STREAM)[RANK_0_STREAM]
        }
        assert "conv_128x64" in names


def test_a_profile_without_events_says_why(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    profiles.write_gpu_job(store)
    store.delete_prefix("tables/annotations/")
    with TestClient(create_app(store), base_url=BASE_URL) as client:
        load(client, "gpu-job")
        [note] = ask(client, "meta", job="gpu-job")["notes"]
        assert note.startswith("No event of this profile is stored")


def test_a_corrupt_event_file_is_named(tmp_path: Path, timeline_store: LocalStore) -> None:
    store = LocalStore(tmp_path / "store")
    timeline.write_job(store, tmp_path / "traces")
    key = layout.table_key("api_calls", JOB, layout.process_part(0))
    assert store.exists(key)
    store.write_bytes(key, b"PAR1 nothing PAR1")
    with TestClient(create_app(store), base_url=BASE_URL, raise_server_exceptions=False) as client:
        load(client, JOB)
        answer = ask(client, "window", 500, t0=0, t1=100_000, px=1_000, lanes="0.api.7")
        assert f"{key.rpartition('/')[2]} cannot be read" in answer["error"]
        assert ask(client, "meta")["span_ns"] == SPAN_NS


class Aligned:
    """The job with its second rank on a node of its own, and what its times move by.

    ``moved`` is by rank: the zero of the profile moves as well if that rank is then the first.
    """

    def __init__(self, client: TestClient, align_ns: int) -> None:
        zero = min(0, 100_000 + align_ns)
        self.client = client
        self.zero = zero
        self.align_ns = align_ns
        self.moved = (-zero, align_ns - zero)


@pytest.fixture(scope="module", params=[5_000_321, -5_000_321])
def aligned(
    request: pytest.FixtureRequest,
    timeline_store: LocalStore,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Aligned]:
    root = tmp_path_factory.mktemp("aligned") / "store"
    shutil.copytree(timeline_store.root, root)
    store = LocalStore(root)
    first, second = read_table(store, TABLE_BY_NAME["processes"], JOB).to_pylist()
    second |= {"node": "z", "alignment_ns": request.param, "alignment_residual_ns": 400}
    first |= {"alignment_ns": 0, "alignment_residual_ns": 0}
    cpu = {"resource": "cpu", "node": "z", "index": -1, "utilization": 0.5, "bin_ns": 1_000_000}
    write_rows_to_store(store, JOB, {
        "processes": [first, second],
        "utilization": [{**cpu, "bin_start_ns": at * 1_000_000} for at in range(3)],
    })  # fmt: skip
    sample = {"process_id": 1, "rank": 1, "node": "z", "metric": "m", "unit": "u", "index": -1}
    samples = [
        tables.row("samples", **sample, scope="node", time_ns=time, value=1.0)
        for time in (10, 50, 70)
    ]
    part = layout.process_part(1)
    write_rows(store, TABLE_BY_NAME["samples"], JOB, part, samples)
    with TestClient(create_app(store), base_url=BASE_URL) as client:
        load(client, JOB)
        yield Aligned(client, request.param)


def _moved(rows: list[Json], by: int) -> list[Json]:
    return [{**one, "start": one["start"] + by} for one in rows]


@pytest.mark.parametrize(
    ("t0", "t1", "px"), [(41_000_000, 43_000_000, 1_000), (0, SPAN_NS, 290), (0, SPAN_NS, 80)]
)
@pytest.mark.parametrize("rank", [0, 1])
def test_a_window_shows_nodes_on_one_clock(
    client: TestClient, aligned: Aligned, rank: int, t0: int, t1: int, px: int
) -> None:
    lanes = (f"{rank}.stream.{rank}.7", f"{rank}.annotation.7.1", f"{rank}.device.{rank}")
    by = aligned.moved[rank]
    own = window(client, t0, t1, px, *lanes)
    assert all(own.values())
    found = window(aligned.client, t0 + by, t1 + by, px, *lanes)
    assert found == {lane: _moved(marks, by) for lane, marks in own.items()}


def test_what_a_node_samples_is_on_the_same_clock(aligned: Aligned) -> None:
    by = aligned.moved[1]
    marks = window(aligned.client, by, by + 3_000_000, 1_000, "n1.cpu.-1", "n1.counter.0")
    assert [m["start"] for m in marks["n1.cpu.-1"]] == [by, by + 1_000_000, by + 2_000_000]
    counter = [(m["start"], m["dur"]) for m in marks["n1.counter.0"]]
    assert counter == [(by + 10, 40), (by + 50, 20)]


def test_meta_spans_the_aligned_nodes(aligned: Aligned) -> None:
    meta = ask(aligned.client, "meta")
    ends = [SPAN_NS - 100_000, SPAN_NS + aligned.align_ns]
    assert meta["start_ns"] == str(aligned.zero)
    assert meta["span_ns"] == max(ends) - aligned.zero
    assert meta["levels"] == [2**20, 2**22]
    assert meta["notes"] == [
        "The clocks of 2 nodes are aligned by the ends of shared collectives;"
        " 95 % of these agree within 400 ns."
    ]
    # A step begins with the first rank and ends with the last one.
    first, second = aligned.moved[0], 100_000 + aligned.moved[1]
    assert meta["steps"]["start"] == [min(first, second) + at * 40_000_000 for at in range(STEPS)]
    assert meta["steps"]["end"] == [
        max(first, second) + at * 40_000_000 + 39_500_000 for at in range(STEPS)
    ]


def test_a_hit_on_another_node_leads_to_its_event(client: TestClient, aligned: Aligned) -> None:
    own = ask(client, "search", q="allreduce")
    found = ask(aligned.client, "search", q="allreduce")
    assert found["total"] == own["total"] < MAX_HITS
    expected = [{**one, "start": one["start"] + aligned.moved[int(one["lane"][0])]}
                for one in own["hits"]]  # fmt: skip
    order = sorted(expected, key=lambda one: (one["start"], one["lane"]))
    assert found["hits"] == order
    hit = next(one for one in order if one["lane"] == "1.stream.1.20")
    before = {"lane": hit["lane"], "start": hit["start"] - aligned.moved[1], "dur": hit["dur"]}
    _assert_moved(ask(client, "event", **before), ask(aligned.client, "event", **hit), aligned)


@pytest.mark.parametrize("lane", ["1.api.7", "1.annotation.7.0"])
def test_an_event_of_another_node_is_wholly_on_the_clock(
    client: TestClient, aligned: Aligned, lane: str
) -> None:
    start = int(window(client, 80_000_000, 81_000_000, 1_000, lane)[lane][-1]["start"])
    own = ask(client, "event", lane=lane, start=start)
    found = ask(aligned.client, "event", lane=lane, start=start + aligned.moved[1])
    assert own["connections"]
    _assert_moved(own, found, aligned)


def _assert_moved(own: Json, found: Json, aligned: Aligned) -> None:
    by = aligned.moved[1]
    assert (found["name"], found["dur"]) == (own["name"], own["dur"])
    assert found["connections"] == _moved(own["connections"], by)
    times = {field["name"] for field in own["fields"] if field["unit"] == "time"}
    assert len(times) == 2
    assert found["fields"] == [
        {**field, "value": field["value"] + by} if field["name"] in times else field
        for field in own["fields"]
    ]


def test_a_range_counts_nodes_on_one_clock(client: TestClient, aligned: Aligned) -> None:
    by, lanes = aligned.moved[1], f"{RANK_1_STREAM},1.api.7,1.annotation.7.0"
    own = ask(client, "range", t0=45_000_000, t1=87_654_321, lanes=lanes)
    found = ask(aligned.client, "range", t0=45_000_000 + by, t1=87_654_321 + by, lanes=lanes)
    assert own["count"] > 0
    assert found == {**own, "start": own["start"] + by}


def test_perfetto_gets_the_window_of_each_node_in_its_own_times(
    aligned: Aligned, database: Any, tmp_path: Path
) -> None:
    t0, t1 = 81_000_000, 83_000_000
    answer = aligned.client.get(
        f"/api/profiles/{JOB}/timeline/perfetto", params={"t0": t0, "t1": t1}
    )
    assert answer.status_code == 200, answer.text
    path = tmp_path / "window.pftrace"
    path.write_bytes(answer.content)
    found = sorted(s.start_ns for s in read_trace(path).slices if s.name == "aten::mm")
    low, high = zip(*((t0 - by, t1 - by) for by in aligned.moved), strict=True)
    expected = sql(
        database,
        "SELECT start_ns FROM operators WHERE name = 'aten::mm' AND ("
        + " OR ".join(
            f"process_id = {rank} AND start_ns < {high[rank]} AND start_ns + dur_ns > {low[rank]}"
            for rank in (0, 1)
        )
        + ") ORDER BY start_ns",
    )
    assert found == [start for (start,) in expected]


def test_nodes_that_cannot_be_compared_are_named(
    tmp_path: Path, timeline_store: LocalStore
) -> None:
    shutil.copytree(timeline_store.root, tmp_path / "store")
    store = LocalStore(tmp_path / "store")
    first, second = read_table(store, TABLE_BY_NAME["processes"], JOB).to_pylist()
    write_rows_to_store(store, JOB, {"processes": [first, {**second, "node": "z"}]})
    with TestClient(create_app(store), base_url=BASE_URL) as client:
        load(client, JOB)
        meta = ask(client, "meta")
        assert (meta["span_ns"], meta["start_ns"]) == (SPAN_NS, "0")
        [note] = meta["notes"]
        assert note.startswith("The clocks of 2 of 2 nodes could not be compared")
