"""Rules about the host and the data, and the order of findings."""

from __future__ import annotations

from pathlib import Path

import pytest
from tracemill_analysis.findings import RULES, Finding, JobTables, evaluate
from tracemill_analysis.findings.base import order, severity_of
from tracemill_schema.errors import StoreError
from tracemill_schema.vocab import Severity

from tests.support.aggregates import MS, gpu_window, job_with, processes, steps, titles
from tests.support.tables import JOB, Row


def _evaluate(folder: Path, **tables: list[Row]) -> list[Finding]:
    tables.setdefault("processes", processes())
    return evaluate(JobTables(job_with(folder, **tables), JOB))


def _metric(metric: str, mean: float, most: float, node: str = "n0") -> Row:
    return {"node": node, "metric": metric, "index": -1, "mean": mean, "max": most, "samples": 9}


def test_cpu_saturation_is_a_problem_only_beside_gpus(tmp_path: Path) -> None:
    busy = [_metric("cpu_utilization", 0.93, 1.0), _metric("cpu_utilization", 0.5, 1.0, "n1")]
    title = "1 of 2 nodes: the CPU cores are busy 93 % of the time on average (worst: n0)"
    for name, windows, severity in (
        ("cpu", [], Severity.INFO),
        ("gpu", [gpu_window(900 * MS)], Severity.MEDIUM),
    ):
        findings = _evaluate(tmp_path / name, cpu_summary=busy, time_breakdown=windows)
        assert [
            (f.title, f.severity, f.at_stake_ns) for f in findings if f.rule == "cpu_saturation"
        ] == [(title, severity, 0)]


def test_memory_near_its_limit(tmp_path: Path) -> None:
    gib = float(1 << 30)
    findings = _evaluate(
        tmp_path,
        cpu_summary=[
            _metric("memory_used_bytes", 40 * gib, 60 * gib),
            _metric("memory_total_bytes", 64 * gib, 64 * gib),
        ],
    )
    assert titles(findings, "memory_near_limit") == [
        "Node n0 used 94 % of its memory at the peak: 60.0 GiB of 64.0 GiB"
    ]


def test_without_samples_the_host_rules_abstain(tmp_path: Path) -> None:
    findings = _evaluate(tmp_path)
    assert {f.rule: f.title for f in findings if "samples" in f.title} == {
        "cpu_saturation": "samples of CPU utilisation are needed",
        "memory_near_limit": "samples of host memory are needed",
    }


def test_what_was_lost_is_said_and_what_was_kept_is_not(tmp_path: Path) -> None:
    def drop(reason: str, events: int, lost: bool) -> Row:
        return {
            "process_id": 0,
            "source_file": "f",
            "reason": reason,
            "events": events,
            "lost": lost,
        }

    findings = _evaluate(
        tmp_path,
        drops=[
            drop("ring_full", 40, True),
            drop("truncated", 2, True),
            drop("unreadable_file", 1, True),
            drop("unlinked", 500, False),
        ],
    )
    assert titles(findings, "partial_data") == [
        "42 of 1,000 events (4.2 %) are missing and 1 file could not be read: ring_full 40, "
        "truncated 2, unreadable_file 1"
    ]
    kept = _evaluate(tmp_path / "kept", drops=[drop("unlinked", 500, False)])
    assert titles(kept, "partial_data") == []


def test_ranks_without_gpus_are_compared_by_step(tmp_path: Path) -> None:
    rows = steps([50 * MS] * 10) + steps([75 * MS] * 10, process_id=1)
    findings = _evaluate(tmp_path, step_summary=rows, processes=processes(2))
    assert titles(findings, "rank_imbalance") == [
        "Rank 1 takes 75.0 ms for a step (median), 20 % more than the mean of the ranks' medians, "
        "62.5 ms"
    ]


def test_order_is_problems_by_stake_then_information_then_abstentions() -> None:
    low = Finding("a", Severity.LOW, "", "", at_stake_ns=10, gpu_hours=2.0)
    high = Finding("b", Severity.HIGH, "", "", at_stake_ns=90, gpu_hours=1.0)
    host = Finding("c", Severity.HIGH, "", "", at_stake_ns=5)
    info = Finding("d", Severity.INFO, "", "", at_stake_ns=999, gpu_hours=9.0)
    silent = Finding("e", Severity.INFO, "", "", abstained=True)
    assert order([silent, info, host, high, low]) == [low, high, host, info, silent]


@pytest.mark.parametrize(
    ("share", "severity"),
    [(0.10, Severity.HIGH), (0.0999, Severity.MEDIUM), (0.03, Severity.MEDIUM), (0.0299, "low")],
)
def test_severity_by_share(share: float, severity: Severity) -> None:
    assert severity_of(share) == severity


def test_an_empty_job_gives_only_abstentions(tmp_path: Path) -> None:
    findings = _evaluate(tmp_path, processes=[])
    assert findings and all(f.abstained for f in findings)


def test_findings_are_the_same_every_time(tmp_path: Path) -> None:
    rows = steps([51 * MS] * 20 + [300 * MS], gaps_ns=[5 * MS] * 21)
    assert _evaluate(tmp_path / "a", step_summary=rows) == _evaluate(
        tmp_path / "b", step_summary=rows
    )


def test_rule_names_are_unique_and_documented() -> None:
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
    text = (Path(__file__).parents[3] / "docs" / "findings.md").read_text("utf-8")
    assert [name for name in names if f"`{name}`" not in text] == []


def test_rules_cannot_read_event_tables(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="event table"):
        JobTables(job_with(tmp_path), JOB).rows("kernels")


def test_a_damaged_table_is_one_clear_error(tmp_path: Path) -> None:
    store = job_with(tmp_path, processes=processes())
    store.write_bytes("tables/step_summary/job_name=job/all.parquet", b"not parquet")
    with pytest.raises(StoreError, match="table step_summary of job job: cannot be read"):
        evaluate(JobTables(store, JOB))
