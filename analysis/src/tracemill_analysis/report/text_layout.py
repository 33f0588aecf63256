"""Width and paragraphs of the text report."""

from __future__ import annotations

import textwrap

from tracemill_analysis.report.names import tie

WIDTH = 96


def wrap(text: str, indent: str) -> list[str]:
    """Wrap a paragraph; a number is not parted from its unit."""
    joined = tie(text)
    lines = textwrap.wrap(
        joined, WIDTH, subsequent_indent=indent, break_long_words=True, break_on_hyphens=False
    )
    return [line.replace("\u00a0", " ") for line in lines]


def title(text: str) -> list[str]:
    """Return a heading with its underline."""
    return [text, "-" * len(text)]
