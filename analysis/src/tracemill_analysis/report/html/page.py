"""The page: head, verdict, findings, then the dashboard's panels."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from tracemill_analysis.findings.base import Finding
from tracemill_analysis.report.html import charts, data, parts, tables
from tracemill_analysis.report.model import Report
from tracemill_analysis.report.names import shorten, tie
from tracemill_analysis.units import at_stake, duration, integer, percent

_PANELS = (
    charts.gpu_time,
    charts.step_course,
    charts.step_histogram,
    tables.slowest_steps,
    charts.utilization,
    tables.kernels,
    tables.launches,
    charts.activity,
    tables.memory_ops,
    charts.precision,
    tables.collectives,
    tables.latency,
    tables.ranges,
    tables.host,
)
_DATA_PANELS = (data.drops, data.processes)


def render_html(report: Report) -> str:
    """Return the whole report as one HTML file that needs nothing else."""
    dashboard = "".join(panel(report.figures) for panel in _PANELS)
    on_data = "".join(panel(report.figures) for panel in _DATA_PANELS)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{parts.text(report.job_name)} – Tracemill report</title>\n"
        f"<style>\n{style()}</style>\n</head>\n<body>\n<main>\n"
        f"{_head(report)}\n{_verdict(report)}\n{_findings(report)}\n"
        f'<h2>Figures</h2>\n<div class="panels">{dashboard}</div>\n'
        f'<h2>Data</h2>\n<div class="panels">{on_data}</div>\n'
        "<footer>Made by Tracemill from the profile's own tables; hover over a value for the exact "
        f"one. Tables version {report.job['schema_version']}, report version "
        f"{report.report_version}.</footer>\n</main>\n</body>\n</html>\n"
    )


@cache
def style() -> str:
    """Return the style sheet that the report and the comparison share."""
    return files("tracemill_analysis.report.html").joinpath("style.css").read_text("utf-8")


def _head(report: Report) -> str:
    job = report.job
    gpus = f"{job['gpus']} x {job['device_name']}" if job["device_name"] else integer(job["gpus"])
    facts = [
        ("status", job["status"]),
        ("framework", job["framework"]),
        ("GPUs", gpus),
        ("instance", job["instance_type"]),
        ("nodes", job["nodes"]),
        ("ranks", job["ranks"]),
        ("steps", integer(job["steps"])),
        ("recorded", duration(job["dur_ns"])),
        ("source", job["source"]),
    ]
    shown = " · ".join(
        f"{label} <b>{parts.text(value)}</b>" for label, value in facts if value not in (None, "")
    )
    banners = ""
    if report.simulated:
        banners += (
            '<p class="banner">Simulated: the events of this profile were made by a simulator, not '
            "recorded from a training job.</p>"
        )
    if report.partial:
        banners += (
            '<p class="banner">Partial: not everything that was found could be read. What is '
            "missing is listed under Data.</p>"
        )
    return (
        f'<header><div class="brand">Tracemill report</div><h1>{parts.text(report.job_name)}</h1>'
        f'<p class="facts">{shown}</p>{banners}</header>'
    )


def _verdict(report: Report) -> str:
    lines = "".join(f"<li>{_sentence(line)}</li>" for line in report.verdict)
    return f'<ol class="verdict" aria-label="Verdict">{lines}</ol>'


def _sentence(line: str, limit: int = 700) -> str:
    return parts.text(tie(shorten(line, limit)))


def _findings(report: Report) -> str:
    cards = "".join(_finding(finding) for finding in report.findings)
    if not cards:
        cards = "<p>No rule found anything.</p>"
    return f"<h2>Findings</h2>{cards}{_silent(report)}"


def _finding(finding: Finding) -> str:
    stake = f"<b>{parts.time(finding.at_stake_ns).html}</b>" if finding.at_stake_ns else "<b>–</b>"
    _, _, rest = at_stake(finding.at_stake_ns, finding.gpu_hours).partition(" at stake")
    lines = f"at stake{rest}".split(", ") if finding.at_stake_ns else ["no time can be put to it"]
    lines.append(f"confidence {percent(finding.confidence)}")
    notes = "".join(f"<span>{parts.text(line)}</span>" for line in lines)
    severity = finding.severity.value
    return (
        f'<article class="finding"><div class="tag {severity}">{severity}</div>'
        f'<div class="body"><h3>{_sentence(finding.title)}</h3>'
        f'<p class="advice">{parts.text(tie(finding.advice))}</p>{_evidence(finding)}</div>'
        f'<div class="stake">{stake}{notes}</div></article>'
    )


def _evidence(finding: Finding) -> str:
    if not finding.evidence:
        return ""
    columns = list(dict.fromkeys(key for row in finding.evidence for key in row if key != "table"))
    rows = [[_value(column, row.get(column)) for column in columns] for row in finding.evidence]
    source = ", ".join(sorted({str(row.get("table", "")) for row in finding.evidence}))
    table = parts.table("", [column.removesuffix("_ns") for column in columns], rows)
    count = f"{len(rows)} {'row' if len(rows) == 1 else 'rows'}"
    rule = f"rule {parts.text(finding.rule)}"
    return (
        f"<details><summary>Evidence: {count} of {parts.text(source)}; {rule}</summary>"
        f"{table}</details>"
    )


def _value(column: str, value: Any) -> parts.Cell:
    if value is None:
        return parts.Cell("–")
    if column.endswith("_ns") and column != "start_ns" and isinstance(value, (int, float)):
        return parts.time(value)
    if isinstance(value, str):
        return parts.name(value)
    if isinstance(value, float):
        return parts.Cell(f"{value:.4g}")
    return parts.Cell(
        parts.text(f"{value:,}" if column != "step" and type(value) is int else value)
    )


def _silent(report: Report) -> str:
    """Return what the rules without a finding say; rules that need the same stand together."""
    needs: dict[str, list[str]] = {}
    for finding in report.abstained:
        needs.setdefault(finding.title, []).append(finding.rule)
    html = ""
    if needs:
        items = "".join(
            f"<li>{parts.text(need)} for <b>{parts.text(', '.join(rules))}</b></li>"
            for need, rules in needs.items()
        )
        html += (
            '<p class="note silent">This capture cannot answer some rules:</p>'
            f'<ul class="quietlist">{items}</ul>'
        )
    if report.checked:
        checked = parts.text(", ".join(report.checked))
        html += f'<p class="note silent">Rules that looked and found nothing: {checked}.</p>'
    return html
