"""The report as plain text, 96 columns, opening with the verdict."""

from __future__ import annotations

from tracemill_analysis.findings.base import Finding
from tracemill_analysis.report.model import Report
from tracemill_analysis.report.names import clean
from tracemill_analysis.report.text_layout import WIDTH, title, wrap
from tracemill_analysis.report.text_sections import SECTIONS
from tracemill_analysis.units import at_stake, duration, percent, plural


def render_text(report: Report) -> str:
    """Return the report as text."""
    parts = [_head(report), _findings(report)]
    parts += [section(report) for section in SECTIONS]
    return "\n".join(part for part in parts if part)


def _head(report: Report) -> str:
    labels = " [SIMULATED]" * report.simulated + " [PARTIAL DATA]" * report.partial
    lines = [f"Tracemill report: {clean(report.job_name)}{labels}", "=" * WIDTH]
    for number, line in enumerate(report.verdict, 1):
        lines += wrap(f"{number}. {clean(line)}", "   ")
    job = report.job
    facts = [
        f"{clean(str(job['framework']))}" if job["framework"] else "",
        f"{job['gpus']} x {clean(job['device_name'])}" if job["device_name"] else "",
        ", ".join(
            plural(job[column], noun)
            for column, noun in (("nodes", "node"), ("ranks", "rank"), ("processes", "process"))
        ),
        plural(job["steps"], "step"),
        f"{duration(job['dur_ns'])} recorded",
        f"status {job['status']}, source {job['source']}",
    ]
    return "\n".join([*lines, "", *wrap("; ".join(filter(None, facts)), ""), ""])


def _findings(report: Report) -> str:
    lines = title("Findings")
    if not report.findings:
        lines.append("None.")
    for number, finding in enumerate(report.findings, 1):
        lines += _finding(number, finding)
    needs: dict[str, list[str]] = {}
    for finding in report.abstained:
        needs.setdefault(finding.title, []).append(finding.rule)
    for need, rules in needs.items():
        lines += wrap(f"  ?   {clean(need)} for: {', '.join(rules)}", "      ")
    if report.checked:
        lines += wrap(f"  ok  nothing found by: {', '.join(report.checked)}", "      ")
    return "\n".join([*lines, ""])


def _finding(number: int, finding: Finding) -> list[str]:
    stake = at_stake(finding.at_stake_ns, finding.gpu_hours)
    head = f"{number}. [{finding.severity.value}] {clean(finding.title)}"
    return [
        *wrap(head, "   "),
        f"   {stake}; confidence {percent(finding.confidence)}; rule {finding.rule}",
        *wrap(f"   {finding.advice}", "   "),
    ]
