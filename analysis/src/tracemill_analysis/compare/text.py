"""A comparison as plain text, 96 columns: what changed, then the figures."""

from __future__ import annotations

from collections.abc import Sequence

from tracemill_analysis.compare.by_name import ByName, Change
from tracemill_analysis.compare.model import Comparison
from tracemill_analysis.compare.summary import PART_WORDS, UNIT_WORDS, change_words
from tracemill_analysis.findings.tables import Row
from tracemill_analysis.report.names import clean, shorten
from tracemill_analysis.report.text_layout import WIDTH, title, wrap
from tracemill_analysis.units import duration, integer, percent, plural

TOP = 20
_NAME = 42


def render_text(comparison: Comparison) -> str:
    """Return the comparison as text."""
    sections = (_head, _steps, _breakdown, _kernels, _ranges, _findings)
    parts = [section(comparison) for section in sections]
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def signed(ns: float) -> str:
    """Write a difference with its sign; ``0`` for none."""
    return f"{'+' if ns > 0 else ''}{duration(ns)}" if ns else "0"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lay out columns: the first to the left, the others to the right."""
    widths = [max(len(line[i]) for line in [header, *rows]) for i in range(len(header))]
    lines = []
    for line in [header, *rows]:
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return lines


def _head(comparison: Comparison) -> list[str]:
    lines = []
    for label, side in (("A", comparison.a), ("B", comparison.b)):
        marks = " [SIMULATED]" * bool(side.job["simulated"])
        marks += " [PARTIAL DATA]" * (side.job["completeness"] != "complete")
        facts = (
            clean(str(side.job["framework"] or "")),
            f"{side.job['gpus']} x {clean(side.job['device_name'])}"
            if side.job["device_name"]
            else plural(side.job["gpus"], "GPU"),
            plural(side.job["ranks"], "rank"),
            plural(side.job["steps"], "step"),
        )
        known = "; ".join(fact for fact in facts if fact)
        lines += wrap(f"{label}: {clean(side.job_name)}{marks} ({known})", "   ")
    lines.append("=" * WIDTH)
    for line in comparison.summary:
        lines += wrap(clean(line), "  ")
    for note in comparison.notes:
        lines += wrap(f"Note: {clean(note)}", "  ")
    return lines


def _steps(comparison: Comparison) -> list[str]:
    steps = comparison.steps
    if steps.a is None or steps.b is None:
        return []
    rows = []
    wait = "waiting for input" if steps.a.wait_is_input or steps.b.wait_is_input else "gap before"
    for name, column in (
        ("median", "p50_ns"), ("mean", "mean_ns"), ("least", "min_ns"), ("most", "max_ns"),
        ("median with the gap before", "period_p50_ns"), (f"median {wait}", "wait_p50_ns"),
    ):  # fmt: skip
        a, b = getattr(steps.a, column), getattr(steps.b, column)
        rows.append((name, duration(a), duration(b), signed(b - a), change_words(a, b)))
    paired = len(steps.pairs) + steps.pairs_left_out
    note = f"{plural(paired, 'step')} aligned by {steps.aligned_by}"
    if steps.unpaired_a or steps.unpaired_b:
        note += f"; without a partner: {steps.unpaired_a} of A, {steps.unpaired_b} of B"
    return [
        *title("Step time (host time, without the first step of each rank)"),
        *table(("", "A", "B", "B - A", ""), rows),
        note,
    ]


def _breakdown(comparison: Comparison) -> list[str]:
    found = comparison.breakdown
    if found is None:
        return []
    unit = UNIT_WORDS[comparison.basis.unit]
    rows = [_part(PART_WORDS[row["part"]], row) for row in found.parts]
    rows.append(_part("window", found.window))
    rows += [_part(f"idle: {row['cause']}", row) for row in found.idle_causes]
    return [
        *title(f"GPU time {unit} (window {found.window_kind}, all GPUs)"),
        *table(("", "A", "share", "B", "share", "B - A"), rows),
    ]


def _part(name: str, row: Row) -> tuple[str, ...]:
    return (
        name,
        duration(row["a_per_unit_ns"]),
        percent(row["a_share"]),
        duration(row["b_per_unit_ns"]),
        percent(row["b_share"]),
        signed(row["delta_per_unit_ns"]),
    )


def _kernels(comparison: Comparison) -> list[str]:
    if comparison.kernels is None:
        return []
    unit = UNIT_WORDS[comparison.basis.unit]
    return [*title(f"Kernels by time {unit}"), *_by_name(comparison.kernels)]


def _ranges(comparison: Comparison) -> list[str]:
    if comparison.ranges is None:
        return []
    unit = UNIT_WORDS[comparison.basis.unit]
    return [*title(f"Annotated ranges by time {unit}"), *_by_name(comparison.ranges)]


def _by_name(found: ByName) -> list[str]:
    differing = [row for row in found.rows if row["change"] != Change.SAME]
    same = len(found.rows) - len(differing)
    shown = differing[:TOP]
    lines = []
    if shown:
        rows = [
            (
                shorten(row["name"], _NAME),
                row["change"].replace("_", " "),
                duration(row["a_per_unit_ns"]),
                duration(row["b_per_unit_ns"]),
                signed(row["delta_per_unit_ns"]),
                f"{row['mean_ratio']:.2f}x" if row["mean_ratio"] is not None else "-",
            )
            for row in shown
        ]
        lines = table(("name", "change", "A", "B", "B - A", "per run"), rows)
    if len(differing) > TOP:
        lines.append(f"{integer(len(differing) - TOP)} more differ: see --format json")
    return [*lines, f"{integer(same)} of {plural(len(found.rows), 'name')} within 5 %"]


def _findings(comparison: Comparison) -> list[str]:
    found = comparison.findings
    lines = title("Findings")
    for word, rows, side in (
        ("gained", found.gained, "b_"), ("lost", found.lost, "a_"), ("kept", found.kept, "b_"),
    ):  # fmt: skip
        for row in rows:
            text = f"{word}: [{row[f'{side}severity']}] {clean(row[f'{side}title'])}"
            lines += wrap(text, "  ")
    for row in found.unknown:
        found_in, other = ("A", "B") if "a_title" in row else ("B", "A")
        text = f"unknown: {row['rule']} was found in {found_in}; {other} cannot answer it: "
        lines += wrap(text + clean(row["needed"]), "  ")
    return lines if len(lines) > 2 else [*lines, "None in either job."]
