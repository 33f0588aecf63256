"""Findings of two jobs by rule: gained, lost, kept, and those one job cannot answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracemill_schema.vocab import Severity

from tracemill_analysis.findings.tables import Row


@dataclass(frozen=True)
class FindingChanges:
    """Problems (severity high, medium, low) by rule; several findings of a rule count as one row.

    A row has ``rule`` and, for each side that found it, ``a_``/``b_``: ``severity``, ``title``,
    ``findings`` (how many), ``at_stake_ns``, ``gpu_hours`` (sums). ``unknown`` are rules that found
    something in one job and could not answer in the other: neither gained nor lost; ``needed``
    says what that other capture lacks.
    """

    gained: list[Row]
    lost: list[Row]
    kept: list[Row]
    unknown: list[Row]


def compare_findings(a: Sequence[Row], b: Sequence[Row]) -> FindingChanges:
    """Compare rows of ``findings``."""
    side_a, side_b = _by_rule(a, "a_"), _by_rule(b, "b_")
    silent_a, silent_b = _abstained(a), _abstained(b)
    result = FindingChanges([], [], [], [])
    for rule in sorted(side_a.keys() | side_b.keys()):
        row = {"rule": rule, **side_a.get(rule, {}), **side_b.get(rule, {})}
        missing = silent_b if rule in side_a else silent_a
        if rule in side_a and rule in side_b:
            result.kept.append(row)
        elif rule in missing:
            result.unknown.append({**row, "needed": missing[rule]})
        elif rule in side_b:
            result.gained.append(row)
        else:
            result.lost.append(row)
    for rows in (result.gained, result.lost, result.kept, result.unknown):
        rows.sort(key=_weight)
    return result


def _by_rule(rows: Sequence[Row], prefix: str) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for row in sorted(rows, key=lambda r: r["position"]):
        if row["abstained"] or row["severity"] == Severity.INFO:
            continue
        one = found.setdefault(
            row["rule"],
            {
                f"{prefix}severity": row["severity"],
                f"{prefix}title": row["title"],
                f"{prefix}findings": 0,
                f"{prefix}at_stake_ns": 0,
                f"{prefix}gpu_hours": 0.0,
            },
        )
        one[f"{prefix}findings"] += 1
        one[f"{prefix}at_stake_ns"] += row["at_stake_ns"]
        one[f"{prefix}gpu_hours"] += row["gpu_hours"]
    return found


def _abstained(rows: Sequence[Row]) -> dict[str, str]:
    return {row["rule"]: row["title"] for row in rows if row["abstained"]}


def _weight(row: Row) -> tuple[float, str]:
    stake = max(row.get("a_at_stake_ns", 0), row.get("b_at_stake_ns", 0))
    return (-stake, row["rule"])
