"""The dashboard: which panels a profile gets, in which order, with verdict and findings on top."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracemill_schema.tables.profile import JOBS

from tracemill_ui.errors import ApiError
from tracemill_ui.panels import gpu, host, kernels, operators, steps, utilization, waiting
from tracemill_ui.panels.model import Context, Panel, Row

PanelMaker = Callable[[Context], Panel]

GPU_PANELS: tuple[PanelMaker, ...] = (gpu.gpu_active, utilization.gpu_utilization)
CPU_PANELS: tuple[PanelMaker, ...] = (utilization.cpu_active, utilization.cpu_utilization)
KERNEL_PANELS: tuple[PanelMaker, ...] = (
    kernels.kernel_time_all,
    kernels.kernel_time_top,
    kernels.launches_all,
    kernels.launches_top,
)
STEP_PANELS: tuple[PanelMaker, ...] = (steps.step_histogram, steps.step_series)
GPU_DETAIL_PANELS: tuple[PanelMaker, ...] = (
    gpu.time_breakdown,
    waiting.idle_causes,
    gpu.launch_latency,
    waiting.queue_depth,
    gpu.precision,
    gpu.gpu_activity,
    gpu.memory_ops,
)
OTHER_PANELS: tuple[PanelMaker, ...] = (
    gpu.collectives,
    waiting.stragglers,
    operators.operators,
    host.annotation_table,
    host.host_metrics,
)

PANEL_MAKERS: dict[str, PanelMaker] = {
    maker.__name__: maker
    for maker in (
        *GPU_PANELS,
        *CPU_PANELS,
        *KERNEL_PANELS,
        *STEP_PANELS,
        *GPU_DETAIL_PANELS,
        *OTHER_PANELS,
    )
}

TOP_FINDINGS = 5
NO_GPU_NOTE = "No GPU activity was recorded, so panels about GPUs are not shown."
NO_HOST_NOTE = "No CPU samples were recorded, so panels about CPU and memory are not shown."


def dashboard(context: Context, only: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the whole dashboard, or just the panels named in ``only``."""
    if only:
        return {"panels": [_maker(name)(context) for name in only]}
    has_gpu = context.profile.tables["time_breakdown"].num_rows > 0
    has_host = context.profile.tables["cpu_summary"].num_rows > 0
    notes = [*([] if has_gpu else [NO_GPU_NOTE]), *([] if has_host else [NO_HOST_NOTE])]
    return {
        "job_name": context.profile.entry.name,
        "job": job_row(context),
        "choices": choices(context),
        "notes": notes,
        "findings": findings(context),
        "panels": [maker(context) for maker in panel_order(context, has_gpu, has_host)],
        "series": series_names(context),
    }


def panel_order(context: Context, has_gpu: bool, has_host: bool) -> list[PanelMaker]:
    """Return the panels that fit the profile: what was not recorded gets no panel."""
    cpu = CPU_PANELS if has_host else ()
    metrics = (host.host_metrics,) if has_host else ()
    has_operators = context.profile.tables["operator_summary"].num_rows > 0
    ranges = (*((operators.operators,) if has_operators else ()), host.annotation_table)
    if not has_gpu:
        return [*cpu, *STEP_PANELS, *ranges, *metrics]
    has_collectives = context.profile.tables["collective_summary"].num_rows > 0
    communication = (gpu.collectives, waiting.stragglers) if has_collectives else ()
    return [
        *GPU_PANELS,
        *cpu,
        *KERNEL_PANELS,
        *STEP_PANELS,
        *GPU_DETAIL_PANELS,
        *communication,
        *ranges,
        *metrics,
    ]


def _maker(name: str) -> PanelMaker:
    maker = PANEL_MAKERS.get(name)
    if maker is None:
        raise ApiError(404, f"There is no panel {name[:60]!r}.", f"Take {', '.join(PANEL_MAKERS)}.")
    return maker


def job_row(context: Context) -> Row:
    """Return the profile's JOBS row as it stands in its table, else in its manifest."""
    rows = context.profile.tables[JOBS.name].to_pylist()
    job = rows[0] if rows else context.profile.entry.job
    return {column.name: job.get(column.name) for column in JOBS.columns}


def choices(context: Context) -> dict[str, list[Any]]:
    """Return what the filter offers: the nodes, ranks and GPUs of the whole profile."""
    tables = context.profile.tables
    nodes = set(tables["processes"]["node"].to_pylist())
    nodes |= set(tables["utilization"]["node"].to_pylist())
    ranks = {rank for rank in tables["processes"]["rank"].to_pylist() if rank is not None}
    devices = set(tables["time_breakdown"]["device"].to_pylist())
    return {"nodes": sorted(nodes), "ranks": sorted(ranks), "devices": sorted(devices)}


def findings(context: Context) -> dict[str, Any]:
    """Return the first findings, how many there are, and how many rules could not answer."""
    rows = context.profile.tables["findings"].sort_by("position").to_pylist()
    stated = [row for row in rows if not row["abstained"]]
    names = ("rule", "severity", "title", "advice", "at_stake_ns", "gpu_hours")
    return {
        "total": len(stated),
        "abstained": len(rows) - len(stated),
        "top": [{name: row[name] for name in names} for row in stated[:TOP_FINDINGS]],
    }


def series_names(context: Context) -> list[str]:
    """Return the annotation series that a histogram can be made of, most time first."""
    rows = context.table("annotation_summary").select(["series", "total_ns"]).to_pylist()
    totals: dict[str, int] = {}
    for row in rows:
        totals[row["series"]] = totals.get(row["series"], 0) + row["total_ns"]
    return sorted(totals, key=lambda name: (-totals[name], name))[:500]
