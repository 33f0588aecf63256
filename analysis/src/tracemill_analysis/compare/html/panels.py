"""Panels of a comparison: steps, GPU time, kernels, ranges, findings."""

from __future__ import annotations

from collections.abc import Sequence

from tracemill_analysis.compare.by_name import ByName, Change
from tracemill_analysis.compare.model import Comparison
from tracemill_analysis.compare.summary import PART_WORDS, UNIT_WORDS, change_words
from tracemill_analysis.findings.tables import Row
from tracemill_analysis.report.html import parts, svg
from tracemill_analysis.report.html.parts import Cell
from tracemill_analysis.report.names import shorten, tie
from tracemill_analysis.units import duration, integer, percent, plural

MAX_POINTS = 240
MAX_NAMES = 60
_COLOURS = {
    "compute": "compute",
    "exposed_communication": "comm",
    "exposed_memory": "memory",
    "idle": "idle",
}


def steps(comparison: Comparison) -> str:
    """Return the aligned steps as two courses, and their statistics."""
    found = comparison.steps
    if found.a is None or found.b is None:
        return ""
    chart = ""
    if len(found.pairs) > 1:
        shown = _thinned(found.pairs)
        series = [
            ("course-a", [float(pair["a_dur_ns"]) for pair in shown]),
            ("course-b", [float(pair["b_dur_ns"]) for pair in shown]),
        ]
        first, last = shown[0], shown[-1]
        ends = (f"step {first['a_step']} | {first['b_step']}",
                f"step {last['a_step']} | {last['b_step']}")  # fmt: skip
        key = svg.legend([("key-a", "A (dashed)"), ("key-b", "B")])
        chart = (
            f"{key}<figure>{svg.courses('Step time of A and B', series, duration, ends)}</figure>"
        )
    named = found.a.wait_is_input or found.b.wait_is_input
    wait = "median wait for input" if named else "median gap before"
    rows = []
    for label, column in (
        ("median", "p50_ns"), ("mean", "mean_ns"), ("least", "min_ns"), ("most", "max_ns"),
        ("median with the gap before", "period_p50_ns"), (wait, "wait_p50_ns"),
    ):  # fmt: skip
        a, b = getattr(found.a, column), getattr(found.b, column)
        rows.append([parts.words(label), parts.time(a), parts.time(b), _delta(b - a),
                     parts.words(change_words(a, b))])  # fmt: skip
    paired = len(found.pairs) + found.pairs_left_out
    note = f"{plural(paired, 'step')} aligned by {found.aligned_by}"
    if found.unpaired_a or found.unpaired_b:
        note += f"; without a partner: {found.unpaired_a} of A, {found.unpaired_b} of B"
    return parts.panel(
        "Step time",
        f"Host time of a step, the slowest rank's in the chart; {note}. The figures leave out the "
        "first step of each rank that has others.",
        f"{chart}{parts.table('', ('', 'A', 'B', 'B - A', ''), rows)}",
        wide=True,
    )


def _thinned(pairs: Sequence[Row]) -> list[Row]:
    """Keep the pair that differs most of each run of steps where there are too many."""
    size = -(-len(pairs) // MAX_POINTS)
    runs = [pairs[i : i + size] for i in range(0, len(pairs), size)]
    return [max(run, key=lambda pair: abs(pair["delta_ns"])) for run in runs]


def gpu_time(comparison: Comparison) -> str:
    """Return the partition of GPU time of both jobs on one scale."""
    found = comparison.breakdown
    if found is None:
        return ""
    whole = max(found.window["a_per_unit_ns"], found.window["b_per_unit_ns"])
    bars = [(side.upper(), _bar(found.parts, side, whole)) for side in ("a", "b")]
    key = svg.legend([(_COLOURS[part], PART_WORDS[part]) for part in _COLOURS])
    rows = [_part(PART_WORDS[row["part"]], row) for row in [*found.parts]]
    rows.append(_part("window", found.window))
    causes = [_part(row["cause"].replace("_", " "), row) for row in found.idle_causes]
    head = ("", "A", "share", "B", "share", "B - A")
    unit = UNIT_WORDS[comparison.basis.unit]
    idle = parts.table("Why the GPUs were idle (window all_gpu)", head, causes)
    return parts.panel(
        f"GPU time {unit}",
        f"Window {found.window_kind}, all GPUs, both bars on one scale; the parts add up to the "
        "window exactly.",
        f"{key}<figure>{svg.stacked_bars(bars)}</figure>{parts.table('', head, rows)}{idle}",
        wide=True,
    )


def _bar(rows: Sequence[Row], side: str, whole: float) -> list[svg.Part]:
    shown = [
        (
            _COLOURS[row["part"]],
            row[f"{side}_per_unit_ns"],
            f"{PART_WORDS[row['part']]}: {duration(row[f'{side}_per_unit_ns'])}, "
            f"{percent(row[f'{side}_share'])}",
        )
        for row in rows
    ]
    rest = whole - sum(value for _, value, _ in shown)
    return [*shown, ("none", max(0.0, rest), "")]


def _part(name: str, row: Row) -> list[Cell]:
    return [
        parts.words(name),
        parts.time(row["a_per_unit_ns"]),
        parts.share(row["a_share"]),
        parts.time(row["b_per_unit_ns"]),
        parts.share(row["b_share"]),
        _delta(row["delta_per_unit_ns"]),
    ]


def kernels(comparison: Comparison) -> str:
    """Return the kernels whose time differs most."""
    unit = UNIT_WORDS[comparison.basis.unit]
    return _by_name(
        comparison.kernels,
        f"Kernels by name, time {unit}",
        "Those whose time differs most come first. Slower and faster: the mean of a run differs by "
        "more than 5 %.",
    )


def ranges(comparison: Comparison) -> str:
    """Return the annotated ranges whose time differs most."""
    unit = UNIT_WORDS[comparison.basis.unit]
    return _by_name(
        comparison.ranges,
        f"Annotated ranges, time {unit}",
        "Ranges by series, all threads and ranks together.",
    )


def _by_name(found: ByName | None, title: str, help_text: str) -> str:
    if found is None:
        return ""
    differing = [row for row in found.rows if row["change"] != Change.SAME]
    rows = [
        [
            parts.name(row["name"]),
            parts.words(row["change"].replace("_", " ")),
            parts.time(row["a_per_unit_ns"]),
            parts.time(row["b_per_unit_ns"]),
            _delta(row["delta_per_unit_ns"]),
            _runs(row["a_per_unit_runs"]),
            _runs(row["b_per_unit_runs"]),
            Cell(f"{row['mean_ratio']:.2f}x" if row["mean_ratio"] is not None else "–"),
        ]
        for row in differing[:MAX_NAMES]
    ]
    same = len(found.rows) - len(differing)
    note = f"{integer(same)} of {plural(len(found.rows), 'name')} differ by no more than 5 %."
    if len(differing) > MAX_NAMES:
        note += f" {integer(len(differing) - MAX_NAMES)} more that differ are in the JSON."
    head = ("name", "change", "A", "B", "B - A", "runs A", "runs B", "per run")
    body = f'{parts.table("", head, rows)}<p class="note">{parts.text(note)}</p>'
    return parts.panel(title, help_text, body, wide=True)


def _runs(value: float) -> Cell:
    return Cell(f"{value:,.1f}".removesuffix(".0"))


def _delta(ns: float) -> Cell:
    cell = parts.time(ns)
    return Cell(cell.html.replace('">', '">+', 1)) if ns > 0 else cell


def findings(comparison: Comparison) -> str:
    """Return the findings gained, lost, kept and not answerable."""
    found = comparison.findings
    cards = [
        *(_card("gained", row, "b_") for row in found.gained),
        *(_card("lost", row, "a_") for row in found.lost),
        *(_card("unknown", row, "a_" if "a_title" in row else "b_") for row in found.unknown),
        *(_card("kept", row, "b_") for row in found.kept),
    ]
    return "".join(cards) or "<p>No rule found anything in either job.</p>"


_WORDS = {"gained": "gained", "lost": "lost", "kept": "in both", "unknown": "unknown"}
_CSS = {"gained": "high", "lost": "gone", "kept": "info", "unknown": "medium"}


def _card(kind: str, row: Row, side: str) -> str:
    title = parts.text(tie(shorten(row[f"{side}title"], 700)))
    note = ""
    if kind == "unknown":
        other = "B" if side == "a_" else "A"
        note = f"{other} cannot answer it: {parts.text(shorten(row['needed'], 300))}"
    stakes = "".join(
        f"<span>{label}: {parts.time(row[f'{key}at_stake_ns']).html}</span>"
        for label, key in (("A", "a_"), ("B", "b_"))
        if f"{key}title" in row
    )
    return (
        f'<article class="finding"><div class="tag {_CSS[kind]}">{_WORDS[kind]}</div>'
        f'<div class="body"><h3>{title}</h3><p class="note">{note or parts.text(row["rule"])}</p>'
        f'</div><div class="stake">{stakes}</div></article>'
    )
