"""Rules about steps: outliers, warm-up, slow input phases, input-bound runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tracemill_analysis.findings import Finding, JobTables, evaluate
from tracemill_schema.vocab import Severity

from tests.support.aggregates import (
    MS,
    gpu_window,
    job_with,
    processes,
    series,
    steps,
    titles,
)
from tests.support.tables import JOB, Row


def _evaluate(folder: Path, **tables: list[Row]) -> list[Finding]:
    tables.setdefault("processes", processes())
    return evaluate(JobTables(job_with(folder, **tables), JOB))


def _only(findings: list[Finding], rule: str) -> Finding:
    found = [f for f in findings if f.rule == rule]
    assert len(found) == 1, found
    return found[0]


def _lengths(count: int = 40, usual: int = 51 * MS, **slow: int) -> list[int]:
    lengths = [usual] * count
    for name, value in slow.items():
        lengths[int(name.removeprefix("at"))] = value
    return lengths


def test_an_outlier_step_is_named_with_its_phase(tmp_path: Path) -> None:
    rows = steps(_lengths(at23=412 * MS))
    slow = rows[23]["start_ns"]
    found = _only(
        _evaluate(
            tmp_path,
            step_summary=rows,
            annotation_summary=[
                series("step", 40, 51 * MS, longest_ns=412 * MS, slowest_start_ns=slow),
                series("Train", 40, 45 * MS, longest_ns=400 * MS, slowest_start_ns=slow + MS),
                series(
                    "Backward", 40, 25 * MS, longest_ns=386 * MS, slowest_start_ns=slow + 9 * MS
                ),
                series("Forward", 40, 15 * MS, longest_ns=19 * MS, slowest_start_ns=slow + MS),
            ],
        ),
        "outlier_steps",
    )
    assert found.title == (
        "step_23 took 412 ms, 8.1x the median of 51.0 ms; "
        "Backward in it took 386 ms instead of 25.0 ms"
    )
    assert found.at_stake_ns == (412 - 51) * MS
    assert found.gpu_hours == 0.0
    assert found.severity is Severity.HIGH  # 361 ms of 2,401 ms observed
    assert found.evidence == [
        {
            "table": "step_summary",
            "rank": 0,
            "process_id": 0,
            "step": 23,
            "start_ns": 23 * 51 * MS,
            "dur_ns": 412 * MS,
            "input_ns": 0,
            "median_dur_ns": 51 * MS,
            "excess_ns": 361 * MS,
            "phase": "Backward",
            "phase_dur_ns": 386 * MS,
            "phase_median_ns": 25 * MS,
        }
    ]


def test_a_phase_outside_the_step_is_not_blamed(tmp_path: Path) -> None:
    rows = steps(_lengths(at23=412 * MS))
    backward = series("Backward", 40, 25 * MS, longest_ns=386 * MS, slowest_start_ns=0)
    findings = _evaluate(tmp_path, step_summary=rows, annotation_summary=[backward])
    assert titles(findings, "outlier_steps") == ["step_23 took 412 ms, 8.1x the median of 51.0 ms"]


def test_framework_steps_keep_their_name(tmp_path: Path) -> None:
    findings = _evaluate(
        tmp_path,
        step_summary=steps(_lengths(at3=200 * MS), first=5),
        annotation_summary=[series("ProfilerStep", 40, 51 * MS)],
    )
    assert titles(findings, "outlier_steps")[0].startswith("ProfilerStep#8 took 200 ms")


def test_a_noisy_run_has_no_outlier(tmp_path: Path) -> None:
    noisy = [50 * MS + (i * 7919 % 41) * MS for i in range(40)]
    findings = _evaluate(tmp_path, step_summary=steps(noisy))
    assert titles(findings, "outlier_steps") == []


@pytest.mark.parametrize(("longest", "expected"), [(76 * MS, 0), (77 * MS, 1)])
def test_one_and_a_half_times_the_median_is_the_floor(
    tmp_path: Path, longest: int, expected: int
) -> None:
    findings = _evaluate(tmp_path, step_summary=steps(_lengths(at9=longest)))
    assert len(titles(findings, "outlier_steps")) == expected


def test_the_first_step_is_warm_up_and_no_outlier(tmp_path: Path) -> None:
    findings = _evaluate(tmp_path, step_summary=steps(_lengths(at0=300 * MS)))
    assert titles(findings, "outlier_steps") == []
    found = _only(findings, "warm_up")
    assert found.title == (
        "The first recorded step, step_0, took 300 ms, 5.9x the median of 51.0 ms: warm-up"
    )
    assert (found.severity, found.at_stake_ns) == (Severity.INFO, 249 * MS)


def test_too_few_steps_abstain(tmp_path: Path) -> None:
    findings = _evaluate(tmp_path, step_summary=steps([51 * MS, 51 * MS]))
    assert _only(findings, "outlier_steps").abstained
    assert _only(findings, "outlier_steps").title == (
        "at least 6 annotated steps per rank are needed"
    )
    assert _only(findings, "input_bound").title == "at least 3 annotated steps per rank are needed"


def test_the_same_outlier_on_all_ranks_is_one_finding(tmp_path: Path) -> None:
    rows = steps(_lengths(at9=200 * MS)) + steps(_lengths(at9=251 * MS), process_id=1)
    found = _only(_evaluate(tmp_path, step_summary=rows, processes=processes(2)), "outlier_steps")
    assert found.title == "step_9 took 251 ms on 2 of 2 ranks, 4.9x the median of 51.0 ms"
    assert found.at_stake_ns == (149 + 200) * MS // 2


def test_a_slow_input_phase_between_steps_is_named(tmp_path: Path) -> None:
    gaps = [int(7.5 * MS)] * 40
    gaps[30:34] = [150 * MS] * 4
    found = _only(
        _evaluate(tmp_path, step_summary=steps(_lengths(), gaps_ns=gaps, gap_inputs_ns=gaps)),
        "slow_input",
    )
    assert found.title == (
        "Before steps 30 to 33 the job waited 4 x 150 ms for input, 20x the median of 7.50 ms"
    )
    assert found.at_stake_ns == 4 * int(142.5 * MS)
    assert found.confidence == 0.9
    assert [row["step"] for row in found.evidence] == [30, 31, 32, 33]


def test_gaps_are_taken_for_input_only_where_nothing_is_named_input(tmp_path: Path) -> None:
    gaps = [0] * 40
    gaps[12] = 150 * MS
    found = _only(_evaluate(tmp_path, step_summary=steps(_lengths(), gaps_ns=gaps)), "slow_input")
    assert found.title == (
        "Before step_12 the job waited 150 ms for input, other steps did not wait, "
        "taking the gap between steps for input"
    )
    assert found.confidence == 0.6


def test_a_gap_that_is_not_input_is_called_so(tmp_path: Path) -> None:
    gaps, inputs = [5 * MS] * 40, [4 * MS] * 40
    gaps[12] = 150 * MS
    found = _only(
        _evaluate(tmp_path, step_summary=steps(_lengths(), gaps_ns=gaps, gap_inputs_ns=inputs)),
        "slow_input",
    )
    assert found.title == (
        "Before step_12, 146 ms passed between steps without input, 146x the median of 1.00 ms"
    )


def test_input_within_a_step_is_no_outlier_step(tmp_path: Path) -> None:
    inputs = [5 * MS] * 40
    lengths = _lengths(at20=251 * MS)
    inputs[20] = 205 * MS
    findings = _evaluate(tmp_path, step_summary=steps(lengths, inputs_ns=inputs))
    assert titles(findings, "outlier_steps") == []
    assert titles(findings, "slow_input") == [
        "Before step_20 the job waited 205 ms for input, 41x the median of 5.00 ms"
    ]


def test_an_input_bound_run(tmp_path: Path) -> None:
    rows = steps([176 * MS] * 6, inputs_ns=[70 * MS] * 6)
    found = _only(_evaluate(tmp_path, step_summary=rows), "input_bound")
    assert found.title == "The job waits for input 40 % of the time: 70.0 ms of 176 ms per step"
    assert found.at_stake_ns == 5 * 70 * MS
    assert found.severity is Severity.HIGH


def test_a_run_with_prefetched_input_is_not_input_bound(tmp_path: Path) -> None:
    rows = steps([120 * MS] * 6, inputs_ns=[1 * MS] * 6)
    assert titles(_evaluate(tmp_path, step_summary=rows), "input_bound") == []


def test_a_wait_behind_which_the_gpu_works_costs_nothing(tmp_path: Path) -> None:
    findings = _evaluate(
        tmp_path,
        step_summary=steps([100 * MS] * 10, inputs_ns=[40 * MS] * 10),
        time_breakdown=[gpu_window(990 * MS, idle=10 * MS)],
    )
    assert titles(findings, "input_bound") == []


def test_a_slow_phase_is_not_counted_again_as_input_bound(tmp_path: Path) -> None:
    gaps = [2 * MS] * 40
    gaps[30:34] = [500 * MS] * 4
    rows = steps(_lengths(), gaps_ns=gaps, gap_inputs_ns=gaps)
    findings = _evaluate(tmp_path, step_summary=rows)
    assert len(titles(findings, "slow_input")) == 1
    assert titles(findings, "input_bound") == []
