"""Panels about kernels by name: time and launches, all and the top fifteen."""

from __future__ import annotations

from tracemill_ui.panels.model import (
    MAX_TOP,
    Context,
    Panel,
    counted,
    panel,
    stat,
    sum_by,
    top_and_others,
    whole,
    with_bars,
    with_shares,
    without_data,
)

MAX_K = 50
NO_KERNELS = "No kernel run was recorded."


def _by_time(context: Context) -> list[tuple[str, int]]:
    rows = sum_by(context.table("kernel_summary"), ["name"], ["total_ns"])
    return [(row["name"], row["total_ns"]) for row in rows]


def _by_launches(context: Context) -> tuple[list[tuple[str, int]], str]:
    """Counts by kernel name, and what was counted."""
    launches = context.table("launch_summary")
    noun = "launch calls"
    if not launches.num_rows:
        launches = context.table("kernel_summary")
        noun = "kernel runs (the profile has no launch calls)"
    rows = sum_by(launches, ["name"], ["count"])
    return [(row["name"], row["count"]) for row in rows], noun


def kernel_time_all(context: Context) -> Panel:
    """Kernel time by name: the top k and one part for all others."""
    rows = _by_time(context)
    total_ns = sum(value for _, value in rows)
    base = panel(
        "kernel_time_all",
        "Time by all kernels",
        "Which kernels the GPU time goes to; a few large parts are where tuning pays.",
        unit="ns",
        window=f"Sum of durations on {context.gpus_text}; share of all kernel time."
        f"{context.whole_text}",
        span=6,
    )
    base["options"] = [whole("k", "Top k", context.options.k, 1, MAX_K)]
    if not rows:
        return without_data(base, NO_KERNELS)
    base["stats"] = [stat("Kernels", len(rows), "count")]
    return with_shares(base, top_and_others(rows, context.options.k, "kernels"), total_ns)


def kernel_time_top(context: Context) -> Panel:
    """Kernel time by name: the top fifteen, ranked."""
    rows = _by_time(context)
    total_ns = sum(value for _, value in rows)
    base = panel(
        "kernel_time_top",
        "Time by top 15 kernels",
        "The kernels with most time, ranked; bars compare them with each other.",
        unit="ns",
        window=f"Sum of durations on {context.gpus_text}; share of the time of all "
        f"{counted(len(rows), 'kernel')}.{context.whole_text}",
        span=6,
    )
    return with_bars(base, rows[:MAX_TOP], total_ns) if rows else without_data(base, NO_KERNELS)


def launches_all(context: Context) -> Panel:
    """Launches by kernel name: the top k and one part for all others."""
    rows, noun = _by_launches(context)
    total = sum(value for _, value in rows)
    base = panel(
        "launches_all",
        "Launches of all kernels",
        "How often kernels are launched; very many short ones cost the host more than the GPU.",
        unit="count",
        window=f"Number of {noun} for {context.gpus_text}; share of all.{context.whole_text}",
        span=6,
    )
    base["options"] = [whole("k", "Top k", context.options.k, 1, MAX_K)]
    if not rows:
        return without_data(base, NO_KERNELS)
    base["stats"] = [stat("Kernels", len(rows), "count")]
    return with_shares(base, top_and_others(rows, context.options.k, "kernels"), total)


def launches_top(context: Context) -> Panel:
    """Launches by kernel name: the top fifteen, ranked."""
    rows, noun = _by_launches(context)
    total = sum(value for _, value in rows)
    base = panel(
        "launches_top",
        "Launches of top 15 kernels",
        "The kernels launched most often, ranked.",
        unit="count",
        window=f"Number of {noun} for {context.gpus_text}; share of all {total:,}."
        f"{context.whole_text}",
        span=6,
    )
    return with_bars(base, rows[:MAX_TOP], total) if rows else without_data(base, NO_KERNELS)
