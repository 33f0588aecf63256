"""Summaries that are plain grouping: kernels, collectives, precision."""

from __future__ import annotations

from typing import Any

from tracemill_schema.tables.events import KERNELS
from tracemill_schema.vocab import KernelCategory, WindowKind

from tracemill_analysis.aggregates.order import coded
from tracemill_analysis.aggregates.source import EventSource, Process, integers, texts
from tracemill_analysis.aggregates.statistics import distributions
from tracemill_analysis.classify import classify_kernel

Rows = list[dict[str, Any]]


def kernel_summary(source: EventSource, process: Process, breakdown: Rows) -> Rows:
    """Return the rows of one process, longest total first; ``breakdown`` holds its windows."""
    words = ("name", "category", "precision")
    data = source.columns(KERNELS, ("device", *words, "dur_ns"), process.process_id)
    device, devices = coded(integers(data, "device"))
    keys = {"device": (device, devices.tolist()), **{word: texts(data, word) for word in words}}
    rows = distributions(keys, integers(data, "dur_ns"))
    all_kernels = _totals(rows)
    windows = {
        row["device"]: row["window_ns"]
        for row in breakdown
        if row["window_kind"] == WindowKind.ALL_GPU
    }
    return [
        {
            **process.where,
            **row,
            "share_of_kernel_time": _share(row["total_ns"], all_kernels[row["device"]]),
            "share_of_window": _share(row["total_ns"], windows[row["device"]]),
        }
        for row in sorted(rows, key=lambda row: (row["device"], -row["total_ns"]))
    ]


def precision_summary(kernels: Rows) -> Rows:
    """Return compute kernel time by data type from the rows of one process's kernel summary."""
    compute = [row for row in kernels if row["category"] == KernelCategory.COMPUTE]
    all_compute = _totals(compute)
    grouped: dict[tuple[int, str], dict[str, Any]] = {}
    for row in compute:
        entry = grouped.setdefault(
            (row["device"], row["precision"]),
            {
                **{name: row[name] for name in ("process_id", "rank", "node", "device")},
                "precision": row["precision"],
                "count": 0,
                "total_ns": 0,
                "tensor_core_ns": 0,
            },
        )
        entry["count"] += row["count"]
        entry["total_ns"] += row["total_ns"]
        if classify_kernel(row["name"]).tensor_core:
            entry["tensor_core_ns"] += row["total_ns"]
    return [
        {**entry, "share_of_kernel_time": _share(entry["total_ns"], all_compute[device])}
        for (device, _), entry in sorted(grouped.items())
    ]


def collective_summary(source: EventSource, process: Process) -> Rows:
    """Return the rows of one process by device, group and operation."""
    return _located(source.sql("collective_summary", process_id=process.process_id), process)


def _located(data: Any, process: Process) -> Rows:
    return [{**process.where, **row} for row in data.to_pylist()]


def _totals(rows: Rows) -> dict[int, int]:
    totals: dict[int, int] = {}
    for row in rows:
        totals[row["device"]] = totals.get(row["device"], 0) + row["total_ns"]
    return totals


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
