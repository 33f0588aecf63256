"""The tables of the text report."""

from __future__ import annotations

from collections.abc import Sequence

from tracemill_analysis.report.figures import merged_windows
from tracemill_analysis.report.model import Report
from tracemill_analysis.report.names import shorten
from tracemill_analysis.report.text_layout import WIDTH, title, wrap
from tracemill_analysis.report.wording import longest_at, metric_value, where
from tracemill_analysis.units import bandwidth, duration, integer, percent, plural, size


def _table(
    heading: str, header: Sequence[str], rows: Sequence[Sequence[str]], note: str = ""
) -> str:
    """Write a table; the first column is text and takes the room that is left."""
    if not rows:
        return ""
    widths = [max(len(line[i]) for line in [header, *rows]) for i in range(len(header))]
    widths[0] = max(8, min(widths[0], WIDTH - sum(widths[1:]) - 2 * (len(widths) - 1)))

    def write(line: Sequence[str]) -> str:
        first = shorten(line[0], widths[0]).ljust(widths[0])
        return "  ".join([first, *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))])

    lines = [*title(heading), *(wrap(note, "") if note else []), write(header)]
    return "\n".join([*(line.rstrip() for line in [*lines, *map(write, rows)]), ""])


def _breakdown(report: Report) -> str:
    rows = [
        [
            where(row),
            row["window_kind"],
            duration(row["window_ns"]),
            *(
                percent(row[column] / row["window_ns"]) if row["window_ns"] else "-"
                for column in ("compute_ns", "exposed_comm_ns", "exposed_mem_ns", "idle_ns")
            ),
            percent(row["overlap_ns"] / row["comm_ns"]) if row["comm_ns"] else "-",
        ]
        for row in merged_windows(report.figures.time_breakdown)
    ]
    return _table(
        "GPU time",
        ("GPU", "window", "length", "compute", "exp. comm", "exp. mem", "idle", "overlap"),
        rows,
        "Shares of the window; compute + exposed communication + exposed memory + idle = window. "
        "Overlap: share of communication that runs beside computation.",
    )


def _kernels(report: Report) -> str:
    ranking = report.figures.kernels
    if ranking is None:
        return ""
    rows = [
        [
            row["name"],
            integer(row["count"]),
            duration(row["total_ns"]),
            percent(row["share_of_total"]),
            duration(row["mean_ns"]),
            duration(row["max_ns"]),
        ]
        for row in ranking.rows
    ]
    if ranking.others:
        share = ranking.others_ns / ranking.total_ns if ranking.total_ns else 0.0
        others = [f"({plural(ranking.others, 'other')})", integer(ranking.others_count)]
        rows.append([*others, duration(ranking.others_ns), percent(share), "", ""])
    return _table(
        "Kernels by time",
        ("name", "runs", "total", "share", "mean", "max"),
        rows,
        f"Share of {duration(ranking.total_ns)}, the sum over all kernel runs of all GPUs.",
    )


def _activity(report: Report) -> str:
    rows = [
        [
            row["activity"],
            integer(row["count"]),
            duration(row["busy_ns"]),
            percent(row["share_of_window"]),
        ]
        for row in report.figures.activity
    ]
    note = "Busy: union of the events; share of the all_gpu windows of all GPUs together."
    return _table("GPU activity", ("kind", "count", "busy", "share"), rows, note)


def _memory(report: Report) -> str:
    rows = [
        [
            f"{row['kind']} {row['src_kind'] or '?'} > {row['dst_kind'] or '?'}",
            integer(row["count"]),
            size(row["bytes"]) if row["sized"] else "-",
            duration(row["total_ns"]),
            bandwidth(row["bandwidth_bytes_per_s"]) if row["bandwidth_bytes_per_s"] else "-",
        ]
        for row in report.figures.memory_ops
    ]
    return _table("GPU memory operations", ("kind", "count", "bytes", "total", "bandwidth"), rows)


def _precision(report: Report) -> str:
    rows = [
        [
            row["precision"],
            integer(row["count"]),
            duration(row["total_ns"]),
            percent(row["share_of_kernel_time"]),
            percent(row["tensor_core_ns"] / row["total_ns"]) if row["total_ns"] else "-",
        ]
        for row in report.figures.precision
    ]
    note = "By kernel name. Share of all compute kernel time; tensor cores: share of the row."
    return _table("Precision", ("type", "runs", "total", "share", "tensor cores"), rows, note)


def _steps(report: Report) -> str:
    steps = report.figures.steps
    if steps is None:
        return ""
    rows = [
        [
            f"step {row['step']}"
            + (f", rank {row['rank']}" if row["rank"] is not None and steps.ranks > 1 else ""),
            duration(row["dur_ns"]),
            duration(row["gap_before_ns"]),
            duration(row["input_ns"] + row["gap_input_ns"]) if steps.input_named else "-",
        ]
        for row in steps.slowest
    ]
    note = (
        f"{plural(steps.count, 'step')} of {plural(steps.ranks, 'rank')}: "
        f"median {duration(steps.p50_ns)}, "
        f"mean {duration(steps.mean_ns)}, p95 {duration(steps.p95_ns)}, "
        f"min {duration(steps.min_ns)}, max {duration(steps.max_ns)} (first steps left out: "
        f"{steps.left_out})."
    )
    return _table("Slowest steps", ("step", "host time", "gap before", "input"), rows, note)


def _annotations(report: Report) -> str:
    rows = [
        [
            row["series"],
            integer(row["count"]),
            duration(row["total_ns"]),
            *("-" if row[c] is None else duration(row[c]) for c in ("p50_ns", "mean_ns", "max_ns")),
            percent(row["share_of_capture"]),
            longest_at(row),
        ]
        for row in report.figures.annotations
    ]
    if report.figures.annotations_left_out:
        rows.append([f"({report.figures.annotations_left_out} series left out)", *[""] * 7])
    head = ("series", "count", "total", "median", "mean", "max", "share", "longest")
    note = (
        "Share: union of the ranges / time from the rank's first to its last annotation, mean over "
        "ranks. Median where one rank has the series."
    )
    return _table("Annotations", head, rows, note)


def _cpu(report: Report) -> str:
    rows = [
        [
            f"{row['metric']}, {row['node']}"
            + (f" rank {row['rank']}" if row["rank"] is not None else ""),
            *(metric_value(row["unit"], row[column]) for column in ("mean", "min", "max", "p95")),
        ]
        for row in report.figures.cpu
    ]
    return _table("Host metrics", ("metric", "mean", "min", "max", "p95"), rows)


def _collectives(report: Report) -> str:
    rows = [
        [
            f"{row['operation']} {row['process_group'] or ''}".strip(),
            integer(row["ranks"]),
            integer(row["count"]),
            size(row["bytes"]) if row["bytes"] else "-",
            duration(row["total_ns"]),
            duration(row["min_ns"]),
            duration(row["max_ns"]),
        ]
        for row in report.figures.collectives
    ]
    return _table(
        "Collectives", ("operation", "ranks", "count", "bytes", "total", "min", "max"), rows
    )


def _latency(report: Report) -> str:
    rows = [
        [
            where(row),
            integer(row["launches"]),
            *(duration(row[column]) for column in ("min_ns", "p50_ns", "p95_ns", "max_ns")),
            integer(row["negative"]),
        ]
        for row in report.figures.launch_latency
    ]
    return _table(
        "Launch to run", ("GPU", "launches", "min", "p50", "p95", "max", "negative"), rows
    )


def _drops(report: Report) -> str:
    rows = [
        [
            f"{row['source_file']}: {row['reason']}",
            integer(row["events"]),
            "lost" if row["lost"] else "kept or unused",
            shorten(row["example"] or "", 30),
        ]
        for row in report.figures.drops
    ]
    return _table(
        "Dropped, repaired or unlinked", ("where and why", "events", "", "first place"), rows
    )


def _processes(report: Report) -> str:
    rows = [
        [
            f"{row['process_id']}: {row['source_file']}",
            "-" if row["rank"] is None else str(row["rank"]),
            shorten(row["node"], 20),
            "-" if row["pid"] is None else str(row["pid"]),
            integer(row["events_kept"]),
            integer(row["events_dropped"]),
            "complete" if row["complete"] else "partial",
        ]
        for row in report.figures.processes
    ]
    return _table("Processes", ("process", "rank", "node", "pid", "events", "lost", "data"), rows)


SECTIONS = (
    _breakdown,
    _kernels,
    _activity,
    _memory,
    _precision,
    _steps,
    _annotations,
    _cpu,
    _collectives,
    _latency,
    _drops,
    _processes,
)
