"""The sentences that open a comparison: step time, where it comes from, findings."""

from __future__ import annotations

from tracemill_analysis.compare.breakdown import Breakdown
from tracemill_analysis.compare.by_name import ByName, Change
from tracemill_analysis.compare.findings import FindingChanges
from tracemill_analysis.compare.side import Basis
from tracemill_analysis.compare.steps import Steps
from tracemill_analysis.findings.tables import Row
from tracemill_analysis.units import duration, percent

PART_WORDS = {
    "compute": "computing",
    "exposed_communication": "exposed communication",
    "exposed_memory": "exposed copies and memsets",
    "idle": "idle",
}
UNIT_WORDS = {"step": "per step", "gpu": "per GPU", "process": "per process"}
_CLOSE = 0.01


def summary(
    basis: Basis,
    steps: Steps,
    breakdown: Breakdown | None,
    kernels: ByName | None,
    findings: FindingChanges,
    *,
    same: bool,
) -> list[str]:
    """Return one to four sentences."""
    if same:
        return ["No difference: every figure that can be compared is equal."]
    lines = [_steps(steps), _gpu_time(breakdown, basis), _kernels(kernels), _findings(findings)]
    return [line for line in lines if line]


def change_words(a: float, b: float) -> str:
    """Write what became of a time: ``33 % shorter``, ``1.2 % longer``, ``about the same``."""
    if not a:
        return "new" if b else "the same"
    share = b / a - 1
    if abs(share) < _CLOSE:
        return "about the same" if share else "the same"
    return f"{percent(abs(share))} {'longer' if share > 0 else 'shorter'}"


def _steps(steps: Steps) -> str:
    if steps.a is None or steps.b is None:
        return ""
    a, b = steps.a, steps.b
    text = (
        f"A step takes {duration(b.p50_ns)} in B and {duration(a.p50_ns)} in A (medians): "
        f"{change_words(a.p50_ns, b.p50_ns)}"
    )
    if max(a.wait_p50_ns, b.wait_p50_ns) >= 0.05 * max(a.p50_ns, b.p50_ns):
        what = "for input " if a.wait_is_input or b.wait_is_input else "between steps "
        text += f"; the wait {what}is {duration(b.wait_p50_ns)} against {duration(a.wait_p50_ns)}"
    return f"{text}."


def _gpu_time(breakdown: Breakdown | None, basis: Basis) -> str:
    if breakdown is None:
        return ""
    each = UNIT_WORDS[basis.unit]
    window = breakdown.window
    a, b = window["a_per_unit_ns"], window["b_per_unit_ns"]
    moved = sorted(breakdown.parts, key=lambda row: -abs(row["delta_per_unit_ns"]))
    parts = ", ".join(
        f"{PART_WORDS[row['part']]} {_signed(row)}"
        for row in moved
        if abs(row["delta_per_unit_ns"]) >= _CLOSE * max(a, b)
    )
    text = f"GPU time {each}: {duration(b)} in B, {duration(a)} in A, {change_words(a, b)}"
    return f"{text} ({parts})." if parts else f"{text}."


def _signed(row: Row) -> str:
    delta = row["delta_per_unit_ns"]
    return f"{'+' if delta > 0 else '-'}{duration(abs(delta))}"


_SAID = (
    (Change.ADDED, "added"),
    (Change.REMOVED, "removed"),
    (Change.SLOWER, "slower per run"),
    (Change.FASTER, "faster per run"),
    (Change.MORE_RUNS, "run more often"),
    (Change.FEWER_RUNS, "run less often"),
)


def _kernels(kernels: ByName | None) -> str:
    if kernels is None:
        return ""
    said = [f"{kernels.changes[c]} {words}" for c, words in _SAID if kernels.changes[c]]
    return f"Kernels by name: {', '.join(said)}." if said else "Kernels: the same names and times."


def _findings(findings: FindingChanges) -> str:
    parts = [
        f"{word} {', '.join(row['rule'] for row in rows)}"
        for word, rows in (
            ("gained", findings.gained),
            ("lost", findings.lost),
            ("not answerable in one of them", findings.unknown),
        )
        if rows
    ]
    return f"Findings: {'; '.join(parts)}." if parts else "Findings: the same rules."
