"""Small inline SVG charts. Colours are classes, so that light, dark and paper each choose theirs.

Coordinates are written with at most two decimals: the same data gives the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

Part = tuple[str, float, str]
"""Class of the colour, value, and the text shown on hover."""

Format = Callable[[float], str]
_LABEL_PX = 6.2
"""Width of a label's character at 11 px, generous."""


MAX_SLOT = 56.0
"""Widest column: few steps are not blown up to the width of the page."""


def number(value: float) -> str:
    """Write a coordinate."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _rect(x: float, y: float, width: float, height: float, css: str, title: str = "") -> str:
    box = (
        f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" '
        f'height="{number(height)}" class="{css}"'
    )
    return f"{box}><title>{escape(title)}</title></rect>" if title else f"{box}/>"


def _text(x: float, y: float, label: str, anchor: str = "start", css: str = "") -> str:
    strong = f' class="{css}"' if css else ""
    place = f'x="{number(x)}" y="{number(y)}" text-anchor="{anchor}"'
    return f"<text {place}{strong}>{escape(label)}</text>"


def _line(x1: float, y1: float, x2: float, y2: float, css: str = "axis") -> str:
    return (
        f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}" '
        f'class="{css}"/>'
    )


def _frame(width: float, height: float, label: str, body: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {number(width)} {number(height)}" role="img" '
        f'aria-label="{escape(label)}">{"".join(body)}</svg>'
    )


def share_bar(share: float, css: str = "compute") -> str:
    """Return a small bar for a table cell; decoration, the cell beside it holds the number."""
    width = max(0.0, min(1.0, share)) * 90
    bar = _rect(0, 0, width, 8, css)
    return f'<svg viewBox="0 0 90 8" aria-hidden="true">{_rect(0, 0, 90, 8, "idle")}{bar}</svg>'


def legend(entries: Sequence[tuple[str, str]]) -> str:
    """Return a legend: class and text of each entry."""
    items = "".join(
        f'<li><svg viewBox="0 0 11 11" aria-hidden="true">{_rect(0, 0, 11, 11, css)}</svg>'
        f"{escape(text)}</li>"
        for css, text in entries
    )
    return f'<ul class="legend">{items}</ul>'


def stacked_bars(rows: Sequence[tuple[str, Sequence[Part]]]) -> str:
    """Return one horizontal bar per row, each drawn to the full width by its own sum.

    The labels are text beside the bars, so that they stay readable at any width.
    """
    return f'<div class="bars">{"".join(_bar_row(name, parts) for name, parts in rows)}</div>'


def _bar_row(name: str, parts: Sequence[Part]) -> str:
    total = sum(value for _, value, _ in parts)
    body, x = [], 0.0
    for css, value, title in parts:
        width = value / total * 1000 if total else 0.0
        if width > 0:
            body.append(_rect(x, 0, width, 15, css, title))
        x += width
    spoken = f"{name}: {'; '.join(title for _, value, title in parts if value > 0)}"
    return (
        f'<span>{escape(name)}</span><svg viewBox="0 0 1000 15" preserveAspectRatio="none" '
        f'class="area" style="height:15px" role="img" aria-label="{escape(spoken)}">'
        f"{''.join(body)}</svg>"
    )


def columns(
    label: str,
    items: Sequence[Sequence[Part]],
    show: Format,
    x_labels: tuple[str, str],
    *,
    middle: float | None = None,
    width: float = 1080,
    height: float = 190,
) -> str:
    """Return stacked columns side by side with a y axis from zero.

    ``show`` writes a value of the axis, ``x_labels`` stand below the first and the last column;
    ``middle`` draws a dashed line.
    """
    top, bottom = 8.0, height - 20
    peak = max((sum(value for _, value, _ in parts) for parts in items), default=0.0) or 1.0
    left = max(len(show(peak)), len(show(peak / 2))) * _LABEL_PX + 8
    scale = (bottom - top) / peak
    body = []
    for fraction in (0.0, 0.5, 1.0):
        y = bottom - fraction * (bottom - top)
        body += [
            _line(left, y, width, y),
            _text(left - 6, y + 4, show(peak * fraction) if fraction else "0", "end"),
        ]
    slot = min(MAX_SLOT, (width - left) / max(1, len(items)))
    right = left + slot * len(items)
    gap = 1.0 if slot > 4 else 0.0
    for index, parts in enumerate(items):
        y = bottom
        for css, value, title in parts:
            if value <= 0:
                continue
            column_height = value * scale
            y -= column_height
            x = left + index * slot + gap / 2
            body.append(_rect(x, y, max(0.5, slot - gap), column_height, css, title))
    if middle is not None:
        y = bottom - middle * scale
        body.append(_line(left, y, width, y, "middle"))
    body += [
        _text(left, height - 5, x_labels[0]),
        *_last_label(x_labels, left, right, height - 5),
    ]
    return _frame(width, height, label, body)


def _last_label(labels: tuple[str, str], left: float, right: float, y: float) -> list[str]:
    """Return the last column's label if it finds room beside the first one's."""
    needed = (len(labels[0]) + len(labels[1]) + 1) * _LABEL_PX
    return [_text(right, y, labels[1], "end")] if right - left > needed else []


def area(
    label: str, values: Sequence[float | None], css: str, width: float = 1080, height: float = 40
) -> str:
    """Return a stepped area of shares 0..1; nothing is drawn where a value is unknown."""
    step = width / max(1, len(values))
    base = height - 1
    paths = []
    run: list[str] = []
    for index, value in enumerate([*values, None]):
        if value is None:
            if run:
                paths.append(f"{''.join(run)}V{number(base)}Z")
            run = []
            continue
        y = base - max(0.0, min(1.0, value)) * (height - 3)
        if not run:
            run.append(f"M{number(index * step)} {number(base)}")
        run.append(f"V{number(y)}H{number((index + 1) * step)}")
    shape = f'<path d="{"".join(paths)}" class="{css}"/>' if paths else ""
    ground = _line(0, base, width, base) + _line(0, 2, width, 2)
    return (
        f'<svg viewBox="0 0 {number(width)} {number(height)}" preserveAspectRatio="none" '
        f'class="area" style="height:{number(height)}px" role="img" aria-label="{escape(label)}">'
        f"{ground}{shape}</svg>"
    )


def courses(
    label: str,
    series: Sequence[tuple[str, Sequence[float]]],
    show: Format,
    x_labels: tuple[str, str],
    width: float = 1080,
    height: float = 190,
) -> str:
    """Return lines over a common y axis from zero; each series is its class and its values."""
    top, bottom = 8.0, height - 20
    peak = max((value for _, values in series for value in values), default=0.0) or 1.0
    left = max(len(show(peak)), len(show(peak / 2))) * _LABEL_PX + 8
    scale = (bottom - top) / peak
    body = []
    for fraction in (0.0, 0.5, 1.0):
        y = bottom - fraction * (bottom - top)
        body += [
            _line(left, y, width, y),
            _text(left - 6, y + 4, show(peak * fraction) if fraction else "0", "end"),
        ]
    for css, values in series:
        step = (width - left) / max(1, len(values) - 1)
        points = " ".join(
            f"{number(left + i * step)},{number(bottom - value * scale)}"
            for i, value in enumerate(values)
        )
        body.append(f'<polyline points="{points}" class="{css}"/>')
    body += [
        _text(left, height - 5, x_labels[0]),
        *_last_label(x_labels, left, width, height - 5),
    ]
    return _frame(width, height, label, body)
