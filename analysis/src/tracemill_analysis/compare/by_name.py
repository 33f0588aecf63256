"""Kernels, or annotated ranges, of two jobs by name: added, removed, slower, faster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from tracemill_analysis.compare.side import Basis, per_unit, ratio
from tracemill_analysis.findings.tables import Row

MIN_CHANGE = 0.05
"""Mean durations, or runs per unit, within this share of each other count as the same."""


class Change(StrEnum):
    """How a name differs from A to B, the first that applies."""

    ADDED = "added"
    REMOVED = "removed"
    SLOWER = "slower"
    FASTER = "faster"
    MORE_RUNS = "more_runs"
    FEWER_RUNS = "fewer_runs"
    SAME = "same"


@dataclass(frozen=True)
class ByName:
    """All names of either job, those whose time per unit differs most first.

    A row has ``name``, ``category`` (kernels), ``change``, and for each side ``a_``/``b_``:
    ``count``, ``total_ns``, ``mean_ns`` (0 where absent), ``per_unit_ns`` and ``per_unit_runs``;
    then ``delta_per_unit_ns`` (b - a) and ``mean_ratio`` (b / a, None if absent in one).
    ``changes`` counts the rows by change.
    """

    a_total_ns: int
    b_total_ns: int
    changes: dict[str, int]
    rows: list[Row]


def compare_by_name(
    a: Iterable[Row], b: Iterable[Row], basis: Basis, column: str = "name"
) -> ByName:
    """Compare rows of a summary table (``count``, ``total_ns``) merged by ``column``."""
    side_a, side_b = _merged(a, column), _merged(b, column)
    rows = [
        _row(name, side_a.get(name), side_b.get(name), basis)
        for name in side_a.keys() | side_b.keys()
    ]
    rows.sort(key=lambda row: (-abs(row["delta_per_unit_ns"]), -row["b_total_ns"], row["name"]))
    return ByName(
        a_total_ns=sum(row["total_ns"] for row in side_a.values()),
        b_total_ns=sum(row["total_ns"] for row in side_b.values()),
        changes={c.value: sum(r["change"] == c for r in rows) for c in Change},
        rows=rows,
    )


def _merged(rows: Iterable[Row], column: str) -> dict[str, Row]:
    merged: dict[str, Row] = {}
    for row in rows:
        one = merged.setdefault(
            row[column], {"category": row.get("category"), "count": 0, "total_ns": 0}
        )
        one["count"] += row["count"]
        one["total_ns"] += row["total_ns"]
    return merged


def _row(name: str, a: Row | None, b: Row | None, basis: Basis) -> Row:
    known = b or a or {}
    nothing: Row = {"count": 0, "total_ns": 0}
    first, second = a or nothing, b or nothing
    each_a = per_unit(first["total_ns"], basis.a)
    each_b = per_unit(second["total_ns"], basis.b)
    return {
        "name": name,
        "category": known.get("category"),
        "change": _change(a, b, basis).value,
        "a_count": first["count"],
        "b_count": second["count"],
        "a_total_ns": first["total_ns"],
        "b_total_ns": second["total_ns"],
        "a_mean_ns": per_unit(first["total_ns"], first["count"]),
        "b_mean_ns": per_unit(second["total_ns"], second["count"]),
        "a_per_unit_runs": per_unit(first["count"], basis.a),
        "b_per_unit_runs": per_unit(second["count"], basis.b),
        "a_per_unit_ns": each_a,
        "b_per_unit_ns": each_b,
        "delta_per_unit_ns": each_b - each_a,
        "mean_ratio": ratio(_mean(a), _mean(b)) if a and b else None,
    }


def _mean(row: Row) -> float:
    return per_unit(row["total_ns"], row["count"])


def _change(a: Row | None, b: Row | None, basis: Basis) -> Change:
    if a is None:
        return Change.ADDED
    if b is None:
        return Change.REMOVED
    longer = _beyond(_mean(a), _mean(b))
    if longer:
        return Change.SLOWER if longer > 0 else Change.FASTER
    more = _beyond(per_unit(a["count"], basis.a), per_unit(b["count"], basis.b))
    if more:
        return Change.MORE_RUNS if more > 0 else Change.FEWER_RUNS
    return Change.SAME


def _beyond(a: float, b: float) -> int:
    """Return 1 or -1 if b is above or below a by more than MIN_CHANGE, else 0."""
    if b > a * (1 + MIN_CHANGE):
        return 1
    return -1 if b < a * (1 - MIN_CHANGE) else 0
