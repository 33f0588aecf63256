"""The report as data. Renderers draw it and add nothing; ``report.json`` is exactly this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tracemill_schema.vocab import Completeness

from tracemill_analysis.findings.base import Finding
from tracemill_analysis.findings.registry import RULES
from tracemill_analysis.findings.tables import JobTables, Row
from tracemill_analysis.report.figures import Figures, build_figures
from tracemill_analysis.report.verdict import verdict
from tracemill_analysis.store import Store

REPORT_VERSION = 1
"""Version of the keys of ``report.json``. Keys are only added; a new meaning is a new version."""

__all__ = ["REPORT_VERSION", "Report", "build_report", "verdict"]


@dataclass(frozen=True)
class Report:
    """All a report says.

    ``job`` is the row of ``jobs``; ``verdict`` its three lines; ``abstained`` the rules the capture
    cannot answer; ``checked`` the rules that looked and found nothing.
    """

    report_version: int
    job_name: str
    job: Row
    verdict: tuple[str, str, str]
    simulated: bool
    partial: bool
    findings: list[Finding]
    abstained: list[Finding]
    checked: list[str]
    figures: Figures


def build_report(
    store: Store, job: str, findings: Sequence[Finding], job_row: dict[str, Any]
) -> Report:
    """Build the report of a job from its tables, its findings and its ``jobs`` row."""
    tables = JobTables(store, job)
    spoken = {finding.rule for finding in findings}
    return Report(
        report_version=REPORT_VERSION,
        job_name=job,
        job=dict(job_row),
        verdict=verdict(tables, findings),
        simulated=bool(job_row["simulated"]),
        partial=job_row["completeness"] != Completeness.COMPLETE,
        findings=[finding for finding in findings if not finding.abstained],
        abstained=[finding for finding in findings if finding.abstained],
        checked=[rule.name for rule in RULES if rule.name not in spoken],
        figures=build_figures(tables),
    )
