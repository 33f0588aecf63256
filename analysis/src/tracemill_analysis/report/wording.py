"""Wording that all renderings share: where a row belongs, how a sampled value is written."""

from __future__ import annotations

from collections.abc import Callable

from tracemill_analysis.findings.tables import Row
from tracemill_analysis.report.names import clean
from tracemill_analysis.units import bandwidth, duration, percent, significant, size


def where(row: Row) -> str:
    """Name the rank (or process) of a row, and its GPU if it has one."""
    rank = f"rank {row['rank']}" if row["rank"] is not None else f"process {row['process_id']}"
    return f"{rank}, GPU {row['device']}" if "device" in row else rank


def longest_at(row: Row) -> str:
    """Say where the longest range of a merged series is."""
    step = "" if row["longest_step"] is None else f"step {row['longest_step']}"
    rank = row["longest_rank"]
    where = "" if row["ranks"] == 1 or rank is None else f"rank {rank}"
    return ", ".join(filter(None, (step, where))) or "-"


def metric_value(unit: str, value: float) -> str:
    """Write a sampled value with its unit; CPU time per second is a number of busy cores."""
    known: dict[str, Callable[[float], str]] = {
        "bytes": size,
        "bytes/s": bandwidth,
        "ns": duration,
        "ns/s": lambda rate: f"{significant(rate / 1e9)} cores",
        "0..1": percent,
    }
    if unit in known:
        return known[unit](value)
    whole = abs(value) >= 1000 or value == round(value)
    return f"{f'{value:,.0f}' if whole else significant(value)} {clean(unit)}".strip()
