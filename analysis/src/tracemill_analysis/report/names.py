"""Names from traces are data: cleaned for display, cut in the middle, never interpreted."""

from __future__ import annotations

import re
import unicodedata

NAME_LIMIT = 72
_REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")


def clean(text: str) -> str:
    """Replace control characters and those that reorder text by the replacement character."""
    return "".join(
        "\ufffd" if c in _REORDERING or unicodedata.category(c) in ("Cc", "Cs") else c for c in text
    )


_UNIT = re.compile(r"(?<=\d) (?=%|[nµm]?s\b|[KMGT]iB|[kMGT]?B\b|min\b|h\b)")


def tie(text: str) -> str:
    """Put no-break spaces between numbers and their units."""
    return _UNIT.sub("\u00a0", text)


def shorten(text: str, limit: int = NAME_LIMIT) -> str:
    """Clean a name and cut it in the middle: templates differ at their ends."""
    text = clean(text)
    if len(text) <= limit:
        return text
    head = (limit - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (limit - 1 - head) :]}"
