"""``time_breakdown``: an exact partition of a window of GPU time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from tracemill_schema.vocab import WindowKind

from tracemill_analysis.aggregates.gpu import GpuEvents, partition
from tracemill_analysis.aggregates.source import Process
from tracemill_analysis.aggregates.steps import Step


def time_breakdown(process: Process, events: GpuEvents, steps: list[Step]) -> list[dict[str, Any]]:
    """Return the rows of one process: per device one for each window kind that can be formed.

    The window runs from the first start to the last end of the events of its kind. Without a linked
    event there is no ``linked`` row, without a step annotation no ``steps`` row.
    """
    chosen: dict[WindowKind, NDArray[np.bool_]] = {
        WindowKind.ALL_GPU: np.ones(len(events), bool),
        WindowKind.LINKED: events.linked,
    }
    if steps:
        last_end = max(step.end for step in steps)
        chosen[WindowKind.STEPS] = events.linked & (events.launch <= last_end)
    return [
        _row(process, device, kind, events.select(mask & (events.device == device)))
        for device in events.devices
        for kind, mask in sorted(chosen.items())
        if (mask & (events.device == device)).any()
    ]


def _row(process: Process, device: int, kind: WindowKind, events: GpuEvents) -> dict[str, Any]:
    start, end = int(events.start.min()), int(events.end.max())
    parts = partition(events)
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
