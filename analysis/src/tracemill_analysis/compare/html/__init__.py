"""A comparison as one self-contained HTML file: no script, no request, inline SVG."""

from tracemill_analysis.compare.html.page import render_html

__all__ = ["render_html"]
