"""The page of a comparison: both jobs, what changed, then the panels."""

from __future__ import annotations

from tracemill_analysis.compare.html import panels
from tracemill_analysis.compare.model import Comparison, Job
from tracemill_analysis.report.html import parts
from tracemill_analysis.report.html.page import style
from tracemill_analysis.report.names import shorten, tie
from tracemill_analysis.units import integer

_PANELS = (panels.steps, panels.gpu_time, panels.kernels, panels.ranges)


def render_html(comparison: Comparison) -> str:
    """Return the whole comparison as one HTML file that needs nothing else."""
    a, b = parts.text(comparison.a.job_name), parts.text(comparison.b.job_name)
    body = "".join(panel(comparison) for panel in _PANELS)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{a} and {b} – Tracemill comparison</title>\n"
        f"<style>\n{style()}</style>\n</head>\n<body>\n<main>\n"
        f'<header><div class="brand">Tracemill comparison</div><h1>{a} <small>and</small> {b}</h1>'
        f"{_facts('A', comparison.a)}{_facts('B', comparison.b)}{_banners(comparison)}</header>\n"
        f"{_summary(comparison)}\n<h2>Findings</h2>{panels.findings(comparison)}\n"
        f'<h2>Figures</h2>\n<div class="panels">{body}</div>\n'
        "<footer>Made by Tracemill from the tables of both profiles; hover over a value for the "
        "exact one. Every difference is B - A. Comparison version "
        f"{comparison.compare_version}.</footer>\n</main>\n</body>\n</html>\n"
    )


def _facts(label: str, side: Job) -> str:
    job = side.job
    gpus = f"{job['gpus']} x {job['device_name']}" if job["device_name"] else integer(job["gpus"])
    facts = (
        ("framework", job["framework"]),
        ("GPUs", gpus),
        ("nodes", job["nodes"]),
        ("ranks", job["ranks"]),
        ("steps", integer(job["steps"])),
        ("source", job["source"]),
    )
    shown = " · ".join(
        f"{name} <b>{parts.text(value)}</b>" for name, value in facts if value not in (None, "")
    )
    return f'<p class="facts"><b>{label}: {parts.text(side.job_name)}</b> · {shown}</p>'


def _banners(comparison: Comparison) -> str:
    return "".join(
        f'<p class="banner">{parts.text(shorten(note, 300))}</p>' for note in comparison.notes
    )


def _summary(comparison: Comparison) -> str:
    lines = "".join(
        f"<li>{parts.text(tie(shorten(line, 700)))}</li>" for line in comparison.summary
    )
    return f'<ul class="verdict" aria-label="What changed">{lines}</ul>'
