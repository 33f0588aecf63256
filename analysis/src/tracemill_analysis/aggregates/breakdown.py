"""``time_breakdown``: an exact partition of a window of GPU time."""

from __future__ import annotations

from typing import Any

from tracemill_schema.vocab import WindowKind

from tracemill_analysis.aggregates.gpu import GpuEvents
from tracemill_analysis.aggregates.source import Process
from tracemill_analysis.aggregates.steps import Step


def time_breakdown(process: Process, events: GpuEvents, steps: list[Step]) -> list[dict[str, Any]]:
    """Return the rows of one process: per device one for each window kind that can be formed.

    The window runs from the first start to the last end of the events of its kind. Without a linked
    event there is no ``linked`` row, without a step annotation no ``steps`` row.
    """
    last_end = max((step.end for step in steps), default=None)
    return [
        _row(process, device, kind, chosen)
        for device in events.devices
        for kind, chosen in sorted(_windows(events.on(device), last_end).items())
        if len(chosen)
    ]


def _windows(events: GpuEvents, last_end: int | None) -> dict[WindowKind, GpuEvents]:
    """Return the events of each window; ``last_end`` is the end of the last step (ns), if any."""
    chosen = {
        WindowKind.ALL_GPU: events,
        WindowKind.LINKED: events.select(events.linked),
    }
    if last_end is not None:
        launched = events.linked & (events.launch <= last_end)
        chosen[WindowKind.STEPS] = events.select(launched)
    return chosen


def _row(process: Process, device: int, kind: WindowKind, events: GpuEvents) -> dict[str, Any]:
    start, end = int(events.start.min()), int(events.end.max())
    parts = events.parts
    return {
        **process.where,
        "device": device,
        "window_kind": str(kind),
        "window_start_ns": start,
        "window_end_ns": end,
        "window_ns": end - start,
        "busy_ns": parts.busy_ns,
        "idle_ns": end - start - parts.busy_ns,
        "compute_ns": parts.compute_ns,
        "comm_ns": parts.comm_ns,
        "mem_ns": parts.mem_ns,
        "overlap_ns": parts.comm_ns - parts.exposed_comm_ns,
        "exposed_comm_ns": parts.exposed_comm_ns,
        "exposed_mem_ns": parts.exposed_mem_ns,
        "gpu_events": len(events),
    }
