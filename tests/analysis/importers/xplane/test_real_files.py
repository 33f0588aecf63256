"""Every real profile: what the tables say against a slow, independent reading of the file."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tracemill_analysis.importers.base import ProcessResult
from tracemill_analysis.importers.discover import discover
from tracemill_analysis.parquet import read_table
from tracemill_analysis.pipeline import import_traces
from tracemill_analysis.pipeline.convert import convert_item
from tracemill_analysis.store import LocalStore
from tracemill_schema.tables import TABLE_BY_NAME

from tests.support import kineto as k
from tests.support import nsys
from tests.support import xplane as x
from tests.support.shared import shared_path

_TF = "traces/xprof/GPU-multi-worker__34.83.195.179_6003.xplane.pb.gz"
_MI300 = (
    "traces/tracelens/mi300__jax_conv_minimal_legacy__chi-mi300x-013.ord.vultr.cpe.ice.amd.com"
    ".xplane.pb.gz"
)
_TE = "traces/tracelens/test_data_jax_te_fused_attn_categorization__934987a2fc2f.xplane.pb.gz"
_TPU = "traces/xprof/tpu_inference_2.xplane.pb.gz"
_MANGLED = "traces/xprof/tpu_inference_2.utf8-mangled.xplane.pb.gz"

_KNOWN = {
    # events, kernels, copies, calls, operators, not used, Unix time of the start
    _TF: (23_128, 1_330, 226, 1_556, 11_305, 8_711, 0),
    _MI300: (6_024, 25, 53, 78, 4_508, 1_360, 1_757_516_928_109_201_518),
    _TE: (1_992, 150, 0, 150, 1_633, 59, 1_779_266_702_889_805_563),
}
_DETAILS = re.compile(r"(grid|block):(\d+),(\d+),(\d+)")


@pytest.fixture(scope="module", params=sorted(_KNOWN), ids=["mi300", "te", "tf"])
def case(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, list[dict[str, Any]], ProcessResult, LocalStore]:
    path = shared_path(request.param)
    (result,), store = nsys.convert_all(path, tmp_path_factory.mktemp("xplane"))
    return request.param, x.events_of(path), result, store


Case = tuple[str, list[dict[str, Any]], ProcessResult, LocalStore]


def test_counts(case: Case) -> None:
    name, events, result, store = case
    read, kernels, copies, calls, operators, unused, offset = _KNOWN[name]
    tables = ("kernels", "memory_ops", "api_calls", "operators")
    got = tuple(k.arrow(store, table).num_rows for table in tables)
    assert (len(events), result.events_read) == (read, read)
    assert got == (kernels, copies, calls, operators)
    assert result.events_kept == sum(got) == read - unused
    assert k.drops(result)["not_used"] == unused
    assert result.clock_offset_ns == offset
    assert result.clock == ("unix" if offset else "monotonic")
    assert k.adds_up(result) and result.complete


def test_kernels_and_copies_event_by_event(case: Case) -> None:
    _, events, result, store = case
    offset = result.clock_offset_ns
    expected = Counter()
    for event in events:
        stream = re.match(r"Stream #(\d+)", event["line"])
        if stream is not None and event["plane"].startswith("/device:GPU:"):
            start, end = event["start_ps"] // 1000, event["end_ps"] // 1000
            device = int(event["plane"].rpartition(":")[2])
            correlation = event["stats"]["correlation_id"]
            place = (device, int(stream[1]), event["name"], start + offset, end - start)
            expected[(*place, correlation)] += 1
    columns = ("device", "stream", "name", "start_ns", "dur_ns", "correlation")
    rows = k.rows(store, "kernels") + k.rows(store, "memory_ops")
    assert Counter(tuple(row[c] for c in columns) for row in rows) == expected


def test_launch_shapes(case: Case) -> None:
    _, events, _, store = case
    expected = Counter()
    for event in events:
        details = event["stats"].get("kernel_details")
        if details is not None and event["plane"].startswith("/device:GPU:"):
            expected[tuple(int(v) for found in _DETAILS.findall(details) for v in found[1:])] += 1
    columns = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")
    rows = k.rows(store, "kernels")
    assert Counter(tuple(row[c] for c in columns) for row in rows) == expected


def test_every_run_has_its_launch(case: Case) -> None:
    _, events, result, store = case
    starts = {
        event["stats"]["correlation_id"]: event["start_ps"] // 1000 + result.clock_offset_ns
        for event in events
        if event["plane"] == "/host:CPU" and "correlation_id" in event["stats"]
    }
    rows = k.rows(store, "kernels") + k.rows(store, "memory_ops")
    assert rows
    assert all(row["launch_start_ns"] == starts[row["correlation"]] for row in rows)


def test_operators_are_the_lasting_ranges_of_the_host(case: Case) -> None:
    _, events, result, store = case
    expected = Counter()
    for event in events:
        start, end = event["start_ps"] // 1000, event["end_ps"] // 1000
        on_host = event["plane"] == "/host:CPU" and "correlation_id" not in event["stats"]
        if on_host and end > start:
            thread = event["line_id"]
            thread -= (thread >= 1 << 63) << 64
            expected[(thread, event["name"], start + result.clock_offset_ns, end - start)] += 1
    rows = k.rows(store, "operators")
    columns = ("thread", "name", "start_ns", "dur_ns")
    assert Counter(tuple(row[c] for c in columns) for row in rows) == expected


@pytest.mark.parametrize("name", sorted(_KNOWN))
def test_time_breakdown_equals_the_union_of_the_files_intervals(name: str, tmp_path: Path) -> None:
    path = shared_path(name)
    spans: dict[int, list[tuple[int, int]]] = {}
    for event in x.events_of(path):
        if event["plane"].startswith("/device:GPU:") and event["line"].startswith("Stream #"):
            span = (event["start_ps"] // 1000, event["end_ps"] // 1000)
            spans.setdefault(int(event["plane"].rpartition(":")[2]), []).append(span)
    store = LocalStore(tmp_path)
    import_traces(store, k.JOB, [path])

    rows = read_table(store, TABLE_BY_NAME["time_breakdown"], k.JOB).to_pylist()

    found = {row["device"]: row for row in rows if row["window_kind"] == "all_gpu"}
    assert sorted(found) == sorted(spans)
    for device, of_device in spans.items():
        window = max(end for _, end in of_device) - min(start for start, _ in of_device)
        got = found[device]
        assert (got["gpu_events"], got["window_ns"]) == (len(of_device), window)
        assert got["busy_ns"] == k.length(of_device)


def test_tpu_runs_are_those_of_the_line_of_operations(tmp_path: Path) -> None:
    (result,), store = nsys.convert_all(shared_path(_TPU), tmp_path)
    kernels = k.rows(store, "kernels")
    assert Counter(row["device"] for row in kernels) == {0: 1_504, 1: 1_503, 2: 1_503, 3: 1_503}
    assert {row["stream"] for row in kernels} == {3}
    assert sum(row["name"] == "all-reduce" for row in kernels) == 12
    assert (result.device_name, result.devices) == ("TPU v6 Lite", (0, 1, 2, 3))
    assert k.adds_up(result)


def test_bytes_replaced_in_transfer_are_named_as_the_cause(tmp_path: Path) -> None:
    found = discover([shared_path(_MANGLED)])
    assert not found.rejected
    outcome = convert_item(LocalStore(tmp_path), k.JOB, found.items[0])
    assert outcome.process is None and outcome.error is not None
    assert outcome.error.startswith("tpu_inference_2.utf8-mangled.xplane.pb.gz: ")
    assert "binary mode" in outcome.error
    assert list(LocalStore(tmp_path).list_objects("")) == []


def test_cut_profile_keeps_what_stands_before_the_cut(tmp_path: Path) -> None:
    data = x.read_bytes(shared_path(_MI300))
    path = tmp_path / "cut.xplane.pb"
    path.write_bytes(data[: len(data) * 2 // 3])

    (result,), store = nsys.convert_all(path, tmp_path / "store")

    assert k.arrow(store, "kernels").num_rows == 25
    assert k.arrow(store, "memory_ops").num_rows == 53
    assert 0 < k.arrow(store, "operators").num_rows < 4_508
    assert result.drops.counts["truncated"] > 0  # type: ignore[index]
    assert not result.complete and k.adds_up(result)


def test_host_name_is_not_stored(case: Case) -> None:
    _, _, _, store = case
    everything = b"".join(nsys.stored_bytes(store).values())
    assert len(everything) > 10_000
    for word in (b"vultr", b"934987a2fc2f", b"34.83.195"):
        assert word not in everything
