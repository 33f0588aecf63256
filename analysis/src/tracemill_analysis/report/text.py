"""The report as plain text, 96 columns, opening with the verdict."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

from tracemill_analysis.findings.base import Finding
from tracemill_analysis.findings.tables import Row
from tracemill_analysis.report.figures import merged_windows
from tracemill_analysis.report.model import Report
from tracemill_analysis.report.names import clean, shorten, tie
from tracemill_analysis.units import (
    at_stake,
    bandwidth,
    duration,
    integer,
    percent,
    plural,
    significant,
    size,
)

WIDTH = 96


def render_text(report: Report) -> str:
    """Return the report as text."""
    parts = [_head(report), _findings(report)]
    parts += [section(report) for section in _SECTIONS]
    return "\n".join(part for part in parts if part)


def _head(report: Report) -> str:
    labels = " [SIMULATED]" * report.simulated + " [PARTIAL DATA]" * report.partial
    lines = [f"Tracemill report: {clean(report.job_name)}{labels}", "=" * WIDTH]
    for number, line in enumerate(report.verdict, 1):
        lines += _wrap(f"{number}. {clean(line)}", "   ")
    job = report.job
    facts = [
        f"{clean(str(job['framework']))}" if job["framework"] else "",
        f"{job['gpus']} x {clean(job['device_name'])}" if job["device_name"] else "",
        ", ".join(
            plural(job[column], noun)
            for column, noun in (("nodes", "node"), ("ranks", "rank"), ("processes", "process"))
        ),
        plural(job["steps"], "step"),
        f"{duration(job['dur_ns'])} recorded",
        f"status {job['status']}, source {job['source']}",
    ]
    return "\n".join([*lines, "", *_wrap("; ".join(filter(None, facts)), ""), ""])


def _wrap(text: str, indent: str) -> list[str]:
    """Wrap a paragraph; a number is not parted from its unit."""
    joined = tie(text)
    lines = textwrap.wrap(
        joined, WIDTH, subsequent_indent=indent, break_long_words=True, break_on_hyphens=False
    )
    return [line.replace("\u00a0", " ") for line in lines]


def _title(text: str) -> list[str]:
    return [text, "-" * len(text)]


def _findings(report: Report) -> str:
    lines = _title("Findings")
    if not report.findings:
        lines.append("None.")
    for number, finding in enumerate(report.findings, 1):
        lines += _finding(number, finding)
    needs: dict[str, list[str]] = {}
    for finding in report.abstained:
        needs.setdefault(finding.title, []).append(finding.rule)
    for need, rules in needs.items():
        lines += _wrap(f"  ?   {clean(need)} for: {', '.join(rules)}", "      ")
    if report.checked:
        lines += _wrap(f"  ok  nothing found by: {', '.join(report.checked)}", "      ")
    return "\n".join([*lines, ""])


def _finding(number: int, finding: Finding) -> list[str]:
    stake = at_stake(finding.at_stake_ns, finding.gpu_hours)
    head = f"{number}. [{finding.severity.value}] {clean(finding.title)}"
    return [
        *_wrap(head, "   "),
        f"   {stake}; confidence {percent(finding.confidence)}; rule {finding.rule}",
        *_wrap(f"   {finding.advice}", "   "),
    ]


def _table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> str:
    """Write a table; the first column is text and takes the room that is left."""
    if not rows:
        return ""
    widths = [max(len(line[i]) for line in [header, *rows]) for i in range(len(header))]
    widths[0] = max(8, min(widths[0], WIDTH - sum(widths[1:]) - 2 * (len(widths) - 1)))

    def write(line: Sequence[str]) -> str:
        first = shorten(line[0], widths[0]).ljust(widths[0])
        return "  ".join([first, *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))])

    lines = [*_title(title), *(_wrap(note, "") if note else []), write(header)]
    return "\n".join([*(line.rstrip() for line in [*lines, *map(write, rows)]), ""])


def _rank(row: Row) -> str:
    rank = f"rank {row['rank']}" if row["rank"] is not None else f"process {row['process_id']}"
    return f"{rank}, GPU {row['device']}" if "device" in row else rank


def _breakdown(report: Report) -> str:
    rows = [
        [
            _rank(row),
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


def longest_at(row: Row) -> str:
    """Say where the longest range of a merged series is."""
    step = "" if row["longest_step"] is None else f"step {row['longest_step']}"
    rank = row["longest_rank"]
    where = "" if row["ranks"] == 1 or rank is None else f"rank {rank}"
    return ", ".join(filter(None, (step, where))) or "-"


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


def _collectives(report: Report) -> str:
    rows = [
        [
            f"{row['operation']} {row['process_group'] or ''}".strip(),
            integer(row["ranks"]),
            integer(row["count"]),
            size(row["bytes"]),
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
            _rank(row),
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


_SECTIONS = (
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
