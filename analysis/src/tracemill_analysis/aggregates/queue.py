"""``queue_depth``: launches that wait to run, per stream over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracemill_analysis.aggregates.bins import Bins
from tracemill_analysis.aggregates.launches import GpuRuns, waiting_launches
from tracemill_analysis.aggregates.order import run_starts
from tracemill_analysis.aggregates.source import Process
from tracemill_analysis.intervals import Int64s


def queue_depth(process: Process, runs: GpuRuns, bins: Bins) -> list[dict[str, Any]]:
    """Return one row per stream and bin in which at least one launch waits."""
    device, stream, launch, run = waiting_launches(runs)
    changes = run_starts(device, stream)[1:]
    rows: list[dict[str, Any]] = []
    for begin, end in zip([0, *changes.tolist()], [*changes.tolist(), len(device)], strict=True):
        if begin == end:
            continue
        waiting, most = depth_in_bins(launch[begin:end], run[begin:end], bins.edges)
        rows.extend(
            {
                **process.where,
                "device": int(device[begin]),
                "stream": int(stream[begin]),
                "bin_start_ns": int(bins.starts[at]),
                "bin_ns": int(bins.lengths[at]),
                "max_depth": int(most[at]),
                "mean_depth": int(waiting[at]) / int(bins.lengths[at]),
            }
            for at in np.flatnonzero(most > 0).tolist()
        )
    return rows


def depth_in_bins(starts: Int64s, ends: Int64s, edges: Int64s) -> tuple[Int64s, Int64s]:
    """Return for each bin the summed time of the intervals within it, and the most at one moment.

    ``starts`` and ``ends`` in ns, each interval of positive length; ``edges`` bound the bins.
    """
    times = np.concatenate((starts, ends))
    steps = np.repeat(np.array([1, -1], np.int64), [len(starts), len(ends)])
    order = np.argsort(times, kind="stable")
    times, depth = times[order], np.cumsum(steps[order])
    settled = np.append(times[1:] != times[:-1], True)
    times, depth = times[settled], depth[settled]
    # From here on depth[i] holds from times[i] to times[i + 1]; before times[0] it is 0.
    area = np.concatenate((np.zeros(1, np.int64), np.cumsum(depth[:-1] * np.diff(times))))
    place = np.searchsorted(times, edges, side="right") - 1
    before = np.where(place < 0, 0, area[place] + depth[place] * (edges - times[place]))
    at_edge = np.where(place < 0, 0, depth[place])
    most = at_edge[:-1].copy()
    inside = (times > edges[0]) & (times < edges[-1])
    np.maximum.at(most, np.searchsorted(edges, times[inside], side="right") - 1, depth[inside])
    return np.diff(before), most
