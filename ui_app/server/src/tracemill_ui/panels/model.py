"""What a panel is, and the few operations that all panels share.

A panel is a JSON object: ``id, title, help, unit, window, kind, span`` and the data of its kind:

    shares     parts: [{label, value, share}], total, stats      parts of a whole
    bars       rows: [{label, value, share}], stats              ranked values
    lines      x_unit, series: [{name, x, y}]                    values over time or steps
    histogram  edges (n+1), counts (n), stats                    a distribution
    stacked    parts: [{key, label}], rows: [{label, values, total}]
    table      columns: [{key, label, unit}], rows

or ``empty``: the sentence that says why there is nothing to draw. ``unit`` is one of ns, share,
count, bytes, bytes/s, text; ``span`` is a width in twelfths of the page; ``window`` states over
what the values are taken and what shares are of; ``options`` are the panel's own controls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow.compute as pc

from tracemill_ui.filters import Filter
from tracemill_ui.loaded import Profile

Panel = dict[str, Any]
Row = dict[str, Any]

MAX_TOP = 15
MAX_ROWS = 500
"""Rows of a table panel; what is left out is stated."""


@dataclass(frozen=True)
class Options:
    """The panels' own controls: parts shown by the two "all kernels" panels, window kind, time."""

    k: int = 15
    window_kind: str = "all_gpu"
    step_time: str = "host"


@dataclass(frozen=True)
class Context:
    """What a panel is computed from: a loaded profile seen through a filter."""

    profile: Profile
    filter: Filter = field(default_factory=Filter)
    options: Options = field(default_factory=Options)

    def table(self, name: str) -> Any:
        """Return a table (``pyarrow.Table``) without the rows the filter hides."""
        return self.filter.apply(self.profile.tables[name])

    @cached_property
    def steps(self) -> Any:
        """The ``step_summary`` rows that match, the range of steps included."""
        return self.filter.apply_steps(self.profile.tables["step_summary"])

    @cached_property
    def step_span_ns(self) -> tuple[int, int] | None:
        """First start and last end of the chosen steps; None without a choice or a match."""
        if self.filter.steps is None or not self.steps.num_rows:
            return None
        ends = pc.add(self.steps["start_ns"], self.steps["dur_ns"])
        return pc.min(self.steps["start_ns"]).as_py(), pc.max(ends).as_py()

    @cached_property
    def start_ns(self) -> int:
        """Start of the profile: the zero of all time axes."""
        return int(self.profile.entry.job.get("start_ns") or 0)

    @cached_property
    def windows(self) -> list[Row]:
        """The ``time_breakdown`` rows of the all_gpu window, one per GPU."""
        return [
            row
            for row in self.table("time_breakdown").to_pylist()
            if row["window_kind"] == "all_gpu"
        ]

    @property
    def gpus_text(self) -> str:
        """The GPUs a panel covers, in words."""
        return counted(len(self.windows), "GPU")

    @property
    def whole_text(self) -> str:
        """What to add to the window of a panel that a range of steps does not restrict."""
        return "" if self.filter.steps is None else " The range of steps does not apply here."


def panel(panel_id: str, title: str, about: str, *, unit: str, window: str, span: int = 4) -> Panel:
    """Begin a panel: what all kinds have."""
    return {
        "id": panel_id,
        "title": title,
        "help": about,
        "unit": unit,
        "window": window,
        "span": span,
        "kind": "empty",
        "options": [],
        "stats": [],
    }


def with_shares(base: Panel, parts: Sequence[tuple[str, int]], total: int) -> Panel:
    """Finish a panel of parts of a whole: ``(label, value)``, shares are of ``total``."""
    rows = [{"label": n, "value": v, "share": v / total if total else 0.0} for n, v in parts]
    return {**base, "kind": "shares", "parts": rows, "total": total}


def with_bars(base: Panel, rows: Sequence[tuple[str, int]], total: int) -> Panel:
    """Finish a ranked panel: ``(label, value)``, shares are of ``total``."""
    bars = [{"label": n, "value": v, "share": v / total if total else 0.0} for n, v in rows]
    return {**base, "kind": "bars", "rows": bars, "total": total}


def with_table(base: Panel, columns: Sequence[tuple[str, str, str]], rows: list[Row]) -> Panel:
    """Finish a table panel: columns are ``(key, label, unit)``; rows beyond MAX_ROWS are cut."""
    heads = [{"key": key, "label": label, "unit": unit} for key, label, unit in columns]
    if len(rows) > MAX_ROWS:
        base = {**base, "window": f"{base['window']} First {MAX_ROWS} of {len(rows)} rows."}
    keys = [key for key, _, _ in columns]
    cells = [{key: row[key] for key in keys} for row in rows[:MAX_ROWS]]
    return {**base, "kind": "table", "columns": heads, "rows": cells}


def without_data(base: Panel, sentence: str) -> Panel:
    """Finish a panel that has nothing to draw, saying why."""
    return {**base, "empty": sentence}


def choice(name: str, label: str, value: str, choices: Sequence[tuple[str, str]]) -> Row:
    """Build a control that picks one of several words: choices are ``(value, label)``."""
    listed = [{"value": word, "label": text} for word, text in choices]
    return {"name": name, "label": label, "type": "choice", "value": value, "choices": listed}


def whole(name: str, label: str, value: int, low: int, high: int) -> Row:
    """Build a control for a whole number."""
    return {"name": name, "label": label, "type": "int", "value": value, "min": low, "max": high}


def stat(label: str, value: float | int | str | None, unit: str) -> Row:
    """Build one figure of a panel's line of figures."""
    return {"label": label, "value": value, "unit": unit}


def sum_by(table: Any, keys: Sequence[str], columns: Sequence[str]) -> list[Row]:
    """Group a table by ``keys`` and sum integer ``columns`` exactly; largest first column first."""
    grouped = table.group_by(list(keys)).aggregate([(column, "sum") for column in columns])
    rows = [
        {**{key: row[key] for key in keys}, **{c: row[f"{c}_sum"] or 0 for c in columns}}
        for row in grouped.to_pylist()
    ]
    return sorted(rows, key=lambda row: (-row[columns[0]], *(str(row[key]) for key in keys)))


def top_and_others(rows: Sequence[tuple[str, int]], top: int, noun: str) -> list[tuple[str, int]]:
    """Keep the ``top`` largest and sum the rest into one part named with their number."""
    kept, rest = list(rows[:top]), rows[top:]
    if rest:
        kept.append((f"{len(rest):,} other {noun}", sum(value for _, value in rest)))
    return kept


def counted(number: int, noun: str, plural: str = "") -> str:
    """Write a number with its noun: ``1 GPU``, ``8 GPUs``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def rank_label(row: Row, *, with_device: bool = True) -> str:
    """Name the place a row is about: ``rank 3 · GPU 1``."""
    place = f"rank {row['rank']}" if row["rank"] is not None else f"process {row['process_id']}"
    return f"{place} · GPU {row['device']}" if with_device else place
