"""GPU time and idle causes of two jobs, per step (or per GPU)."""

from __future__ import annotations

from dataclasses import dataclass

from tracemill_schema.vocab import IdleCause, WindowKind

from tracemill_analysis.compare.side import Basis, Side, per_unit
from tracemill_analysis.findings.tables import Row

PARTS = (
    ("compute", "compute_ns"),
    ("exposed_communication", "exposed_comm_ns"),
    ("exposed_memory", "exposed_mem_ns"),
    ("idle", "idle_ns"),
)
"""The exact partition of a window: name of the part and its column in ``time_breakdown``."""


@dataclass(frozen=True)
class Breakdown:
    """The partition of GPU time, all GPUs together.

    ``window_kind`` names the window of ``time_breakdown``. Each row of ``parts`` has ``part``,
    ``a_ns``, ``b_ns`` (sums), ``a_share``, ``b_share`` (of the window), ``a_per_unit_ns``,
    ``b_per_unit_ns`` (divided by the basis), ``delta_per_unit_ns`` (b - a). The parts add up to
    ``window``, a row of the same shape. ``idle_causes`` divide the idle time of the ``all_gpu``
    window, whichever window the parts have.
    """

    window_kind: str
    window: Row
    parts: list[Row]
    idle_causes: list[Row]


def compare_breakdown(a: Side, b: Side, basis: Basis) -> Breakdown | None:
    """Compare the partitions; None unless both jobs have GPU events."""
    if not (a.tables.has_gpu and b.tables.has_gpu):
        return None
    kind = WindowKind.ALL_GPU
    if basis.unit == "step" and a.windows(WindowKind.STEPS) and b.windows(WindowKind.STEPS):
        kind = WindowKind.STEPS
    rows_a, rows_b = a.windows(kind), b.windows(kind)
    whole = _sum(rows_a, "window_ns"), _sum(rows_b, "window_ns")
    parts = [
        _row("part", part, (_sum(rows_a, column), _sum(rows_b, column)), whole, basis)
        for part, column in PARTS
    ]
    return Breakdown(
        window_kind=kind.value,
        window=_row("part", "window", whole, whole, basis),
        parts=parts,
        idle_causes=_idle_causes(a, b, basis),
    )


def _idle_causes(a: Side, b: Side, basis: Basis) -> list[Row]:
    rows_a, rows_b = a.tables.rows("idle_causes"), b.tables.rows("idle_causes")
    whole = (_sum(a.tables.gpu_windows, "window_ns"), _sum(b.tables.gpu_windows, "window_ns"))
    found = []
    for cause in IdleCause:
        mine = [sum(r["idle_ns"] for r in rows if r["cause"] == cause) for rows in (rows_a, rows_b)]
        if any(mine):
            found.append(_row("cause", cause.value, (mine[0], mine[1]), whole, basis))
    return sorted(found, key=lambda row: (-max(row["a_ns"], row["b_ns"]), row["cause"]))


def _row(
    label: str, name: str, values: tuple[int, int], whole: tuple[int, int], basis: Basis
) -> Row:
    each_a, each_b = per_unit(values[0], basis.a), per_unit(values[1], basis.b)
    return {
        label: name,
        "a_ns": values[0],
        "b_ns": values[1],
        "a_share": per_unit(values[0], whole[0]),
        "b_share": per_unit(values[1], whole[1]),
        "a_per_unit_ns": each_a,
        "b_per_unit_ns": each_b,
        "delta_per_unit_ns": each_b - each_a,
    }


def _sum(rows: list[Row], column: str) -> int:
    return sum(int(row[column]) for row in rows)
