"""The Compare page: two jobs side by side, as panels. All figures are the engine's comparison's."""

from __future__ import annotations

from typing import Any

from tracemill_analysis.compare.breakdown import Breakdown
from tracemill_analysis.compare.by_name import ByName, Change
from tracemill_analysis.compare.model import Comparison, compare_jobs
from tracemill_analysis.store import Store

from tracemill_ui.panels.model import MAX_ROWS, Panel, Row, panel, stat, with_table, without_data
from tracemill_ui.panels.waiting import CAUSE_LABELS

PART_KEYS = {
    "compute": ("compute", "Compute"),
    "exposed_communication": ("exposed_comm", "Exposed communication"),
    "exposed_memory": ("exposed_mem", "Exposed memory"),
    "idle": ("idle", "Idle"),
}
UNIT_WORDS = {"step": "per step of one rank", "gpu": "per GPU", "process": "per process"}
CHANGE_WORDS: dict[str, str] = {
    Change.ADDED: "only in B",
    Change.REMOVED: "only in A",
    Change.SLOWER: "slower",
    Change.FASTER: "faster",
    Change.MORE_RUNS: "more runs",
    Change.FEWER_RUNS: "fewer runs",
    Change.SAME: "same",
}


def comparison(store: Store, a: str, b: str) -> dict[str, Any]:
    """Compare two processed jobs; raises what ``compare_jobs`` raises."""
    found = compare_jobs(store, a, b)
    return {
        "a": a,
        "b": b,
        "same": found.same,
        "summary": found.summary,
        "notes": found.notes,
        "panels": [
            _steps(found),
            _breakdown(found),
            _idle_causes(found),
            _names(found, found.kernels, "compare_kernels", "Kernels by name", "kernel"),
            _names(found, found.ranges, "compare_ranges", "Annotations by name", "annotation"),
        ],
        "findings": {
            "gained": found.findings.gained,
            "lost": found.findings.lost,
            "kept": found.findings.kept,
            "unknown": found.findings.unknown,
        },
    }


def _steps(found: Comparison) -> Panel:
    steps = found.steps
    base = panel(
        "compare_steps",
        "Step time",
        "One point per step, the slowest rank of each. Two parallel lines are a general change; a "
        "single peak is an event.",
        unit="ns",
        window=f"Steps aligned by {steps.aligned_by or 'nothing'}, host time.",
        span=12,
    )
    if not steps.pairs:
        return without_data(base, "At least one of the two has no steps to align.")
    for name, times in (("A", steps.a), ("B", steps.b)):
        if times is not None:
            base["stats"].append(stat(f"Median {name}", times.p50_ns, "ns"))
    if steps.p50_ratio is not None:
        base["stats"].append(stat("B / A", round(steps.p50_ratio, 3), "count"))
    x = [pair["a_step"] for pair in steps.pairs]
    if len(set(x)) < len(x):
        x = list(range(len(x)))
    series = [
        {"name": name, "x": x, "y": [pair[f"{side}_dur_ns"] for pair in steps.pairs]}
        for side, name in (("a", f"A {found.a.job_name}"), ("b", f"B {found.b.job_name}"))
    ]
    return {**base, "kind": "lines", "x_unit": "step", "y_max": None, "series": series}


def _breakdown(found: Comparison) -> Panel:
    base = panel(
        "compare_breakdown",
        "Time breakdown",
        "Where the time of a GPU goes; a longer part of B is what it loses.",
        unit="ns",
        window=f"GPU time {_unit(found)}.",
        span=6,
    )
    if found.breakdown is None:
        return without_data(base, "At least one of the two has no GPU events.")
    return _two_bars(base, found.breakdown.parts, "part")


def _idle_causes(found: Comparison) -> Panel:
    base = panel(
        "compare_idle",
        "Idle causes",
        "Why the GPUs had nothing to do.",
        unit="ns",
        window=f"Idle time {_unit(found)}.",
        span=6,
    )
    if found.breakdown is None or not _any(found.breakdown):
        return without_data(base, "Neither has idle time within the window of its GPU events.")
    return _two_bars(base, found.breakdown.idle_causes, "cause")


def _any(breakdown: Breakdown) -> bool:
    return any(row["a_ns"] or row["b_ns"] for row in breakdown.idle_causes)


def _two_bars(base: Panel, rows: list[Row], key: str) -> Panel:
    parts = [PART_KEYS.get(row[key]) or (row[key], CAUSE_LABELS[row[key]]) for row in rows]
    bars = []
    for side in ("a", "b"):
        values = [row[f"{side}_per_unit_ns"] or 0 for row in rows]
        bars.append({"label": side.upper(), "values": values, "total": sum(values)})
    listed = [{"key": name, "label": label} for name, label in parts]
    return {**base, "kind": "stacked", "parts": listed, "rows": bars, "total_label": "Sum"}


def _names(found: Comparison, names: ByName | None, panel_id: str, title: str, noun: str) -> Panel:
    base = panel(
        panel_id,
        title,
        "Those whose time differs most stand first.",
        unit="ns",
        window=f"Time and runs {_unit(found)}, all ranks together.",
        span=12,
    )
    if names is None:
        return without_data(base, f"At least one of the two has no {noun}s.")
    words = CHANGE_WORDS
    base["stats"] = [
        stat(words.get(change, change), count, "count")
        for change, count in names.changes.items()
        if count
    ]
    rows = [
        {**row, "change": words.get(row["change"], row["change"])} for row in names.rows[:MAX_ROWS]
    ]
    columns = [
        ("name", "Name", "text"),
        ("change", "Change", "text"),
        ("delta_per_unit_ns", "B - A", "ns"),
        ("a_per_unit_ns", "A", "ns"),
        ("b_per_unit_ns", "B", "ns"),
        ("a_per_unit_runs", "Runs A", "count"),
        ("b_per_unit_runs", "Runs B", "count"),
        ("a_mean_ns", "Mean A", "ns"),
        ("b_mean_ns", "Mean B", "ns"),
    ]
    if len(names.rows) > MAX_ROWS:
        base["window"] += f" First {MAX_ROWS} of {len(names.rows)} names."
    return with_table(base, columns, rows)


def _unit(found: Comparison) -> str:
    return UNIT_WORDS.get(found.basis.unit, f"per {found.basis.unit}")
