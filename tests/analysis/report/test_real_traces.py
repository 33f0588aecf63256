"""Findings and reports of real traces: the input-bound pair, eight ranks, NCCL on an A100."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tracemill_analysis.findings import Finding, JobTables, evaluate
from tracemill_analysis.pipeline import import_traces
from tracemill_analysis.store import LocalStore
from tracemill_schema import layout

from tests.support.shared import shared_path

PAIR = "traces/kineto-tb_plugin/samples__resnet50_num_workers_{}.pt.trace.json.gz"
NO_WORKERS = PAIR.format("0__worker0.1623143089861")
FOUR_WORKERS = PAIR.format("4__worker0.1623212756351")


def _imported(folder: Path, trace: str) -> tuple[LocalStore, list[Finding]]:
    store = LocalStore(folder)
    import_traces(store, "job", [shared_path(trace)])
    return store, evaluate(JobTables(store, "job"))


def test_resnet_without_loader_workers_is_input_bound(tmp_path: Path) -> None:
    store, findings = _imported(tmp_path, NO_WORKERS)
    first = findings[0]
    assert (first.rule, first.severity) == ("input_bound", "high")
    # DataLoader ranges of steps 6 to 10: 68,777 + 73,418 + 71,425 + 70,844 + 62,633 µs.
    assert first.evidence[0]["waited_ns"] == 347_097_000
    assert first.at_stake_ns == 347_097_000
    model = json.loads(store.read_bytes(layout.report_key("job", "json")))
    assert model["verdict"][1].startswith("Most costly: The job waits for input 40 % of the time")


def test_resnet_with_four_loader_workers_is_not(tmp_path: Path) -> None:
    _, findings = _imported(tmp_path, FOUR_WORKERS)
    assert not [f for f in findings if f.rule in ("input_bound", "slow_input")]
    assert findings[0].rule == "low_tensor_core_share"  # FP32 on a V100


def test_eight_ranks_of_dlrm_wait_and_communicate(tmp_path: Path) -> None:
    store, findings = _imported(tmp_path, "traces/param/dlrm_8rank")
    found = {f.rule: f for f in findings if f.counts}
    assert list(found)[:2] == ["launch_bound", "exposed_communication"]
    rows = JobTables(store, "job").gpu_windows
    exposed = sum(row["exposed_comm_ns"] for row in rows)
    idle = sum(row["idle_ns"] for row in rows)
    assert len(rows) == 8
    assert found["exposed_communication"].gpu_hours <= exposed / 3.6e12
    idle_hours = sum(found[rule].gpu_hours for rule in ("launch_bound", "small_kernels"))
    assert idle_hours <= idle / 3.6e12
    for fmt in layout.REPORT_FORMATS:
        assert store.exists(layout.report_key("job", fmt))


@pytest.mark.parametrize(
    "trace",
    [
        "traces/hta/nccl_parser_config__nccl_data.json.gz",
        "traces/hta/amd_trace__mi250_minitoy_train_ROCm6_2_kineto.json.gz",
        "traces/hta/rank_non_gpu__rank_non_gpu.json.gz",
    ],
)
def test_claims_fit_into_the_recording(tmp_path: Path, trace: str) -> None:
    store, findings = _imported(tmp_path, trace)
    tables = JobTables(store, "job")
    recorded = sum(row["end_ns"] - row["start_ns"] for row in tables.rows("processes"))
    assert sum(f.at_stake_ns for f in findings) <= recorded
