"""Pieces of a page: escaped names, exact values behind readable ones, tables, panels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tracemill_analysis.report.html import svg
from tracemill_analysis.report.names import NAME_LIMIT, clean, shorten
from tracemill_analysis.units import duration, integer, percent, size


@dataclass(frozen=True)
class Cell:
    """A cell's HTML (already escaped) and its class."""

    html: str
    css: str = ""


def text(value: object) -> str:
    """Escape any text, cleaned of control characters."""
    return escape(clean(str(value)))


def name(value: str, limit: int = NAME_LIMIT) -> Cell:
    """Show a name from a trace, cut in the middle; the whole name is its title."""
    short, whole = shorten(value, limit), clean(value)
    title = f' title="{escape(whole)}"' if short != whole else ""
    return Cell(f'<span class="mono"{title}>{escape(short)}</span>', "name")


def words(value: object) -> Cell:
    """Show plain text that may wrap."""
    return Cell(text(value), "words")


def _exact(shown: str, exact: str) -> Cell:
    return Cell(f'<span title="{escape(exact)}">{escape(shown)}</span>')


def time(ns: float | None) -> Cell:
    """Show a duration; the exact nanoseconds are its title."""
    if ns is None:
        return Cell("–")
    exact = f"{ns:,} ns" if isinstance(ns, int) else f"{ns:,.1f} ns"
    return _exact(duration(ns), exact)


def count(value: int | None) -> Cell:
    """Show a count."""
    return Cell("–" if value is None else integer(value))


def share(value: float | None) -> Cell:
    """Show a share of 0..1 as percent; six decimals are its title."""
    return Cell("–") if value is None else _exact(percent(value), f"{value:.6f}")


def nbytes(value: int | None) -> Cell:
    """Show bytes; the exact number is its title."""
    return Cell("–") if value is None else _exact(size(value), f"{value:,} bytes")


def bar(value: float, css: str = "compute") -> Cell:
    """Show a share as a small bar."""
    return Cell(svg.share_bar(value, css), "bar")


def table(caption: str, header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Return an accessible table; the first cell of a row is its header."""
    if not rows:
        return ""
    left = [cell.css in ("name", "words") for cell in rows[0]]
    heads = "".join(
        f'<th scope="col"{" class=words" if left[i] else ""}>{text(title)}</th>'
        for i, title in enumerate(header)
    )
    body = "".join(f"<tr>{''.join(_cells(row))}</tr>" for row in rows)
    described = f"<caption>{text(caption)}</caption>" if caption else ""
    return (
        f'<div class="scroll"><table>{described}<thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cells(row: Sequence[Cell]) -> list[str]:
    cells = []
    for position, cell in enumerate(row):
        css = f' class="{cell.css}"' if cell.css else ""
        cells.append(
            f'<th scope="row"{css}>{cell.html}</th>'
            if position == 0
            else f"<td{css}>{cell.html}</td>"
        )
    return cells


def panel(title: str, help_text: str, body: str, *, wide: bool = False) -> str:
    """Return a panel: title, one sentence that helps to read it, content. Empty without content."""
    if not body:
        return ""
    css = ' class="wide"' if wide else ""
    return (
        f'<section{css}><h3>{text(title)}</h3><p class="help">{text(help_text)}</p>{body}</section>'
    )
