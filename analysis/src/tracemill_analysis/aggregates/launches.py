"""Launches of GPU work: how long they take, how long they wait, what they run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tracemill_schema.tables.events import KERNELS, MEMORY_OPS

from tracemill_analysis.aggregates.order import coded, order_by, run_starts
from tracemill_analysis.aggregates.source import EventSource, Process, integers, present, texts
from tracemill_analysis.aggregates.statistics import distributions, quantile
from tracemill_analysis.intervals import Int64s

Rows = list[dict[str, Any]]

LAUNCH = ("device", "correlation", "launch_thread", "launch_start_ns", "launch_dur_ns")
"""Runs that agree in these come from one launch (CUDA graph)."""

NO_VALUE = np.iinfo(np.int64).min
"""Stands for null: nulls belong together."""

_COLUMNS = (*LAUNCH, "stream", "start_ns", "dur_ns")


@dataclass(frozen=True)
class GpuRuns:
    """The kernels and memory operations of which the launch is known, by start of the launch.

    Those of one launch stand together, the one that ran first in front. ``name`` holds positions in
    ``names`` (sorted), -1 for memory operations.
    """

    columns: dict[str, Int64s]
    name: Int64s
    names: list[str]

    def of(self, *names: str) -> list[Int64s]:
        """Return columns."""
        return [self.columns[name] for name in names]

    def select(self, chosen: NDArray[np.bool_]) -> GpuRuns:
        """Return the runs for which ``chosen`` is true."""
        columns = {name: values[chosen] for name, values in self.columns.items()}
        return GpuRuns(columns, self.name[chosen], self.names)


def load_runs(source: EventSource, process_id: int) -> GpuRuns:
    """Read the GPU events of a process that have a launch."""
    kernels = source.columns(KERNELS, (*_COLUMNS, "name"), process_id)
    copies = source.columns(MEMORY_OPS, _COLUMNS, process_id)
    codes, words = texts(kernels, "name")
    launched = [present(data, "launch_start_ns") for data in (kernels, copies)]
    columns = {
        name: np.concatenate(
            [
                integers(data, name, NO_VALUE)[known]
                for data, known in zip((kernels, copies), launched, strict=True)
            ]
        )
        for name in _COLUMNS
    }
    name = np.concatenate((codes[launched[0]], np.full(int(launched[1].sum()), -1)))
    keys = [columns[key] for key in (*LAUNCH, "start_ns", "stream")]
    order = order_by(columns["launch_start_ns"], *keys, name)
    columns = {key: values[order] for key, values in columns.items()}
    return GpuRuns(columns, name[order], [word or "" for word in words])


def launch_summary(process: Process, runs: GpuRuns) -> Rows:
    """Return launches of kernels by device and name, most first.

    A launch of several kernels (CUDA graph) counts once, under the kernel that ran first.
    """
    kernels = runs.select((runs.name >= 0) & (runs.columns["launch_dur_ns"] != NO_VALUE))
    firsts = run_starts(*kernels.of(*LAUNCH))
    device, devices = coded(kernels.columns["device"][firsts])
    keys = {"device": (device, devices.tolist()), "name": (kernels.name[firsts], kernels.names)}
    rows = distributions(keys, kernels.columns["launch_dur_ns"][firsts])
    rows.sort(key=lambda row: (row["device"], -row["count"]))
    return [{**process.where, **row} for row in rows]


def launch_latency(process: Process, runs: GpuRuns) -> Rows:
    """Return one row per device: the time from launch to run.

    Kernels and memory operations count; the runs of one launch (CUDA graph) count once, from the
    launch to the first of them.
    """
    firsts = run_starts(*runs.of(*LAUNCH))
    device, start, launch, call = (
        column[firsts]
        for column in runs.of("device", "start_ns", "launch_start_ns", "launch_dur_ns")
    )
    latency = start - launch
    after_call = latency - np.where(call == NO_VALUE, 0, call)
    rows = []
    for one in coded(device)[1].tolist():
        here = device == one
        ordered, after = np.sort(latency[here]), np.sort(after_call[here])
        rows.append(
            {
                **process.where,
                "device": one,
                "launches": len(ordered),
                "min_ns": int(ordered[0]),
                "p50_ns": int(quantile(ordered, 50)),
                "p95_ns": int(quantile(ordered, 95)),
                "max_ns": int(ordered[-1]),
                "mean_ns": int(ordered.sum()) / len(ordered),
                "after_call_p50_ns": int(quantile(after, 50)),
                "negative": int((ordered < 0).sum()),
            }
        )
    return rows


def waiting_launches(runs: GpuRuns) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """Return device, stream, launch and run start (ns) of launches that wait, by stream.

    The runs that one launch has on a stream are one, which waits until the first of them.
    """
    keys = ("device", "stream", "correlation", "launch_thread", "launch_start_ns")
    launch, start = runs.of("launch_start_ns", "start_ns")
    order = order_by(launch, *runs.of(*keys), start)
    order = order[run_starts(*(column[order] for column in runs.of(*keys)))]
    order = order[start[order] > launch[order]]
    device, stream = runs.of("device", "stream")
    order = order[np.lexsort((stream[order], device[order]))]
    return device[order], stream[order], launch[order], start[order]
