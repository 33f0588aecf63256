"""Whatever the aggregates say: no rule fails, and no time is claimed twice."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tracemill_analysis.findings import evaluate
from tracemill_analysis.findings.base import NS_PER_HOUR
from tracemill_analysis.report import verdict

from tests.support.aggregates import (
    MemoryTables,
    distribution,
    gpu_window,
    processes,
    series,
    steps,
)
from tests.support.tables import Row

ns = st.integers(0, 10**9)
END = 30 * 10**9
DEVICES = ["NVIDIA A100-SXM4-40GB", "Tesla P100", None]


@st.composite
def step_rows(draw: st.DrawFn, process_id: int) -> list[Row]:
    count = draw(st.integers(0, 12))
    lengths = [draw(ns) for _ in range(count)]
    gaps = [draw(st.integers(-5, 10**9)) for _ in range(count)]
    inputs = [draw(st.integers(0, length)) for length in lengths]
    gap_inputs = [draw(st.integers(0, max(0, gap))) for gap in gaps]
    busy = draw(st.one_of(st.none(), ns))
    return steps(
        lengths, gaps_ns=gaps, inputs_ns=inputs, gap_inputs_ns=gap_inputs, gpu_busy_ns=busy,
        process_id=process_id,
    )  # fmt: skip


@st.composite
def kernel_rows(draw: st.DrawFn, process_id: int) -> list[Row]:
    names = draw(st.lists(st.sampled_from(["sgemm", "tiny", "conv_k", "nccl"]), unique=True))
    return [
        {"process_id": process_id, "rank": process_id, "device": 0, "name": name,
         "category": "compute", "precision": "FP32",
         **distribution(draw(st.integers(1, 10**5)), draw(st.integers(0, 10**5)))}
        for name in names
    ]  # fmt: skip


@st.composite
def jobs(draw: st.DrawFn) -> MemoryTables:
    count = draw(st.integers(0, 3))
    ids = range(count)
    with_gpu = [i for i in ids if draw(st.booleans())]
    kernels = [row for i in with_gpu for row in draw(kernel_rows(i))]
    where = [{"process_id": i, "rank": i, "device": 0} for i in with_gpu]
    return MemoryTables(
        processes=processes(count, end_ns=END, device_name=draw(st.sampled_from(DEVICES))),
        step_summary=[row for i in ids for row in draw(step_rows(i))],
        time_breakdown=[
            gpu_window(draw(ns), draw(ns), draw(ns), draw(ns), overlap=draw(ns), process_id=i,
                       start_ns=draw(ns))
            for i in with_gpu
        ],
        kernel_summary=kernels,
        launch_summary=[{k: v for k, v in r.items() if k not in ("category", "precision")}
                        for r in kernels],
        launch_latency=[{**w, "launches": draw(st.integers(0, 9)), "p50_ns": draw(ns)}
                        for w in where],
        memory_op_summary=[
            {**w, "kind": "HtoD", "src_kind": draw(st.sampled_from(["pageable", "pinned", None])),
             "count": 1, "busy_ns": draw(ns), "total_ns": draw(ns)}
            for w in where
        ],
        annotation_summary=[
            series("Backward", draw(st.integers(1, 50)), draw(ns), process_id=i,
                   longest_ns=draw(ns), slowest_start_ns=draw(ns))
            for i in ids
        ],
    )  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(jobs())
def test_no_job_makes_a_rule_fail_or_time_count_twice(tables: MemoryTables) -> None:
    findings = evaluate(tables)
    lines = verdict(tables, findings)
    assert all(lines)
    span = 0
    for lane in tables.lanes:
        window = tables.observed(lane)
        span += max(END, window.end_ns) - min(0, window.start_ns)
    if tables.has_gpu:
        claimed = sum(f.gpu_hours for f in findings) * NS_PER_HOUR
        assert claimed <= span + 1
        idle = sum(row["idle_ns"] for row in tables.gpu_windows)
        rules = {"slow_input", "input_bound", "small_kernels", "launch_bound"}
        of_idle = sum(f.gpu_hours for f in findings if f.rule in rules) * NS_PER_HOUR
        assert of_idle <= idle + 1
    assert all(0 <= f.at_stake_ns <= span for f in findings)
    assert all(f.title and 0 <= f.confidence <= 1 for f in findings)
