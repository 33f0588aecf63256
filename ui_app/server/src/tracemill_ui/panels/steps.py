"""Panels about training steps: their distribution, and their time one after another."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import Any

from tracemill_ui.histogram import histogram, quantile
from tracemill_ui.panels.model import Context, Panel, choice, panel, stat, without_data

MAX_LINES = 8
MAX_POINTS = 2_000
NO_STEPS = "No step annotations were recorded. Annotate a step as step_<n> to see step times."
MEASURES = {"host": "host time", "gpu": "GPU time", "gap": "wait before"}
_COLUMN = {"host": "dur_ns", "gpu": "gpu_span_ns", "gap": "gap_before_ns"}


def step_histogram(context: Context) -> Panel:
    """Distribution of step times."""
    base = _base(
        context,
        "step_histogram",
        "Step time distribution",
        "A narrow hill is a steady training; a second hill or values far right are slow steps.",
    )
    rows = _rows(context)
    if not rows:
        return without_data(base, _nothing(context))
    values = sorted(row["value"] for row in rows)
    slowest = max(rows, key=lambda row: row["value"])
    base["stats"] = [
        stat("Steps", len(values), "count"),
        stat("Median", quantile(values, 0.5), "ns"),
        stat("95 %", quantile(values, 0.95), "ns"),
        stat(f"Slowest: step {slowest['step']}{_rank(slowest)}", slowest["value"], "ns"),
    ]
    return {**base, "kind": "histogram", **histogram(values), "count_unit": "steps"}


def step_series(context: Context) -> Panel:
    """Step time over the step number, per rank or as median and maximum of the ranks."""
    base = _base(
        context,
        "step_series",
        "Step time by step",
        "Shows when steps were slow: once, again and again, or ever slower; the first warm up.",
    )
    rows = _rows(context)
    if not rows:
        return without_data(base, _nothing(context))
    by_process: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_process[row["process_id"]].append(row)
    repeated = any(len({r["step"] for r in p}) < len(p) for p in by_process.values())
    axis = "occurrence" if repeated else "step"
    if repeated:
        base["window"] += " Step numbers repeat, so steps are shown in their order."
    lines = (
        [_line(_process_name(p[0]), p, axis) for p in by_process.values()]
        if len(by_process) <= MAX_LINES
        else _over_ranks(rows, axis)
    )
    if any(len(line["x"]) > MAX_POINTS for line in lines):
        base["window"] += " Neighbouring steps are drawn as one point, at their longest."
        lines = [_thin(line) for line in lines]
    return {**base, "kind": "lines", "x_unit": "step", "y_max": None, "series": lines}


def _base(context: Context, panel_id: str, title: str, about: str) -> Panel:
    measure = context.options.step_time
    chosen = context.filter.steps
    which = f"Steps {chosen[0]} to {chosen[1]}" if chosen else "All steps"
    base = panel(
        panel_id,
        title,
        about,
        unit="ns",
        window=f"{which} of every rank shown, {_MEASURED[measure]}.",
        span=6,
    )
    steps = context.profile.tables["step_summary"]
    known = [w for w in MEASURES if steps[_COLUMN[w]].null_count < steps.num_rows or w == measure]
    if len(known) > 1:
        words = [(word, MEASURES[word]) for word in known]
        base["options"] = [choice("step_time", "Time", measure, words)]
    return base


_MEASURED = {
    "host": "from start to end of the annotation on the host",
    "gpu": "from the first start to the last end of the GPU events launched in it",
    "gap": "from the end of the step before to its start on the host",
}


def _rows(context: Context) -> list[dict[str, Any]]:
    column = _COLUMN[context.options.step_time]
    names = ["process_id", "rank", "occurrence", "step", column]
    rows = context.steps.select(names).to_pylist()
    return [{**row, "value": row[column]} for row in rows if row[column] is not None]


def _nothing(context: Context) -> str:
    if context.filter.steps and context.profile.tables["step_summary"].num_rows:
        return "No step lies in the chosen range."
    return NO_STEPS


def _rank(row: dict[str, Any]) -> str:
    return "" if row["rank"] is None else f", rank {row['rank']}"


def _process_name(row: dict[str, Any]) -> str:
    return f"process {row['process_id']}" if row["rank"] is None else f"rank {row['rank']}"


def _line(name: str, rows: list[dict[str, Any]], axis: str) -> dict[str, Any]:
    rows = sorted(rows, key=lambda row: row["occurrence"])
    return {"name": name, "x": [r[axis] for r in rows], "y": [r["value"] for r in rows]}


def _over_ranks(rows: list[dict[str, Any]], axis: str) -> list[dict[str, Any]]:
    by_step: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        by_step[row[axis]].append(row["value"])
    x = sorted(by_step)
    return [
        {"name": "slowest rank", "x": x, "y": [max(by_step[step]) for step in x]},
        {"name": "median rank", "x": x, "y": [statistics.median_low(by_step[s]) for s in x]},
    ]


def _thin(line: dict[str, Any]) -> dict[str, Any]:
    merged = -(-len(line["x"]) // MAX_POINTS)
    starts = range(0, len(line["x"]), merged)
    return {
        "name": line["name"],
        "x": [line["x"][at] for at in starts],
        "y": [max(line["y"][at : at + merged]) for at in starts],
    }
