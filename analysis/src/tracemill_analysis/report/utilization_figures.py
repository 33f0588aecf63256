"""Utilisation over time, thinned to what fits a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracemill_analysis.findings.tables import Row

MAX_BINS = 160
MAX_STRIPS = 16
WHOLE_NODE = -1


@dataclass(frozen=True)
class Strip:
    """One line of utilisation: bins of equal length from ``start_ns`` on; null where unknown."""

    label: str
    resource: str
    start_ns: int
    bin_ns: int
    values: list[float | None]
    mean: float


def utilization_strips(rows: Sequence[Row]) -> list[Strip]:
    """Return one strip per GPU (or the mean per node if there are many) and per node's CPUs."""
    gpu = [row for row in rows if row["resource"] == "gpu"]
    cpu = [row for row in rows if row["resource"] == "cpu" and row["index"] == WHOLE_NODE]
    gpus: dict[str, list[Row]] = {}
    for row in gpu:
        where = f"rank {row['rank']}, " if row["rank"] is not None else ""
        gpus.setdefault(f"{where}GPU {row['index']} of {row['node']}", []).append(row)
    if len(gpus) > MAX_STRIPS:
        gpus = {}
        for row in gpu:
            gpus.setdefault(f"{row['node']}, mean of its GPUs", []).append(row)
    nodes: dict[str, list[Row]] = {}
    for row in cpu:
        nodes.setdefault(f"CPUs of {row['node']}", []).append(row)
    found = [_strip(label, "gpu", group) for label, group in gpus.items()]
    found += [_strip(label, "cpu", group) for label, group in nodes.items()]
    return [strip for strip in found if strip is not None][: 2 * MAX_STRIPS]


def _strip(label: str, resource: str, rows: Sequence[Row]) -> Strip | None:
    rows = [row for row in rows if row["bin_ns"] > 0]
    if not rows:
        return None
    start = min(row["bin_start_ns"] for row in rows)
    end = max(row["bin_start_ns"] + row["bin_ns"] for row in rows)
    smallest = min(row["bin_ns"] for row in rows)
    bins = min(MAX_BINS, max(1, -(-(end - start) // smallest)))
    width = -(-(end - start) // bins)
    weight, busy = [0] * bins, [0.0] * bins
    for row in rows:
        position = min(bins - 1, (row["bin_start_ns"] - start) // width)
        weight[position] += row["bin_ns"]
        busy[position] += row["bin_ns"] * row["utilization"]
    values = [b / w if w else None for b, w in zip(busy, weight, strict=True)]
    return Strip(label, resource, start, width, values, sum(busy) / sum(weight))
