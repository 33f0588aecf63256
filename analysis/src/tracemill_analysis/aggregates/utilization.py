"""``utilization``: how busy each GPU and CPU core is over time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracemill_analysis import intervals as iv
from tracemill_analysis.aggregates.bins import Bins
from tracemill_analysis.aggregates.cpu import CoreTimes
from tracemill_analysis.aggregates.gpu import GpuEvents
from tracemill_analysis.aggregates.source import Process

NODE_MEAN = -1
"""``index`` of the mean over a node's cores."""


def gpu_utilization(process: Process, events: GpuEvents, bins: Bins) -> list[dict[str, Any]]:
    """Return one row per device of the process and bin; a bin without events is 0, not absent."""
    rows: list[dict[str, Any]] = []
    for device in events.devices:
        parts = events.on(device).parts
        in_bins = [
            np.diff(iv.covered_before(part, bins.edges)).tolist()
            for part in (parts.busy, parts.compute, parts.comm, parts.mem)
        ]
        rows.extend(
            {
                "node": process.node,
                "process_id": process.process_id,
                "rank": process.rank,
                "resource": "gpu",
                "index": device,
                "bin_start_ns": start,
                "bin_ns": bin_ns,
                "utilization": busy / bin_ns,
                "busy_ns": busy,
                "compute_ns": compute,
                "comm_ns": comm,
                "mem_ns": mem,
            }
            for start, bin_ns, busy, compute, comm, mem in zip(
                bins.starts.tolist(), bins.lengths.tolist(), *in_bins, strict=True
            )
        )
    return rows


def cpu_utilization(node: str, cores: dict[int, CoreTimes], bins: Bins) -> list[dict[str, Any]]:
    """Return one row per core and bin, and one for the mean over the cores (index -1).

    The time between two samples is spread evenly over the bins it touches. A bin outside a core's
    samples has no row: nothing is known of it.
    """
    per_core = {core: _in_bins(times, bins) for core, times in sorted(cores.items())}
    if not per_core:
        return []
    busy_all = np.sum([busy for busy, _ in per_core.values()], axis=0)
    total_all = np.sum([total for _, total in per_core.values()], axis=0)
    rows: list[dict[str, Any]] = []
    for core, (busy, total) in {NODE_MEAN: (busy_all, total_all), **per_core}.items():
        rows.extend(
            _cpu_row(node, core, bins, at, float(busy[at]), float(total[at]))
            for at in np.flatnonzero(total > 0).tolist()
        )
    return rows


def _in_bins(times: CoreTimes, bins: Bins) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Busy and total time (ns) of a core in each bin."""
    edges = (bins.edges - bins.start).astype(np.float64)
    at = (times.time - bins.start).astype(np.float64)
    return np.diff(np.interp(edges, at, times.busy)), np.diff(np.interp(edges, at, times.total))


def _cpu_row(
    node: str, core: int, bins: Bins, at: int, busy: float, total: float
) -> dict[str, Any]:
    return {
        "node": node,
        "process_id": None,
        "rank": None,
        "resource": "cpu",
        "index": core,
        "bin_start_ns": int(bins.starts[at]),
        "bin_ns": int(bins.lengths[at]),
        "utilization": busy / total,
        "busy_ns": round(busy),
        "compute_ns": None,
        "comm_ns": None,
        "mem_ns": None,
    }
