"""The dashboard's figures, computed from the aggregate tables: numbers only, nothing drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracemill_schema.vocab import Activity

from tracemill_analysis.findings.tables import JobTables, Row
from tracemill_analysis.report.step_figures import Steps, step_figures
from tracemill_analysis.report.utilization_figures import Strip, utilization_strips

TOP_KERNELS = 15
MAX_ANNOTATIONS = 40
MAX_CPU_ROWS = 40
_ACTIVITY_ORDER = [activity.value for activity in Activity]


@dataclass(frozen=True)
class Ranking:
    """The first rows of a ranking, and what the rest adds up to."""

    rows: list[Row]
    others: int
    others_count: int
    others_ns: int
    total_count: int
    total_ns: int


@dataclass(frozen=True)
class Figures:
    """All figures of a report. Rows carry the column names of the tables they come from."""

    time_breakdown: list[Row] = field(default_factory=list)
    kernels: Ranking | None = None
    launches: Ranking | None = None
    activity: list[Row] = field(default_factory=list)
    memory_ops: list[Row] = field(default_factory=list)
    precision: list[Row] = field(default_factory=list)
    steps: Steps | None = None
    annotations: list[Row] = field(default_factory=list)
    annotations_left_out: int = 0
    utilization: list[Strip] = field(default_factory=list)
    cpu: list[Row] = field(default_factory=list)
    cpu_left_out: int = 0
    collectives: list[Row] = field(default_factory=list)
    launch_latency: list[Row] = field(default_factory=list)
    drops: list[Row] = field(default_factory=list)
    processes: list[Row] = field(default_factory=list)


def build_figures(tables: JobTables) -> Figures:
    """Compute all figures of a job."""
    annotations = _annotations(tables.rows("annotation_summary"))
    cpu = _cpu(tables.rows("cpu_summary"))
    return Figures(
        time_breakdown=tables.rows("time_breakdown"),
        kernels=_ranking(tables.rows("kernel_summary"), lambda r: r["total_ns"]),
        launches=_ranking(tables.rows("launch_summary"), lambda r: r["count"]),
        activity=_activity(tables),
        memory_ops=_memory_ops(tables),
        precision=_precision(tables.rows("precision_summary")),
        steps=step_figures(tables),
        annotations=annotations[:MAX_ANNOTATIONS],
        annotations_left_out=max(0, len(annotations) - MAX_ANNOTATIONS),
        utilization=utilization_strips(tables.rows("utilization")),
        cpu=cpu[:MAX_CPU_ROWS],
        cpu_left_out=max(0, len(cpu) - MAX_CPU_ROWS),
        collectives=_collectives(tables.rows("collective_summary")),
        launch_latency=tables.rows("launch_latency"),
        drops=tables.rows("drops"),
        processes=tables.rows("processes"),
    )


def merged_windows(rows: Sequence[Row]) -> list[Row]:
    """Merge rows of ``time_breakdown`` that differ in the kind of window only."""
    merged: list[Row] = []
    for row in rows:
        last = merged[-1] if merged else {}
        if all(last.get(name) == value for name, value in row.items() if name != "window_kind"):
            merged[-1] = {**last, "window_kind": f"{last['window_kind']}, {row['window_kind']}"}
        else:
            merged.append(dict(row))
    return merged


def _grouped(rows: Iterable[Row], *columns: str) -> dict[tuple[Any, ...], list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in columns), []).append(row)
    return groups


def _total(rows: Iterable[Row], column: str) -> int:
    return sum(row[column] for row in rows)


def _ranking(rows: Sequence[Row], weight: Callable[[Row], int]) -> Ranking | None:
    """Merge rows of one name over all devices and keep the first fifteen by weight."""
    if not rows:
        return None
    total_ns = _total(rows, "total_ns")
    merged = []
    for (name,), group in _grouped(rows, "name").items():
        count, time_ns = _total(group, "count"), _total(group, "total_ns")
        merged.append(
            {
                "name": name,
                "category": group[0].get("category"),
                "precision": group[0].get("precision"),
                "count": count,
                "total_ns": time_ns,
                "min_ns": min(row["min_ns"] for row in group),
                "mean_ns": time_ns / count if count else 0.0,
                "max_ns": max(row["max_ns"] for row in group),
                "share_of_total": time_ns / total_ns if total_ns else 0.0,
            }
        )
    merged.sort(key=lambda row: (-weight(row), row["name"]))
    rest = merged[TOP_KERNELS:]
    return Ranking(
        rows=merged[:TOP_KERNELS],
        others=len(rest),
        others_count=_total(rest, "count"),
        others_ns=_total(rest, "total_ns"),
        total_count=_total(rows, "count"),
        total_ns=total_ns,
    )


def _activity(tables: JobTables) -> list[Row]:
    window_ns = _total(tables.gpu_windows, "window_ns")
    merged = [
        {
            "activity": activity,
            "count": _total(group, "count"),
            "total_ns": _total(group, "total_ns"),
            "busy_ns": _total(group, "busy_ns"),
            "share_of_window": _total(group, "busy_ns") / window_ns if window_ns else 0.0,
        }
        for (activity,), group in _grouped(tables.rows("activity_summary"), "activity").items()
    ]
    known = {name: position for position, name in enumerate(_ACTIVITY_ORDER)}
    return sorted(merged, key=lambda row: (known.get(row["activity"], 99), row["activity"]))


def _memory_ops(tables: JobTables) -> list[Row]:
    merged = []
    columns = ("kind", "src_kind", "dst_kind")
    for key, group in _grouped(tables.rows("memory_op_summary"), *columns).items():
        # Bandwidth is bytes over the time of the sized operations: give it back by its inverse.
        sized = [row for row in group if row["bandwidth_bytes_per_s"]]
        seconds = sum(row["bytes"] / row["bandwidth_bytes_per_s"] for row in sized)
        merged.append(
            {
                **dict(zip(columns, key, strict=True)),
                "count": _total(group, "count"),
                "sized": _total(group, "sized"),
                "bytes": _total(group, "bytes"),
                "total_ns": _total(group, "total_ns"),
                "busy_ns": _total(group, "busy_ns"),
                "bandwidth_bytes_per_s": _total(sized, "bytes") / seconds if seconds else None,
            }
        )
    return sorted(merged, key=lambda row: (-row["total_ns"], *map(str, (row[c] for c in columns))))


def _precision(rows: Sequence[Row]) -> list[Row]:
    total_ns = _total(rows, "total_ns")
    merged = [
        {
            "precision": precision,
            "count": _total(group, "count"),
            "total_ns": _total(group, "total_ns"),
            "tensor_core_ns": _total(group, "tensor_core_ns"),
            "share_of_kernel_time": _total(group, "total_ns") / total_ns if total_ns else 0.0,
        }
        for (precision,), group in _grouped(rows, "precision").items()
    ]
    return sorted(merged, key=lambda row: (-row["total_ns"], row["precision"]))


def _collectives(rows: Sequence[Row]) -> list[Row]:
    merged = [
        {
            "operation": operation,
            "process_group": group_name,
            "ranks": len({row["process_id"] for row in group}),
            "count": _total(group, "count"),
            "bytes": _total(group, "bytes"),
            "total_ns": _total(group, "total_ns"),
            "min_ns": min(row["min_ns"] for row in group),
            "max_ns": max(row["max_ns"] for row in group),
        }
        for (operation, group_name), group in _grouped(rows, "operation", "process_group").items()
    ]
    return sorted(merged, key=lambda r: (-r["total_ns"], r["operation"], str(r["process_group"])))


def _annotations(rows: Sequence[Row]) -> list[Row]:
    """Merge the ranks of each series. Quantiles of several ranks cannot be merged: null then."""
    merged = []
    for (series,), group in _grouped(rows, "series").items():
        longest = max(group, key=lambda row: (row["max_ns"], -row["process_id"]))
        count, time_ns = _total(group, "count"), _total(group, "total_ns")
        merged.append(
            {
                "series": series,
                "ranks": len(group),
                "count": count,
                "total_ns": time_ns,
                "min_ns": min(row["min_ns"] for row in group),
                "mean_ns": time_ns / count if count else 0.0,
                "p50_ns": longest["p50_ns"] if len(group) == 1 else None,
                "p95_ns": longest["p95_ns"] if len(group) == 1 else None,
                "max_ns": longest["max_ns"],
                "longest_rank": longest["rank"],
                "longest_process_id": longest["process_id"],
                "longest_step": longest["slowest_step"],
                "longest_start_ns": longest["slowest_start_ns"],
                "share_of_capture": sum(row["share_of_capture"] for row in group) / len(group),
            }
        )
    return sorted(merged, key=lambda row: (-row["total_ns"], row["series"]))


def _cpu(rows: Sequence[Row]) -> list[Row]:
    """Rows of whole nodes and processes; single cores only of CPU utilisation are left out."""
    return [row for row in rows if row["index"] == -1]
