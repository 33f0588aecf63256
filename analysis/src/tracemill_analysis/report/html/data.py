"""Panels on the data itself: what was dropped, and the processes it came from."""

from __future__ import annotations

from collections.abc import Sequence

from tracemill_analysis.findings.tables import Row
from tracemill_analysis.report.figures import Figures
from tracemill_analysis.report.html import parts
from tracemill_analysis.report.html.parts import Cell
from tracemill_analysis.units import integer


def drops(figures: Figures) -> str:
    """Return what was dropped, repaired or left without a link."""
    rows = [
        [
            parts.name(row["source_file"], 60),
            Cell("–" if row["rank"] is None else str(row["rank"])),
            parts.words(row["reason"]),
            parts.count(row["events"]),
            parts.words("lost" if row["lost"] else "kept or not used"),
            parts.name(row["example"] or "–", 60),
        ]
        for row in figures.drops
    ]
    head = ("source", "rank", "reason", "events", "effect", "first place")
    return parts.panel(
        "Dropped, repaired or unlinked",
        "Everything that was found and is not, or not wholly, in the tables.",
        parts.table("", head, rows),
        wide=True,
    )


def processes(figures: Figures) -> str:
    """Return the recorded processes."""
    rows = [_process(row) for row in figures.processes[:128]]
    more = len(figures.processes) - len(rows)
    note = f'<p class="note">{integer(more)} more processes are in report.json.</p>' if more else ""
    head = (
        "source", "rank", "rank from", "node", "pid", "GPUs", "format", "clock spread", "read",
        "kept", "lost", "data", "end",
    )  # fmt: skip
    return parts.panel(
        "Processes",
        "Clock spread: how far the readings that tie this process's clock to the job's differ.",
        parts.table("", head, rows) + note,
        wide=True,
    )


def _process(row: Row) -> Sequence[Cell]:
    return [
        parts.name(row["source_file"], 48),
        Cell("–" if row["rank"] is None else str(row["rank"])),
        parts.words(row["rank_source"]),
        parts.words(row["node"]),
        Cell("–" if row["pid"] is None else str(row["pid"])),
        Cell(parts.text(row["devices"] or "–")),
        parts.words(row["source_format"]),
        parts.time(row["clock_spread_ns"]),
        parts.count(row["events_read"]),
        parts.count(row["events_kept"]),
        parts.count(row["events_dropped"]),
        parts.words("complete" if row["complete"] else "partial"),
        parts.words(row["end_reason"] or "–"),
    ]
