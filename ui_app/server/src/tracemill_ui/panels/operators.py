"""The panel of framework operators: where the host's time goes, and what it launches."""

from __future__ import annotations

from tracemill_ui.panels.model import Context, Panel, counted, panel, sum_by, with_table

_SUMS = (
    "self_ns", "total_ns", "count", "self_kernels", "self_gpu_ns", "gpu_ns", "launches",
    "launch_delay_ns",
)  # fmt: skip


def operators(context: Context) -> Panel:
    """Operators by name, most host time of their own first; GPU columns where any was launched."""
    table = context.table("operator_summary")
    base = panel(
        "operators",
        "Operators",
        "Host time of framework operators, self being without the operators they call, and the GPU "
        "time of the kernels launched by them; the delay is from launch to run.",
        unit="ns",
        window="All operators of "
        f"{counted(len(table['process_id'].unique()), 'process', 'processes')}, on all threads."
        f"{context.whole_text}",
        span=12,
    )
    rows = sum_by(table, ["category", "name", "module"], _SUMS)
    for row in rows:
        # A reader wants the delay of one launch; the table holds the sum, which adds up.
        launches = row["launches"]
        row["launch_delay_ns"] = row["launch_delay_ns"] / launches if launches else None
    has_kernels = any(row["launches"] for row in rows)
    columns = [
        ("name", "Operator", "text"),
        *([("module", "Module", "text")] if any(row["module"] for row in rows) else []),
        *([("category", "Kind", "text")] if len({row["category"] for row in rows}) > 1 else []),
        ("count", "Runs", "count"),
        ("self_ns", "Self", "ns"),
        ("total_ns", "Total", "ns"),
    ]
    if has_kernels:
        columns += [
            ("self_kernels", "Own kernels", "count"),
            ("self_gpu_ns", "Own GPU time", "ns"),
            ("gpu_ns", "GPU time within", "ns"),
            ("launch_delay_ns", "Launch delay", "ns"),
        ]
    return with_table(base, columns, rows)
