"""Panels that are tables: kernels, launches, memory operations, ranges, host."""

from __future__ import annotations

from tracemill_analysis.findings.tables import Row
from tracemill_analysis.report.figures import Figures, Ranking
from tracemill_analysis.report.html import parts
from tracemill_analysis.report.html.parts import Cell
from tracemill_analysis.report.wording import longest_at, metric_value, where
from tracemill_analysis.units import bandwidth, duration, integer, plural


def kernels(figures: Figures) -> str:
    """Return the kernels that take most time."""
    ranking = figures.kernels
    if ranking is None:
        return ""
    rows = [
        [
            parts.name(row["name"], 84),
            parts.bar(row["share_of_total"], "comm" if _communicates(row) else "compute"),
            parts.share(row["share_of_total"]),
            parts.time(row["total_ns"]),
            parts.count(row["count"]),
            parts.time(row["mean_ns"]),
            parts.time(row["max_ns"]),
        ]
        for row in ranking.rows
    ]
    rows += _others(ranking, ranking.others_ns, ranking.total_ns)
    return parts.panel(
        "Kernels by time",
        f"Share of {duration(ranking.total_ns)}, the sum of the durations of all kernel runs on "
        "all GPUs. Communication kernels are orange.",
        parts.table("", ("kernel", "", "share", "total", "runs", "mean", "max"), rows),
        wide=True,
    )


def _communicates(row: Row) -> bool:
    return bool(row["category"] == "communication")


def _others(ranking: Ranking, value: int, total: int) -> list[list[Cell]]:
    if not ranking.others:
        return []
    share = value / total if total else 0.0
    return [
        [
            parts.words(plural(ranking.others, "other")),
            parts.bar(share, "extra"),
            parts.share(share),
            parts.time(ranking.others_ns),
            parts.count(ranking.others_count),
            Cell(""),
            Cell(""),
        ]
    ]


def launches(figures: Figures) -> str:
    """Return the kernels that are launched most often."""
    ranking = figures.launches
    if ranking is None or ranking.total_count == 0:
        return ""
    total = ranking.total_count
    rows = [
        [
            parts.name(row["name"], 84),
            parts.bar(row["count"] / total),
            parts.share(row["count"] / total),
            parts.count(row["count"]),
            parts.time(row["mean_ns"]),
        ]
        for row in ranking.rows
    ]
    rows += [row[:3] + [row[4], row[5]] for row in _others(ranking, ranking.others_count, total)]
    return parts.panel(
        "Launches by count",
        f"Share of all {integer(total)} launches; mean is the host time of the launching call.",
        parts.table("", ("kernel", "", "share", "launches", "mean"), rows),
        wide=True,
    )


def memory_ops(figures: Figures) -> str:
    """Return copies and memsets by kind."""
    rows = [
        [
            parts.words(
                row["kind"]
                if row["src_kind"] is None and row["dst_kind"] is None
                else f"{row['kind']} ({row['src_kind'] or '?'} to {row['dst_kind'] or '?'})"
            ),
            parts.count(row["count"]),
            parts.nbytes(row["bytes"] if row["sized"] else None),
            parts.time(row["total_ns"]),
            Cell(bandwidth(row["bandwidth_bytes_per_s"]) if row["bandwidth_bytes_per_s"] else "–"),
        ]
        for row in figures.memory_ops
    ]
    return parts.panel(
        "GPU memory operations",
        "Bandwidth: bytes over the time of the operations whose size is known.",
        parts.table("", ("kind", "count", "bytes", "total", "bandwidth"), rows),
    )


def latency(figures: Figures) -> str:
    """Return the time from launch to run."""
    rows = [
        [
            parts.words(where(row)),
            parts.count(row["launches"]),
            *(parts.time(row[column]) for column in ("min_ns", "p50_ns", "p95_ns", "max_ns")),
            parts.time(row["after_call_p50_ns"]),
            parts.count(row["negative"]),
        ]
        for row in figures.launch_latency
    ]
    head = ("GPU", "launches", "min", "median", "p95", "max", "after call", "negative")
    return parts.panel(
        "Launch to run",
        "From the start of the launching call to the start of the run; after call: median from its "
        "end. Negative ones are clock errors.",
        parts.table("", head, rows),
        wide=True,
    )


def collectives(figures: Figures) -> str:
    """Return collectives by operation and group."""
    rows = [
        [
            parts.words(row["operation"]),
            parts.name(row["process_group"] or "–", 24),
            parts.count(row["ranks"]),
            parts.count(row["count"]),
            parts.nbytes(row["bytes"] or None),
            parts.time(row["total_ns"]),
            parts.time(row["max_ns"]),
        ]
        for row in figures.collectives
    ]
    head = ("operation", "group", "ranks", "count", "bytes", "total", "longest")
    return parts.panel(
        "Collectives",
        "Summed over ranks; a rank that waits for others counts that time too. Bytes: where the "
        "size is known.",
        parts.table("", head, rows),
    )


def slowest_steps(figures: Figures) -> str:
    """Return the slowest steps."""
    steps = figures.steps
    if steps is None:
        return ""
    on_gpu = any(row["gpu_busy_ns"] is not None for row in steps.slowest)
    head = ["step", "rank", "host time", "gap before"]
    if steps.input_named:
        head.append("input")
    if on_gpu:
        head += ["GPU busy", "exposed comm."]
    rows = []
    for row in steps.slowest:
        cells = [
            parts.words(row["step"]),
            Cell("–" if row["rank"] is None else str(row["rank"])),
            parts.time(row["dur_ns"]),
            parts.time(row["gap_before_ns"]),
        ]
        if steps.input_named:
            cells.append(parts.time(row["input_ns"] + row["gap_input_ns"]))
        if on_gpu:
            cells += [parts.time(row["gpu_busy_ns"]), parts.time(row["exposed_comm_ns"])]
        rows.append(cells)
    return parts.panel(
        "Slowest steps",
        "By host time. Input: time in input ranges before and in the step.",
        parts.table("", head, rows),
    )


def ranges(figures: Figures) -> str:
    """Return user ranges by series."""
    rows = [
        [
            parts.name(row["series"]),
            parts.bar(row["share_of_capture"]),
            parts.share(row["share_of_capture"]),
            parts.count(row["ranks"]),
            parts.count(row["count"]),
            parts.time(row["total_ns"]),
            parts.time(row["p50_ns"]),
            parts.time(row["p95_ns"]),
            parts.time(row["mean_ns"]),
            parts.time(row["max_ns"]),
            Cell(parts.text(longest_at(row))),
        ]
        for row in figures.annotations
    ]
    more = figures.annotations_left_out
    note = f'<p class="note">{integer(more)} more series are left out.</p>' if more else ""
    head = (
        "series", "", "share", "ranks", "count", "total", "median", "p95", "mean", "max", "longest",
    )  # fmt: skip
    return parts.panel(
        "Annotations",
        "Ranges that differ in their number only are one series. Share: time covered by the "
        "ranges, of the time from a rank's first to its last annotation, mean over ranks. Median "
        "and p95 where one rank has the series.",
        parts.table("", head, rows) + note if rows else "",
        wide=True,
    )


def host(figures: Figures) -> str:
    """Return sampled host metrics."""
    rows = [
        [
            parts.name(row["metric"]),
            parts.words(row["node"]),
            Cell("–" if row["rank"] is None else str(row["rank"])),
            *(Cell(parts.text(metric_value(row["unit"], row[c]))) for c in _STATISTICS),
            parts.count(row["samples"]),
        ]
        for row in figures.cpu
    ]
    more = figures.cpu_left_out
    note = f'<p class="note">{integer(more)} more rows are left out.</p>' if more else ""
    return parts.panel(
        "Host metrics",
        "Sampled; quantities that only grow are shown as rates per second. Mean is weighted by "
        "time.",
        parts.table("", ("metric", "node", "rank", *_STATISTICS, "samples"), rows) + note
        if rows
        else "",
        wide=True,
    )


_STATISTICS = ("mean", "min", "max", "p95")
