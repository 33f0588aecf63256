"""The report: a model (``model``) and its renderings as HTML, JSON and text."""

from __future__ import annotations

from collections.abc import Callable

from tracemill_schema.errors import UsageError

from tracemill_analysis.report.html import render_html
from tracemill_analysis.report.json import render_json
from tracemill_analysis.report.model import Report, build_report, verdict
from tracemill_analysis.report.text import render_text

_RENDERERS: dict[str, Callable[[Report], str]] = {
    "html": render_html,
    "json": render_json,
    "txt": render_text,
}

__all__ = ["Report", "build_report", "render", "verdict"]


def render(report: Report, fmt: str) -> str:
    """Render a report as ``html``, ``json`` or ``txt``. The same report gives the same text."""
    if fmt not in _RENDERERS:
        raise UsageError(f"report format {fmt!r}: take one of {', '.join(_RENDERERS)}")
    return _RENDERERS[fmt](report)
