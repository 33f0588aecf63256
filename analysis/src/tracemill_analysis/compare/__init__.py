"""Two jobs side by side: a model (``model``) and its renderings as table, JSON and HTML."""

from __future__ import annotations

from collections.abc import Callable

from tracemill_schema.errors import UsageError

from tracemill_analysis.compare.html import render_html
from tracemill_analysis.compare.json import comparison_document, render_json
from tracemill_analysis.compare.model import Comparison, compare_jobs
from tracemill_analysis.compare.text import render_text

_RENDERERS: dict[str, Callable[[Comparison], str]] = {
    "table": render_text,
    "json": render_json,
    "html": render_html,
}
COMPARISON_FORMATS = tuple(_RENDERERS)

__all__ = ["COMPARISON_FORMATS", "Comparison", "compare_jobs", "comparison_document", "render"]


def render(comparison: Comparison, fmt: str) -> str:
    """Render a comparison as ``table``, ``json`` or ``html``; the same one gives the same text."""
    if fmt not in _RENDERERS:
        raise UsageError(f"format {fmt!r}: take one of {', '.join(_RENDERERS)}")
    return _RENDERERS[fmt](comparison)
