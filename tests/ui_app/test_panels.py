"""Values of every panel, computed by hand from the hand-made profile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tracemill_analysis.parquet import read_table
from tracemill_analysis.store import LocalStore
from tracemill_schema.vocab import ProcessingState
from tracemill_ui.jobs import JobEntry
from tracemill_ui.loaded import LOADED_TABLES, Profile
from tracemill_ui.panels.dashboard import panel_order
from tracemill_ui.panels.model import Context
from tracemill_ui.panels.operators import operators
from tracemill_ui.panels.steps import step_series
from tracemill_ui.panels.utilization import gpu_utilization

from tests.support.aggregates import write_rows_to_store
from tests.support.profiles import KERNEL_MS, MS, SECOND, SLOW_NS, START_NS, STEPS
from tests.ui_app.conftest import load, panels

GPUS = 4


@pytest.fixture(autouse=True)
def _loaded(client: TestClient) -> None:
    load(client, "gpu-job")
    load(client, "cpu-job")


def parts(panel: dict[str, Any]) -> dict[str, int]:
    return {part["label"]: part["value"] for part in panel.get("parts") or panel["rows"]}


def stats(panel: dict[str, Any]) -> dict[str, Any]:
    return {stat["label"]: stat["value"] for stat in panel["stats"]}


def test_every_panel_states_what_it_shows(client: TestClient) -> None:
    for job in ("gpu-job", "cpu-job"):
        for panel in panels(client, job).values():
            assert panel["title"]
            assert panel["help"].endswith(".")
            assert panel["window"].endswith(".")
            assert panel["unit"] or panel["id"] == "host_metrics"
            assert panel["kind"] != "empty"


def test_gpu_active_time(client: TestClient) -> None:
    panel = panels(client, "gpu-job")["gpu_active"]
    assert parts(panel) == {"Active": 20 * SECOND, "Idle": 12 * SECOND}
    assert panel["total"] == 32 * SECOND
    assert stats(panel) == {"GPUs": 4, "Time bins above 0 %": 0.9}


def test_gpu_utilisation_is_the_mean_of_a_nodes_gpus(client: TestClient) -> None:
    panel = panels(client, "gpu-job")["gpu_utilization"]
    one, two = panel["series"]
    assert (one["name"], two["name"]) == ("algo-1", "algo-2")
    assert one["x"][:3] == [0, 100 * MS, 200 * MS]
    assert one["y"][:2] == pytest.approx([0.0, 0.3])
    assert two["y"][1] == pytest.approx(0.7)
    assert one["mean"] == pytest.approx(0.27)
    assert len(one["x"]) == 100


def test_cpu_active_time_and_utilisation(client: TestClient) -> None:
    found = panels(client, "gpu-job")
    assert parts(found["cpu_active"]) == {"Active": 7_500 * MS, "Idle": 12_500 * MS}
    lines = found["cpu_utilization"]["series"]
    assert [line["mean"] for line in lines] == pytest.approx([0.25, 0.5])


def test_time_by_all_kernels_keeps_k_and_sums_the_others(client: TestClient) -> None:
    panel = panels(client, "gpu-job", "?k=2&only=kernel_time_all")["kernel_time_all"]
    names = list(parts(panel))
    assert names[0].startswith("sm80_xmma_gemm")
    assert names[2] == "18 other kernels"
    assert list(parts(panel).values()) == [
        2_000 * MS * GPUS,
        1_500 * MS * GPUS,
        (KERNEL_MS - 3_500) * MS * GPUS,
    ]
    assert panel["total"] == KERNEL_MS * MS * GPUS
    assert sum(part["share"] for part in panel["parts"]) == pytest.approx(1)


def test_top_fifteen_kernels_have_shares_of_all(client: TestClient) -> None:
    panel = panels(client, "gpu-job")["kernel_time_top"]
    assert len(panel["rows"]) == 15
    assert panel["rows"][0]["share"] == pytest.approx(2_000 / KERNEL_MS)
    assert sum(row["share"] for row in panel["rows"]) < 1


def test_launch_counts(client: TestClient) -> None:
    found = panels(client, "gpu-job", "?k=1")
    assert list(parts(found["launches_all"]).values()) == [16_000, 26_400 - 16_000]
    top = parts(found["launches_top"])
    assert len(top) == 15
    assert top["ncclDevKernel_AllReduce_Sum_bf16_RING_LL"] == 800


def test_step_times(client: TestClient) -> None:
    panel = panels(client, "gpu-job")["step_histogram"]
    assert sum(panel["counts"]) == 4 * STEPS
    assert panel["counts"][0] == 4 * STEPS - 1
    assert panel["counts"][-1] == 1
    assert panel["edges"][0] == 200 * MS
    assert panel["edges"][-1] > SLOW_NS
    assert stats(panel) == {
        "Steps": 160,
        "Median": 200 * MS,
        "95 %": 200 * MS,
        "Slowest: step 23, rank 3": 900 * MS,
    }
    series = panels(client, "gpu-job")["step_series"]["series"]
    assert [line["name"] for line in series] == ["rank 0", "rank 1", "rank 2", "rank 3"]
    assert series[3]["x"] == list(range(40))
    assert series[3]["y"][23] == SLOW_NS


def test_step_time_on_the_gpu(client: TestClient) -> None:
    panel = panels(client, "gpu-job", "?step_time=gpu")["step_histogram"]
    assert stats(panel)["Median"] == 190 * MS
    assert "GPU events" in panel["window"]


def test_time_before_a_step(client: TestClient) -> None:
    found = panels(client, "gpu-job", "?step_time=gap")
    # The first step of a rank has no step before it.
    assert stats(found["step_histogram"])["Steps"] == 4 * (STEPS - 1)
    assert found["step_series"]["series"][0]["x"] == list(range(1, STEPS))
    assert "the step before" in found["step_histogram"]["window"]


def test_a_range_of_steps_restricts_steps_and_time(client: TestClient) -> None:
    found = panels(client, "gpu-job", "?steps=0-4")
    assert stats(found["step_histogram"])["Steps"] == 20
    # Steps 0 to 4 last from 1 s to 2 s: the bins that touch this second.
    assert found["gpu_utilization"]["series"][0]["x"] == [SECOND + n * 100 * MS for n in range(10)]
    assert parts(found["gpu_active"])["Active"] == 20 * SECOND
    assert "does not apply" in found["gpu_active"]["window"]
    assert found["step_histogram"]["window"].startswith("Steps 0 to 4")


def test_precision(client: TestClient) -> None:
    panel = panels(client, "gpu-job")["precision"]
    assert parts(panel) == {"FP32": 2_800 * MS, "BF16": 11_600 * MS}
    assert stats(panel) == {"In tensor-core kernels": pytest.approx(2_000 / 3_600)}


def test_gpu_activity_is_against_the_window(client: TestClient) -> None:
    panel = panels(client, "gpu-job")["gpu_activity"]
    assert parts(panel) == {
        "kernel": 18_400 * MS,
        "memcpy": 1_560 * MS,
        "memset": 40 * MS,
        "idle": 12_000 * MS,
    }
    assert panel["rows"][0]["share"] == pytest.approx(4_600 / 8_000)


def test_memory_operations(client: TestClient) -> None:
    panel = panels(client, "gpu-job")["memory_ops"]
    assert parts(panel) == {"HtoD": 1_200 * MS, "DtoH": 360 * MS, "memset": 40 * MS}
    assert stats(panel) == {
        "Operations": 280 * GPUS,
        "Bytes of known size": GPUS * ((4 << 30) + (1 << 20)),
    }


def test_time_breakdown_is_an_exact_partition(client: TestClient) -> None:
    panel = panels(client, "gpu-job")["time_breakdown"]
    assert [row["label"] for row in panel["rows"]] == [
        "rank 0 · GPU 0",
        "rank 1 · GPU 1",
        "rank 2 · GPU 0",
        "rank 3 · GPU 1",
    ]
    for row in panel["rows"]:
        assert row["values"] == [3_100 * MS, 500 * MS, 1_000 * MS, 400 * MS, 3_000 * MS]
        assert sum(row["values"]) == row["total"] == 8 * SECOND


def test_time_breakdown_of_another_window(client: TestClient) -> None:
    linked = panels(client, "gpu-job", "?window=linked")["time_breakdown"]
    assert len(linked["rows"]) == 4
    assert "events with a launch" in linked["window"]
    steps = panels(client, "gpu-job", "?window=steps")["time_breakdown"]
    assert "No GPU has a window" in steps["empty"]


def test_tables(client: TestClient) -> None:
    found = panels(client, "gpu-job")
    latency = found["launch_latency"]["rows"]
    assert [row["p50_ns"] for row in latency] == [42_000] * 4
    (collective,) = found["collectives"]["rows"]
    assert collective == {
        "operation": "all_reduce",
        "count": 800,
        "total_ns": 6 * SECOND,
        "min_ns": 3_750_000,
        "mean_ns": 7_500_000,
        "max_ns": 22_500_000,
        "bytes": 800 << 20,
    }
    annotations = {row["series"]: row for row in found["annotation_table"]["rows"]}
    assert list(annotations) == ["step", "Backward", "Forward"]
    assert annotations["step"]["total_ns"] == 160 * 200 * MS
    assert annotations["step"]["slowest"] == "step 23, rank 0"
    metrics = found["host_metrics"]["rows"]
    assert metrics[0]["mean"] == 0.45
    assert metrics[0]["unit"] == "0..1"
    assert [row["metric_label"] for row in metrics[:3]] == [
        "CPU utilization",
        "memory used",
        "net receive",
    ]


def test_percentiles_of_annotations_stand_only_where_they_are_exact(client: TestClient) -> None:
    def keys(query: str) -> list[str]:
        columns = panels(client, "gpu-job", query)["annotation_table"]["columns"]
        return [column["key"] for column in columns]

    assert "p95_ns" not in keys("")
    assert "p95_ns" in keys("?rank=1")


@pytest.mark.parametrize(
    ("query", "gpus"),
    [("?node=algo-1", 2), ("?rank=0,3", 2), ("?device=1", 2), ("?node=algo-2&device=0", 1)],
)
def test_filters(client: TestClient, query: str, gpus: int) -> None:
    found = panels(client, "gpu-job", query)
    assert stats(found["gpu_active"])["GPUs"] == gpus
    assert found["gpu_active"]["total"] == gpus * 8 * SECOND
    assert found["kernel_time_all"]["total"] == gpus * KERNEL_MS * MS
    assert len(found["time_breakdown"]["rows"]) == gpus


def test_a_rank_filter_keeps_the_cpu_of_the_nodes(client: TestClient) -> None:
    assert len(panels(client, "gpu-job", "?rank=0")["cpu_utilization"]["series"]) == 2
    assert len(panels(client, "gpu-job", "?node=algo-2")["cpu_utilization"]["series"]) == 1


def test_a_filter_that_matches_nothing_says_so(client: TestClient) -> None:
    found = panels(client, "gpu-job", "?rank=99")
    assert "empty" in found["kernel_time_all"]
    assert "empty" in found["gpu_utilization"]


@pytest.mark.parametrize(
    "query",
    ["rank=x", "rank=-1", "rank=99999999999", "steps=5-1", "steps=a", "k=0", "k=51", "k=x",
     "window=no", "step_time=no"],
)  # fmt: skip
def test_a_bad_parameter_is_refused(client: TestClient, query: str) -> None:
    answer = client.get(f"/api/profiles/gpu-job/dashboard?{query}")
    assert answer.status_code == 400
    assert answer.json()["hint"]


def test_only_the_named_panels(client: TestClient) -> None:
    assert list(panels(client, "gpu-job", "?only=precision,memory_ops")) == [
        "precision",
        "memory_ops",
    ]
    assert client.get("/api/profiles/gpu-job/dashboard?only=nothing").status_code == 404


def test_head_of_the_dashboard(client: TestClient) -> None:
    data = client.get("/api/profiles/gpu-job/dashboard").json()
    assert data["job"]["verdict"].startswith("37.5 %")
    assert data["notes"] == []
    assert data["choices"] == {
        "nodes": ["algo-1", "algo-2"],
        "ranks": [0, 1, 2, 3],
        "devices": [0, 1],
    }
    assert data["findings"]["total"] == 2
    assert data["findings"]["abstained"] == 1
    assert [one["severity"] for one in data["findings"]["top"]] == ["high", "medium"]
    assert data["series"] == ["step", "Backward", "Forward"]


def test_a_cpu_profile_shows_the_host_first_and_says_once_that_no_gpu_ran(
    client: TestClient,
) -> None:
    data = client.get("/api/profiles/cpu-job/dashboard").json()
    assert data["notes"] == ["No GPU activity was recorded, so panels about GPUs are not shown."]
    assert [panel["id"] for panel in data["panels"]] == [
        "cpu_active",
        "cpu_utilization",
        "step_histogram",
        "step_series",
        "annotation_table",
        "host_metrics",
    ]
    (option,) = data["panels"][2]["options"]
    assert [one["value"] for one in option["choices"]] == ["host", "gap"]


def test_info(client: TestClient) -> None:
    info = client.get("/api/profiles/gpu-job/info").json()
    assert [row["process_id"] for row in info["processes"]] == [0, 1, 2, 3]
    assert info["processes"][0]["clock_spread_ns"] == 180
    assert info["drops_total"] == 1
    assert info["drops"][0]["reason"] == "ring_full"
    assert info["about"]["steps"] == "distinct training steps seen"


def test_reports(client: TestClient) -> None:
    assert client.get("/api/profiles/gpu-job/reports").json() == {
        "formats": ["html", "json", "txt"]
    }
    assert client.get("/api/profiles/cpu-job/reports").json() == {"formats": []}
    assert client.get("/api/profiles/gpu-job/report?format=txt").text == "Report\n"
    saved = client.get("/api/profiles/gpu-job/report?format=txt&download=1")
    assert saved.headers["content-disposition"] == 'attachment; filename="gpu-job-report.txt"'
    assert client.get("/api/profiles/cpu-job/report").status_code == 404
    assert client.get("/api/profiles/gpu-job/report?format=exe").status_code == 400


def test_many_nodes_and_ranks_are_bounded(store: LocalStore) -> None:
    """20 nodes, one GPU and rank each: GPU n is busy n percent, its one step takes n ms."""
    where = [{"node": f"n{n:02d}", "process_id": n, "rank": n} for n in range(20)]
    bins = [
        {**one, "resource": "gpu", "index": 0, "bin_start_ns": START_NS, "bin_ns": 100 * MS,
         "busy_ns": one["rank"] * MS, "utilization": one["rank"] / 100}
        for one in where
    ]  # fmt: skip
    steps = [{**one, "step": 7, "dur_ns": one["rank"] * MS} for one in where]
    write_rows_to_store(store, "wide", {"utilization": bins, "step_summary": steps})
    entry = JobEntry("wide", ProcessingState.PROCESSED, (0, 0), None, {"start_ns": START_NS})
    tables = {table.name: read_table(store, table, "wide") for table in LOADED_TABLES}
    context = Context(Profile(entry, tables))

    lines = gpu_utilization(context)["series"]
    assert [line["name"] for line in lines] == [
        "mean of all nodes",
        *(f"n{n:02d}" for n in range(12)),
    ]
    assert lines[0]["mean"] == pytest.approx(0.095)
    assert [line["y"] for line in lines[1:]] == [[pytest.approx(n / 100)] for n in range(12)]

    assert step_series(context)["series"] == [
        {"name": "slowest rank", "x": [7], "y": [19 * MS]},
        {"name": "median rank", "x": [7], "y": [9 * MS]},
    ]


def test_long_series_are_thinned_without_losing_the_slowest_step(store: LocalStore) -> None:
    steps = [
        {"process_id": 0, "rank": 0, "step": n, "occurrence": n,
         "dur_ns": 900 if n == 4_321 else n % 7}
        for n in range(10_000)
    ]  # fmt: skip
    bins = [
        {"node": "n", "process_id": 0, "rank": 0, "resource": "gpu", "bin_start_ns": n * 10,
         "bin_ns": 10, "utilization": 1.0 if n < 600 else 0.0}
        for n in range(1_200)
    ]  # fmt: skip
    write_rows_to_store(store, "long", {"utilization": bins, "step_summary": steps})
    entry = JobEntry("long", ProcessingState.PROCESSED, (0, 0), None, {"start_ns": 0})
    tables = {table.name: read_table(store, table, "long") for table in LOADED_TABLES}
    context = Context(Profile(entry, tables))

    (steps_line,) = step_series(context)["series"]
    assert len(steps_line["x"]) == 2_000
    assert max(steps_line["y"]) == 900
    (line,) = gpu_utilization(context)["series"]
    assert len(line["x"]) == 400
    assert line["x"][:3] == [0, 30, 60]
    assert line["y"] == [1.0] * 200 + [0.0] * 200
    assert line["mean"] == 0.5


def test_repeated_step_numbers_are_shown_in_order(store: LocalStore) -> None:
    steps = [
        {"process_id": 0, "rank": 0, "step": n % 3, "occurrence": n, "dur_ns": n} for n in range(6)
    ]
    write_rows_to_store(store, "again", {"step_summary": steps})
    entry = JobEntry("again", ProcessingState.PROCESSED, (0, 0), None, {})
    tables = {table.name: read_table(store, table, "again") for table in LOADED_TABLES}
    panel = step_series(Context(Profile(entry, tables)))
    assert panel["series"][0]["x"] == [0, 1, 2, 3, 4, 5]
    assert "Step numbers repeat" in panel["window"]


def test_idle_causes_add_up_to_each_gpus_idle_time(client: TestClient) -> None:
    panel = panels(client, "gpu-job")["idle_causes"]
    assert [row["label"] for row in panel["rows"]] == [f"rank {n} · GPU {n % 2}" for n in range(4)]
    for row in panel["rows"]:
        values = dict(zip((part["key"] for part in panel["parts"]), row["values"], strict=True))
        assert {key: value for key, value in values.items() if value} == {
            "input_wait": 2 * SECOND,
            "other": SECOND,
        }
        assert row["total"] == 3 * SECOND
    one = panels(client, "gpu-job", "?rank=2&only=idle_causes")["idle_causes"]
    assert len(one["rows"]) == 1


def test_the_straggler_stands_first(client: TestClient) -> None:
    panel = panels(client, "gpu-job")["stragglers"]
    assert stats(panel) == {"Most waited for": "rank 3"}
    assert panel["rows"][0]["last"] == 140
    assert panel["rows"][0]["share"] == 0.7
    assert panel["rows"][0]["last_wait_ns"] == SECOND


def test_the_queue_is_summed_over_streams_and_zero_where_nothing_waits(client: TestClient) -> None:
    panel = panels(client, "gpu-job")["queue_depth"]
    assert stats(panel) == {"Deepest": 9}
    assert len(panel["series"]) == 4
    assert panel["series"][0]["x"] == [0, 100 * MS, 200 * MS]
    assert panel["series"][0]["y"] == [3.0, 0.0, 3.0]


def test_operators_sum_over_ranks_and_show_what_was_recorded(tmp_path: Path) -> None:
    def entry(rank: int, name: str, self_ns: int, **values: Any) -> dict[str, Any]:
        return {"process_id": rank, "rank": rank, "category": "cpu_op", "name": name,
                "self_ns": self_ns, "total_ns": 2 * self_ns, "count": 3, **values}  # fmt: skip

    launched = {"self_kernels": 1, "kernels": 2, "self_gpu_ns": 5, "gpu_ns": 11}
    rows = [
        entry(0, "aten::mm", 10, **launched, launches=2, launch_delay_ns=50),
        entry(1, "aten::mm", 20, **launched, launches=3, launch_delay_ns=75),
        entry(0, "aten::t", 70),
        entry(1, "aten::mm", 4, module="net"),
    ]
    store = LocalStore(tmp_path)
    write_rows_to_store(store, "ops", {"operator_summary": rows})
    tables = {table.name: read_table(store, table, "ops") for table in LOADED_TABLES}
    context = Context(Profile(JobEntry("ops", ProcessingState.PROCESSED, (0, 0), None, {}), tables))
    panel = operators(context)
    assert panel["window"] == "All operators of 2 processes, on all threads."
    assert [column["label"] for column in panel["columns"]] == [
        "Operator", "Module", "Runs", "Self", "Total",
        "Own kernels", "Own GPU time", "GPU time within", "Launch delay",
    ]  # fmt: skip
    assert [tuple(row.values()) for row in panel["rows"]] == [
        ("aten::t", None, 3, 70, 140, 0, 0, 0, None),
        ("aten::mm", None, 6, 30, 60, 2, 10, 22, 25.0),
        ("aten::mm", "net", 3, 4, 8, 0, 0, 0, None),
    ]
    shown = [maker.__name__ for maker in panel_order(context, False, False)]
    assert shown == ["step_histogram", "step_series", "operators", "annotation_table"]
