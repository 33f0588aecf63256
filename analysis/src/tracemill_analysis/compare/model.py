"""A comparison of two jobs as data. Renderers draw it and add nothing; the app uses the same.

``a`` is the job compared with, ``b`` the other: every difference is b - a, every ratio b / a.
docs/compare.md describes the keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tracemill_schema.vocab import Completeness

from tracemill_analysis.compare.breakdown import Breakdown, compare_breakdown
from tracemill_analysis.compare.by_name import ByName, compare_by_name
from tracemill_analysis.compare.findings import FindingChanges, compare_findings
from tracemill_analysis.compare.side import Basis, Side, common_basis, open_side
from tracemill_analysis.compare.steps import Steps, compare_steps
from tracemill_analysis.compare.summary import summary
from tracemill_analysis.findings.tables import Row
from tracemill_analysis.store import Store

COMPARE_VERSION = 1
"""Version of the keys. Keys are only added; a new meaning is a new version."""


@dataclass(frozen=True)
class Job:
    """One of the two jobs: its name, columns of its ``jobs`` row, the three lines of its report."""

    job_name: str
    job: Row
    verdict: list[str]


@dataclass(frozen=True)
class Comparison:
    """All that is said about two jobs. ``same`` is true if no figure of them differs."""

    compare_version: int
    a: Job
    b: Job
    same: bool
    summary: list[str]
    notes: list[str]
    basis: Basis
    steps: Steps
    breakdown: Breakdown | None
    kernels: ByName | None
    ranges: ByName | None
    findings: FindingChanges


def compare_jobs(store: Store, a: str, b: str) -> Comparison:
    """Compare two processed jobs of a store.

    Raises JobNotFoundError for a job that is not there or not processed, StoreError for tables that
    cannot be read.
    """
    first, second = open_side(store, a), open_side(store, b)
    basis = common_basis(first, second)
    steps = compare_steps(first, second)
    breakdown = compare_breakdown(first, second, basis)
    kernels = _by_name(first, second, "kernel_summary", "name", basis)
    ranges = _by_name(first, second, "annotation_summary", "series", basis)
    findings = compare_findings(first.tables.rows("findings"), second.tables.rows("findings"))
    same = _same(steps, breakdown, kernels, ranges, findings)
    return Comparison(
        compare_version=COMPARE_VERSION,
        a=Job(a, first.job, first.verdict),
        b=Job(b, second.job, second.verdict),
        same=same,
        summary=summary(basis, steps, breakdown, kernels, findings, same=same),
        notes=_notes(first, second),
        basis=basis,
        steps=steps,
        breakdown=breakdown,
        kernels=kernels,
        ranges=ranges,
        findings=findings,
    )


def _by_name(a: Side, b: Side, table: str, column: str, basis: Basis) -> ByName | None:
    """Compare a summary table by name; None unless both jobs have rows of it."""
    rows_a, rows_b = a.tables.rows(table), b.tables.rows(table)
    return compare_by_name(rows_a, rows_b, basis, column) if rows_a and rows_b else None


def _same(
    steps: Steps,
    breakdown: Breakdown | None,
    kernels: ByName | None,
    ranges: ByName | None,
    findings: FindingChanges,
) -> bool:
    """Tell whether nothing that was compared differs."""
    moved: list[Any] = [
        steps.a != steps.b,
        steps.unpaired_a,
        steps.unpaired_b,
        findings.gained,
        findings.lost,
        findings.unknown,
        *(pair["delta_ns"] for pair in steps.pairs),
        *(row["a_at_stake_ns"] != row["b_at_stake_ns"] for row in findings.kept),
    ]
    for names in (kernels, ranges):
        for row in names.rows if names else ():
            moved += [row["a_total_ns"] - row["b_total_ns"], row["a_count"] - row["b_count"]]
    if breakdown:
        rows = [*breakdown.parts, *breakdown.idle_causes]
        moved += [row["a_ns"] - row["b_ns"] for row in rows]
    return not any(moved)


def _notes(a: Side, b: Side) -> list[str]:
    """Say what has to be known before the figures are trusted."""
    notes = []
    for label, side in (("A", a), ("B", b)):
        if side.job["simulated"]:
            notes.append(f"{label} is simulated: its events were made, not recorded.")
        if side.job["completeness"] != Completeness.COMPLETE:
            notes.append(f"{label} is partial: not everything that was found could be read.")
        if not side.tables.steps:
            notes.append(f"{label} has no steps: nothing can be compared step by step.")
        if not side.tables.has_gpu:
            notes.append(f"{label} has no GPU events: GPU time and kernels cannot be compared.")
    for column, what in (("device_name", "GPU models"), ("gpus", "numbers of GPUs"),
                         ("ranks", "numbers of ranks"), ("source", "formats of recording"),
                         ("framework", "frameworks")):  # fmt: skip
        one, other = a.job[column], b.job[column]
        if one != other and None not in (one, other):
            notes.append(f"The {what} differ: {one} in A, {other} in B.")
    return notes
