"""Figures computed for the report."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracemill_analysis.findings import JobTables
from tracemill_analysis.report.figures import Figures, build_figures, merged_windows
from tracemill_analysis.report.step_figures import MAX_POINTS, histogram, nice_width
from tracemill_analysis.report.utilization_figures import utilization_strips

from tests.support.aggregates import MS, distribution, gpu_window, job_with, series, steps
from tests.support.tables import JOB, Row


def _figures(folder: Path, **tables: list[Row]) -> Figures:
    return build_figures(JobTables(job_with(folder, **tables), JOB))


def _kernel(name: str, count: int, each_ns: int, process_id: int = 0) -> Row:
    return {"process_id": process_id, "name": name, "category": "compute",
            **distribution(count, each_ns)}  # fmt: skip


def test_kernels_of_all_gpus_are_merged_and_the_rest_is_summed(tmp_path: Path) -> None:
    rows = [_kernel("a", 10, 100), _kernel("a", 30, 200, 1)]
    rows += [_kernel(f"k{i:02}", 1, 10 + i) for i in range(20)]
    ranking = _figures(tmp_path, kernel_summary=rows).kernels
    assert ranking is not None
    first = ranking.rows[0]
    assert (first["name"], first["count"], first["total_ns"]) == ("a", 40, 7000)
    assert (first["min_ns"], first["max_ns"], first["mean_ns"]) == (100, 200, 175.0)
    assert [row["name"] for row in ranking.rows[1:]] == [f"k{i:02}" for i in range(19, 5, -1)]
    assert (ranking.others, ranking.others_count) == (6, 6)
    assert ranking.others_ns == sum(10 + i for i in range(6))
    assert ranking.total_ns == 7000 + sum(10 + i for i in range(20))
    assert sum(r["total_ns"] for r in ranking.rows) + ranking.others_ns == ranking.total_ns


def test_bandwidth_of_several_gpus_is_bytes_over_time(tmp_path: Path) -> None:
    def copies(process_id: int, nbytes: int, bandwidth: float | None) -> Row:
        return {"process_id": process_id, "kind": "HtoD", "count": 1, "sized": 1, "bytes": nbytes,
                "total_ns": 10, "busy_ns": 10, "bandwidth_bytes_per_s": bandwidth}  # fmt: skip

    figures = _figures(
        tmp_path, memory_op_summary=[copies(0, 1000, 1000.0), copies(1, 3000, 1000.0)]
    )
    assert [(r["bytes"], r["bandwidth_bytes_per_s"]) for r in figures.memory_ops] == [
        (4000, 1000.0)
    ]


def test_steps_leave_the_first_out_of_statistics_but_not_out_of_the_course(tmp_path: Path) -> None:
    found = _figures(tmp_path, step_summary=steps([900 * MS, *range(1 * MS, 21 * MS, MS)])).steps
    assert found is not None
    assert (found.count, found.left_out, found.ranks) == (21, 1, 1)
    assert (found.min_ns, found.p50_ns, found.p95_ns, found.max_ns) == (
        1 * MS, 10 * MS, 19 * MS, 20 * MS,
    )  # fmt: skip
    assert [point["dur_ns"] for point in found.course][:2] == [900 * MS, 1 * MS]
    assert found.slowest[0]["step"] == 20


def test_a_long_course_keeps_its_slowest_steps(tmp_path: Path) -> None:
    lengths = [MS] * 1000
    lengths[777] = 50 * MS
    found = _figures(tmp_path, step_summary=steps(lengths)).steps
    assert found is not None
    assert len(found.course) == 200 <= MAX_POINTS
    assert found.steps_per_point == 5
    assert [p["step"] for p in found.course if p["dur_ns"] > MS] == [777]


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=60))
def test_histogram_counts_every_value_once(values: list[int]) -> None:
    found = histogram(values)
    assert sum(found.counts) + found.beyond == len(values)
    assert len(found.edges_ns) == len(found.counts) + 1 <= 40
    assert found.edges_ns[0] <= min(values)
    inside = [value for value in values if value < found.edges_ns[-1]]
    assert len(inside) >= sum(found.counts)
    for low, high, count in zip(found.edges_ns, found.edges_ns[1:], found.counts, strict=False):
        assert count <= sum(low <= value < high for value in values)


def test_one_very_long_step_does_not_squeeze_the_others() -> None:
    found = histogram([50, 51, 52, 53, 54] * 8 + [9000])
    assert found.beyond == 1
    assert found.edges_ns == [50, 51, 52, 53, 54, 55]
    assert found.counts == [8, 8, 8, 8, 8]


@pytest.mark.parametrize(
    ("span", "width"), [(1, 1), (30, 1), (31, 2), (100, 5), (300, 10), (3001, 200)]
)
def test_bins_have_round_widths(span: int, width: int) -> None:
    assert nice_width(span, 30) == width


def test_annotations_are_merged_over_ranks(tmp_path: Path) -> None:
    rows = [
        series("Backward", 10, 100, share_of_capture=0.2),
        series("Backward", 10, 300, process_id=1, longest_ns=900, slowest_step=7,
               share_of_capture=0.4),
        series("Loss", 10, 50),
    ]  # fmt: skip
    first, second = _figures(tmp_path, annotation_summary=rows).annotations
    assert (first["series"], first["ranks"], first["count"]) == ("Backward", 2, 20)
    assert (first["longest_rank"], first["longest_step"], first["max_ns"]) == (1, 7, 900)
    assert first["share_of_capture"] == pytest.approx(0.3)
    assert (first["p50_ns"], second["p50_ns"]) == (None, 50)


def test_equal_windows_are_one_row() -> None:
    rows = [gpu_window(10, window_kind=kind) for kind in ("all_gpu", "linked")]
    rows.append(gpu_window(9, window_kind="steps"))
    assert [row["window_kind"] for row in merged_windows(rows)] == ["all_gpu, linked", "steps"]


def test_utilisation_is_thinned_by_weighted_means() -> None:
    rows = [
        {"node": "n0", "rank": 0, "process_id": 0, "resource": "gpu", "index": 0,
         "bin_start_ns": i * 10, "bin_ns": 10, "utilization": float(i % 2)}
        for i in range(320)
    ]  # fmt: skip
    (strip,) = utilization_strips(rows)
    assert (strip.label, strip.bin_ns, strip.mean) == ("rank 0, GPU 0 of n0", 20, 0.5)
    assert strip.values == [0.5] * 160


def test_many_gpus_become_one_strip_per_node_and_unknown_bins_stay_unknown() -> None:
    rows = [
        {"node": f"n{gpu // 16}", "rank": gpu, "process_id": gpu, "resource": "gpu",
         "index": gpu % 16, "bin_start_ns": start, "bin_ns": 10, "utilization": 0.25}
        for gpu in range(32)
        for start in (0, 20)
    ]  # fmt: skip
    strips = utilization_strips(rows)
    assert [strip.label for strip in strips] == [
        "n0, mean of its GPUs",
        "n1, mean of its GPUs",
    ]
    assert strips[0].values == [0.25, None, 0.25]


def test_a_job_without_any_aggregates_has_empty_figures(tmp_path: Path) -> None:
    assert _figures(tmp_path) == Figures()
