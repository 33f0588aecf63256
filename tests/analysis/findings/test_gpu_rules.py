"""Rules about GPUs: communication, idle time, copies, kernels."""

from __future__ import annotations

from pathlib import Path

from tracemill_analysis.findings import Finding, JobTables, evaluate
from tracemill_schema.vocab import Severity

from tests.support.aggregates import (
    MS,
    US,
    distribution,
    gpu_window,
    job_with,
    processes,
    steps,
    titles,
)
from tests.support.tables import JOB, Row

NEED_GPU = {
    "exposed_communication",
    "gpu_idle_edges",
    "launch_bound",
    "low_tensor_core_share",
    "pageable_copies",
    "small_kernels",
}


def _evaluate(folder: Path, **tables: list[Row]) -> list[Finding]:
    tables.setdefault("processes", processes(end_ns=1000 * MS))
    return evaluate(JobTables(job_with(folder, **tables), JOB))


def _one(findings: list[Finding], rule: str) -> Finding:
    found = [f for f in findings if f.rule == rule]
    assert len(found) == 1, found
    return found[0]


def _where(process_id: int = 0) -> Row:
    return {"process_id": process_id, "rank": process_id, "node": "n0", "device": 0}


def _kernel(name: str, count: int, each_ns: int, **values: object) -> Row:
    return {
        **_where(),
        "name": name,
        "category": "compute",
        "precision": "FP32",
        **distribution(count, each_ns),
        **values,
    }


def test_without_gpu_events_the_rules_abstain(tmp_path: Path) -> None:
    findings = _evaluate(tmp_path, step_summary=steps([50 * MS] * 10))
    assert {f.rule for f in findings if f.title == "GPU events are needed"} == NEED_GPU


def test_exposed_communication(tmp_path: Path) -> None:
    rows = [
        gpu_window(600 * MS, 200 * MS, 0, 200 * MS, overlap=100 * MS, process_id=p) for p in (0, 1)
    ]
    found = _one(
        _evaluate(tmp_path, time_breakdown=rows, processes=processes(2, end_ns=1000 * MS)),
        "exposed_communication",
    )
    assert found.title == (
        "Communication without computation takes 20 % of GPU time: 400 ms of 2.00 s, sum over 2 "
        "GPUs; 33 % of all communication is overlapped"
    )
    assert found.at_stake_ns == 200 * MS
    assert found.gpu_hours == 2 * 200 * MS / 3.6e12
    assert found.severity is Severity.HIGH


def test_little_communication_is_no_finding(tmp_path: Path) -> None:
    rows = [gpu_window(951 * MS, 49 * MS)]
    assert titles(_evaluate(tmp_path, time_breakdown=rows), "exposed_communication") == []


def test_a_rank_with_more_to_compute(tmp_path: Path) -> None:
    rows = [
        gpu_window(600 * MS, 300 * MS, 0, 100 * MS, process_id=0),
        gpu_window(900 * MS, 0, 0, 100 * MS, process_id=1),
    ]
    findings = _evaluate(tmp_path, time_breakdown=rows, processes=processes(2, end_ns=1000 * MS))
    found = _one(findings, "rank_imbalance")
    assert found.title == (
        "Rank 1 computes 900 ms, 20 % more than the mean of 750 ms; the others wait for it in "
        "collectives"
    )
    assert found.at_stake_ns == 300 * MS
    # All of rank 0's exposed communication is that wait: nothing is left for the other rule.
    assert titles(findings, "exposed_communication") == []


def test_pageable_copies(tmp_path: Path) -> None:
    def copy(src: str | None, dst: str | None, busy: int) -> Row:
        return {
            **_where(), "kind": "HtoD", "src_kind": src, "dst_kind": dst, "count": 12,
            "bytes": 1 << 20, "sized": 12, "total_ns": busy, "busy_ns": busy,
        }  # fmt: skip

    window = gpu_window(800 * MS, 0, 20 * MS, 180 * MS)
    found = _one(
        _evaluate(
            tmp_path,
            time_breakdown=[window],
            memory_op_summary=[
                copy("pageable", "device", 12 * MS),
                copy("pinned", "device", 8 * MS),
            ],
        ),
        "pageable_copies",
    )
    assert found.title == (
        "12 copies to or from pageable host memory take 12.0 ms, 1.00 MiB; 1.2 % of GPU time does "
        "nothing else"
    )
    assert found.at_stake_ns == 12 * MS
    unknown = _evaluate(
        tmp_path / "unknown",
        time_breakdown=[window],
        memory_op_summary=[copy(None, None, 12 * MS)],
    )
    assert _one(unknown, "pageable_copies").abstained


def _launches(p50_ns: int) -> Row:
    return {**_where(), "launches": 100, "p50_ns": p50_ns}


def test_launch_bound(tmp_path: Path) -> None:
    found = _one(
        _evaluate(
            tmp_path, time_breakdown=[gpu_window(600 * MS, idle=400 * MS)],
            launch_latency=[_launches(9 * US)],
        ),
        "launch_bound",
    )  # fmt: skip
    assert found.title == (
        "GPUs are idle 40 % of their time and wait for launches: half of the runs begin within "
        "9.00 µs of their launch call, so hardly anything queues; 40 % no other finding explains"
    )
    assert found.at_stake_ns == 400 * MS


def test_idle_time_with_full_queues_is_not_called_launch_bound(tmp_path: Path) -> None:
    found = _one(
        _evaluate(
            tmp_path, time_breakdown=[gpu_window(600 * MS, idle=400 * MS)],
            launch_latency=[_launches(900 * US)],
        ),
        "launch_bound",
    )  # fmt: skip
    assert "although launches queue ahead (median 900 µs from launch to run)" in found.title
    assert found.confidence == 0.4


def test_launch_bound_abstains_without_linked_launches(tmp_path: Path) -> None:
    findings = _evaluate(tmp_path, time_breakdown=[gpu_window(600 * MS, idle=400 * MS)])
    assert _one(findings, "launch_bound").abstained
    assert _one(findings, "small_kernels").abstained


def test_small_kernels_and_what_is_left_for_launch_bound(tmp_path: Path) -> None:
    launches = {**_where(), "name": "tiny", **distribution(10_000, 6 * US)}
    findings = _evaluate(
        tmp_path,
        time_breakdown=[gpu_window(600 * MS, idle=400 * MS)],
        kernel_summary=[_kernel("tiny", 10_000, 3 * US), _kernel("big", 100, 5 * MS)],
        launch_summary=[launches],
        launch_latency=[_launches(9 * US)],
    )
    small = _one(findings, "small_kernels")
    assert small.title == (
        "10,000 of 10,100 kernel runs (99.0 %) are of kernels with a median of 10 µs or less: "
        "30.0 ms on the GPU, 60.0 ms of host time to launch them"
    )
    assert small.at_stake_ns == 60 * MS
    assert _one(findings, "launch_bound").at_stake_ns == 340 * MS


def test_a_launch_that_loads_a_module_is_not_held_against_small_kernels(tmp_path: Path) -> None:
    launches = {**_where(), "name": "tiny", **distribution(1000, 6 * US, longest_ns=900 * MS)}
    findings = _evaluate(
        tmp_path,
        time_breakdown=[gpu_window(3 * MS, idle=997 * MS)],
        kernel_summary=[_kernel("tiny", 1000, 3 * US)],
        launch_summary=[launches],
    )
    assert titles(findings, "small_kernels") == []  # 6 ms of 1 s


def test_tensor_cores_unused(tmp_path: Path) -> None:
    tables = {
        "time_breakdown": [gpu_window(900 * MS, idle=100 * MS)],
        "kernel_summary": [
            _kernel("volta_sgemm_128x64_nn", 100, 6 * MS),
            _kernel("volta_fp16_s884gemm_fp16_128x64", 100, 1 * MS, precision="FP16"),
            _kernel("elementwise", 100, 2 * MS),
        ],
    }
    v100 = processes(device_name="Tesla V100-SXM2-32GB", end_ns=1000 * MS)
    found = _one(_evaluate(tmp_path / "v100", processes=v100, **tables), "low_tensor_core_share")
    assert found.title == (
        "Matrix and convolution kernels without tensor cores, mostly FP32, take 67 % of compute "
        "kernel time: 600 ms on Tesla V100-SXM2-32GB"
    )
    assert found.at_stake_ns == 300 * MS
    p100 = processes(device_name="Tesla P100-PCIE-16GB", end_ns=1000 * MS)
    assert titles(_evaluate(tmp_path / "p100", processes=p100, **tables), found.rule) == []
    assert _one(_evaluate(tmp_path / "unknown", **tables), found.rule).abstained


def test_gpu_idle_at_the_edges(tmp_path: Path) -> None:
    window = gpu_window(500 * MS, start_ns=300 * MS)
    found = _one(_evaluate(tmp_path, time_breakdown=[window]), "gpu_idle_edges")
    assert found.title == (
        "No GPU event in the first 300 ms and the last 200 ms of the recording: 50 % of the "
        "recorded time"
    )
    assert (found.at_stake_ns, found.severity) == (500 * MS, Severity.INFO)
    hour = 3_600_000_000_000
    long = _evaluate(
        tmp_path / "long",
        time_breakdown=[gpu_window(hour // 2, start_ns=hour // 2)],
        processes=processes(end_ns=hour),
    )
    assert _one(long, "gpu_idle_edges").severity is Severity.HIGH
    assert _one(long, "gpu_idle_edges").gpu_hours == 0.5


def test_all_claims_on_a_gpu_fit_into_its_time(tmp_path: Path) -> None:
    rows = steps([100 * MS] * 9 + [400 * MS], inputs_ns=[30 * MS] * 10, gpu_busy_ns=50 * MS)
    findings = _evaluate(
        tmp_path,
        step_summary=rows,
        time_breakdown=[gpu_window(500 * MS, 200 * MS, 100 * MS, 500 * MS)],
        processes=processes(device_name="NVIDIA A100-SXM4-40GB", end_ns=1400 * MS),
        kernel_summary=[_kernel("ampere_sgemm_128x64_tn", 100, 4 * MS), _kernel("t", 9000, 2 * US)],
        launch_summary=[{**_where(), "name": "t", **distribution(9000, 10 * US)}],
        launch_latency=[_launches(9 * US)],
    )
    claimed = [f for f in findings if f.at_stake_ns]
    assert len(claimed) >= 5
    assert sum(f.at_stake_ns for f in claimed) <= 1400 * MS
    idle_rules = {"input_bound", "small_kernels", "launch_bound", "slow_input"}
    assert sum(f.at_stake_ns for f in claimed if f.rule in idle_rules) <= 500 * MS
