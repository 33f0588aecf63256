"""Panels with charts: GPU time, steps, utilisation, activity, precision."""

from __future__ import annotations

from tracemill_schema.vocab import WindowKind

from tracemill_analysis.findings.tables import Row
from tracemill_analysis.report.figures import Figures, merged_windows
from tracemill_analysis.report.html import parts, svg
from tracemill_analysis.report.names import shorten
from tracemill_analysis.report.utilization_figures import Strip
from tracemill_analysis.report.wording import where
from tracemill_analysis.units import duration, integer, percent

MAX_BARS = 32
_PARTS = (
    ("compute", "compute_ns", "compute"),
    ("comm", "exposed_comm_ns", "exposed communication"),
    ("memory", "exposed_mem_ns", "exposed copies and memsets"),
    ("idle", "idle_ns", "idle"),
)


def gpu_time(figures: Figures) -> str:
    """Return the exact partition of each GPU's window."""
    rows = [r for r in figures.time_breakdown if r["window_kind"] == WindowKind.ALL_GPU]
    if not rows:
        return ""
    bars = [(where(row), _partition(row)) for row in rows[:MAX_BARS]]
    if len(rows) > 1:
        total = {column: sum(row[column] for row in rows) for _, column, _ in _PARTS}
        total["window_ns"] = sum(row["window_ns"] for row in rows)
        bars.insert(0, (f"all {len(rows)} GPUs", _partition(total)))
    chart = svg.stacked_bars(bars)
    key = svg.legend([(css, label) for css, _, label in _PARTS])
    more = len(rows) - MAX_BARS
    note = f'<p class="note">{more} more GPUs are in report.json.</p>' if more > 0 else ""
    table = parts.table(
        "", _BREAKDOWN_HEAD, [_breakdown(r) for r in merged_windows(figures.time_breakdown)[:96]]
    )
    fold = f"<details><summary>As a table, with the other windows</summary>{table}</details>"
    return parts.panel(
        "GPU time",
        "Each bar is the time from a GPU's first event's start to its last event's end (all GPU "
        "events); the parts add up to it exactly. Exposed: with nothing of the kinds before it "
        "running.",
        f"{key}<figure>{chart}</figure>{note}{fold}",
        wide=True,
    )


def _partition(row: Row) -> list[svg.Part]:
    window = row["window_ns"]
    return [
        (css, row[column], f"{label}: {duration(row[column])}, {percent(row[column] / window)}")
        for css, column, label in _PARTS
        if window
    ]


_BREAKDOWN_HEAD = (
    "GPU", "window", "length", "busy", "compute", "communication", "overlap", "exposed comm.",
    "memory", "exposed mem.", "idle", "events",
)  # fmt: skip


def _breakdown(row: Row) -> list[parts.Cell]:
    columns = (
        "window_ns", "busy_ns", "compute_ns", "comm_ns", "overlap_ns", "exposed_comm_ns", "mem_ns",
        "exposed_mem_ns", "idle_ns",
    )  # fmt: skip
    return [
        parts.words(where(row)),
        parts.words(row["window_kind"]),
        *(parts.time(row[column]) for column in columns),
        parts.count(row["gpu_events"]),
    ]


def step_course(figures: Figures) -> str:
    """Return the step times in order, with the wait before and within each."""
    steps = figures.steps
    if steps is None:
        return ""
    columns = [_step_column(point, steps.input_named) for point in steps.course]
    waiting = "waiting for input" if steps.input_named else "between steps"
    entries = [("compute", "step"), ("wait", waiting)]
    if steps.input_named:
        entries.append(("extra", "between steps, not input"))
    chart = svg.columns(
        "Time of each step",
        columns,
        duration,
        (f"step {steps.course[0]['step']}", f"step {steps.course[-1]['step']}"),
        middle=float(steps.p50_ns),
    )
    each = (
        "One column per step"
        if steps.steps_per_point == 1
        else (f"One column per {steps.steps_per_point} steps: the slowest of them")
    )
    ranks = f", the slowest of {steps.ranks} ranks" if steps.ranks > 1 else ""
    return parts.panel(
        "Steps in order",
        f"{each}{ranks}, in host time. The dashed line is the median step, "
        f"{duration(steps.p50_ns)}.",
        f"{svg.legend(entries)}<figure>{chart}</figure>",
        wide=True,
    )


def _step_column(point: Row, input_named: bool) -> list[svg.Part]:
    step = f"step {point['step']}"
    if point["rank"] is not None:
        step += f", rank {point['rank']}"
    if not input_named:
        return [
            ("compute", point["dur_ns"], f"{step}: {duration(point['dur_ns'])}"),
            ("wait", point["gap_before_ns"], f"before {step}: {duration(point['gap_before_ns'])}"),
        ]
    work = max(0, point["dur_ns"] - point["input_ns"])
    wait = point["input_ns"] + point["gap_input_ns"]
    other = max(0, point["gap_before_ns"] - point["gap_input_ns"])
    return [
        ("compute", work, f"{step}: {duration(point['dur_ns'])}"),
        ("wait", wait, f"{step} waited {duration(wait)} for input"),
        ("extra", other, f"before {step}: {duration(other)} that is not input"),
    ]


def step_histogram(figures: Figures) -> str:
    """Return the distribution of step times and their statistics."""
    steps = figures.steps
    if steps is None:
        return ""
    edges, counts = steps.histogram.edges_ns, steps.histogram.counts
    columns: list[list[svg.Part]] = [
        [("compute", float(n), f"{duration(edges[i])} to {duration(edges[i + 1])}: {integer(n)}")]
        for i, n in enumerate(counts)
    ]
    beyond = steps.histogram.beyond
    last = duration(edges[-1])
    if beyond:
        columns += [[], [("wait", float(beyond), f"longer: {integer(beyond)}")]]
        last = f"{last} | longer: {integer(beyond)}"
    chart = svg.columns(
        "Distribution of step times",
        columns,
        lambda value: f"{value:.1f}".removesuffix(".0"),
        (duration(edges[0]), last),
        width=520,
        height=170,
    )
    left_out = f", without the first step of each rank ({steps.left_out})" if steps.left_out else ""
    table = parts.table(
        "",
        ("steps", "min", "median", "mean", "p95", "max"),
        [
            [
                parts.count(steps.count - steps.left_out),
                parts.time(steps.min_ns),
                parts.time(steps.p50_ns),
                parts.time(steps.mean_ns),
                parts.time(steps.p95_ns),
                parts.time(steps.max_ns),
            ]
        ],
    )
    return parts.panel(
        "Step time distribution",
        f"Number of steps by host time{left_out}; bins of {duration(edges[1] - edges[0])}.",
        f"<figure>{chart}</figure>{table}",
    )


_UTILIZATION = (
    ("gpu", "GPU utilisation over time", "Share of each bin in which the GPU was busy"),
    ("cpu", "CPU utilisation over time", "Mean over the cores of a node, from samples"),
)


def utilization(figures: Figures) -> str:
    """Return utilisation over time, one strip per GPU or node."""
    panels = []
    for resource, title, help_text in _UTILIZATION:
        strips = "".join(_strip(s) for s in figures.utilization if s.resource == resource)
        panels.append(parts.panel(title, f"{help_text}; full height is 100 %.", strips, wide=True))
    return "".join(panels)


def _strip(strip: Strip) -> str:
    css = "compute" if strip.resource == "gpu" else "memory"
    length = duration(strip.bin_ns * len(strip.values))
    label = shorten(strip.label)
    chart = svg.area(f"{label}, {percent(strip.mean)} on average", strip.values, css)
    caption = (
        f"<b>{parts.text(label)}</b>: {percent(strip.mean)} on average over {length}, "
        f"bins of {duration(strip.bin_ns)}"
    )
    return f"<figure><figcaption>{caption}</figcaption>{chart}</figure>"


def activity(figures: Figures) -> str:
    """Return GPU activity by kind."""
    colours = {
        "kernel": "compute",
        "memcpy": "memory",
        "memset": "memory",
        "sync": "wait",
        "idle": "wait",
    }
    rows = [
        [
            parts.words(row["activity"]),
            parts.bar(row["share_of_window"], colours.get(row["activity"], "extra")),
            parts.share(row["share_of_window"]),
            parts.time(row["busy_ns"]),
            parts.count(row["count"]),
        ]
        for row in figures.activity
    ]
    return parts.panel(
        "GPU activity",
        "Time with at least one event of the kind, as a share of the GPUs' windows together. Kinds "
        "may overlap.",
        parts.table("", ("kind", "", "share", "busy", "count"), rows),
    )


def precision(figures: Figures) -> str:
    """Return kernel time by data type."""
    rows = [
        [
            parts.words(row["precision"]),
            parts.bar(row["share_of_kernel_time"]),
            parts.share(row["share_of_kernel_time"]),
            parts.time(row["total_ns"]),
            parts.share(row["tensor_core_ns"] / row["total_ns"] if row["total_ns"] else None),
            parts.count(row["count"]),
        ]
        for row in figures.precision
    ]
    return parts.panel(
        "Precision",
        "Share of all compute kernel time by data type, and the part of it in tensor-core kernels. "
        "Judged by kernel names; other: the name does not tell.",
        parts.table("", ("type", "", "share", "total", "tensor cores", "runs"), rows),
    )
