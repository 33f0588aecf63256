"""What every number of a right analysis of a simulated job must be.

Worked out from the model's events while they are made, by other means than the engine's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracemill_simulate import program
from tracemill_simulate.model import Int64, Span, Step
from tracemill_simulate.sweep import COMMUNICATION, COMPUTE, MEMORY, Sweep

MAX_LISTED = 20_000
"""Collectives listed one by one; beyond it only their sums are told."""

_FORWARD, _BACKWARD = len(program.FORWARD), len(program.BACKWARD)


class RankTruth:
    """Adds up the events of one rank."""

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self._sweep = Sweep()
        self._steps = 0
        self._kernel_ns = np.zeros(len(program.COMPUTE), np.int64)
        self._collective_ns = 0
        self._memory_ns = {"HtoD": 0, "DtoH": 0, "memset": 0}
        self._latencies: list[Int64] = []
        self._latency = {"sum_ns": 0, "min_ns": 2**62, "max_ns": 0}
        self._call_ns = 0
        self._wait_ns = 0
        self._range_ns = np.zeros(len(program.RANGES), np.int64)
        self._range_gpu_ns = {"step": 0, "Forward": 0, "Backward": 0, "Optimizer": 0}
        self._step_ns: list[int] = []

    def add(self, steps: Sequence[Step], horizon_ns: int) -> None:
        """Take steps; no later work of this rank begins before the horizon."""

        def of(spans: Sequence[Span]) -> Span:
            return (
                np.stack([span[0][self._rank] for span in spans]),
                np.stack([span[1][self._rank] for span in spans]),
            )

        work = {
            "compute": (of([s.compute for s in steps]), of([s.compute_calls for s in steps])),
            "comm": (of([s.collectives for s in steps]), of([s.collective_calls for s in steps])),
            "HtoD": (of([s.copies for s in steps]), of([s.copy_calls for s in steps])),
            "DtoH": (of([s.loss for s in steps]), of([s.loss_calls for s in steps])),
            "memset": (of([s.zeroing for s in steps]), of([s.zeroing_calls for s in steps])),
        }
        kinds = {"compute": COMPUTE, "comm": COMMUNICATION}
        for what, (ran, called) in work.items():
            self._sweep.add(*ran, kinds.get(what, MEMORY))
            latency = ran[0] - called[0]
            self._latency["sum_ns"] += int(latency.sum())
            self._latency["min_ns"] = min(self._latency["min_ns"], int(latency.min()))
            self._latency["max_ns"] = max(self._latency["max_ns"], int(latency.max()))
            self._call_ns += int((called[1] - called[0]).sum())
            if what in self._memory_ns:
                self._memory_ns[what] += int((ran[1] - ran[0]).sum())
        self._sweep.advance(horizon_ns)
        runs = {what: spans[0] for what, spans in work.items()}
        self._kernel_ns += (runs["compute"][1] - runs["compute"][0]).sum(axis=0)
        self._collective_ns += int((runs["comm"][1] - runs["comm"][0]).sum())
        waits = of([s.host_waits for s in steps])
        self._wait_ns += int((waits[1] - waits[0]).sum())
        ranges = of([s.ranges for s in steps])
        self._range_ns += (ranges[1] - ranges[0]).sum(axis=0)
        self._step_ns += (ranges[1] - ranges[0])[:, 0].tolist()
        self._add_gpu_ranges(runs)
        self._steps += len(steps)

    def _add_gpu_ranges(self, runs: dict[str, Span]) -> None:
        """From the first start to the last end of what was launched in each range."""
        starts, ends = runs["compute"]
        parts = {
            "Forward": ([runs["HtoD"]], slice(0, _FORWARD)),
            "Backward": ([runs["comm"]], slice(_FORWARD, _FORWARD + _BACKWARD)),
            "Optimizer": ([runs["memset"], runs["DtoH"]], slice(_FORWARD + _BACKWARD, None)),
        }
        bounds = []
        for name, (others, which) in parts.items():
            spans = [*others, (starts[:, which], ends[:, which])]
            first = np.min([span[0].min(axis=1) for span in spans], axis=0)
            last = np.max([span[1].max(axis=1) for span in spans], axis=0)
            self._range_gpu_ns[name] += int((last - first).sum())
            bounds.append((first, last))
        first = np.min([low for low, _ in bounds], axis=0)
        last = np.max([high for _, high in bounds], axis=0)
        self._range_gpu_ns["step"] += int((last - first).sum())

    def document(self, place: dict[str, Any], error_ns: int, samples: int) -> dict[str, Any]:
        """Return the rank's part; ``error_ns`` is what its node's time of day is ahead."""
        self._sweep.advance()
        found, steps = self._sweep.partition, self._steps
        assert found.start_ns is not None and found.end_ns is not None
        sizes = {
            "HtoD": (len(program.INPUT_BYTES), sum(program.INPUT_BYTES)),
            "DtoH": (1, program.LOSS_BYTES),
            "memset": (1, program.ZEROED_BYTES),
        }
        return {
            **place,
            "steps": steps,
            "step_ns": {
                "total": sum(self._step_ns),
                "min": min(self._step_ns),
                "max": max(self._step_ns),
            },
            "kernels": steps * program.KERNELS_PER_STEP,
            "api_calls": steps * program.CALLS_PER_STEP,
            "launches": {
                "count": steps * program.LAUNCHES_PER_STEP,
                "call_ns": self._call_ns,
                **{f"latency_{name}": value for name, value in self._latency.items()},
            },
            "syncs": {"host": steps, "device": steps, "host_ns": self._wait_ns},
            "annotations": steps * len(program.RANGES),
            "samples": samples,
            "kernel_totals": self._kernel_totals(),
            "memory_ops": {
                kind: {
                    "count": steps * count,
                    "bytes": steps * size,
                    "total_ns": self._memory_ns[kind],
                }
                for kind, (count, size) in sizes.items()
            },
            "gpu_time": {
                "window_start_ns": found.start_ns + error_ns,
                "window_end_ns": found.end_ns + error_ns,
                "gpu_events": steps * program.LAUNCHES_PER_STEP,
                **{
                    name: getattr(found, name)
                    for name in (
                        "window_ns", "busy_ns", "idle_ns", "compute_ns", "comm_ns", "mem_ns",
                        "overlap_ns", "exposed_comm_ns", "exposed_mem_ns",
                    )
                },
            },
            "ranges": {
                name: {
                    "count": steps,
                    "total_ns": int(self._range_ns[at]),
                    "gpu_total_ns": self._range_gpu_ns.get(name),
                }
                for at, name in enumerate(program.RANGES)
            },
        }  # fmt: skip

    def _kernel_totals(self) -> dict[str, dict[str, int]]:
        totals: dict[str, dict[str, int]] = {}
        for launch, total in zip(program.COMPUTE, self._kernel_ns.tolist(), strict=True):
            entry = totals.setdefault(launch.name, {"count": 0, "total_ns": 0})
            entry["count"] += self._steps
            entry["total_ns"] += total
        if self._steps:
            totals[program.ALL_REDUCE.name] = {
                "count": self._steps * program.BUCKETS,
                "total_ns": self._collective_ns,
            }
        return totals

    @property
    def busy_share(self) -> float:
        """Busy time in the window; call after all steps."""
        self._sweep.advance()
        found = self._sweep.partition
        return found.busy_ns / found.window_ns if found.window_ns else 0.0


class CollectiveTruth:
    """Who came last to each collective, and how long the others waited."""

    def __init__(self, ranks: int) -> None:
        self._count = 0
        self._listed: list[dict[str, int | str]] = []
        self._last = np.zeros(ranks, np.int64)
        self._last_wait = np.zeros(ranks, np.int64)
        self._caused = np.zeros(ranks, np.int64)
        self._suffered = np.zeros(ranks, np.int64)
        self._lateness = np.zeros(ranks, np.int64)

    def add(self, step: Step) -> None:
        """Take the collectives of a step."""
        starts = step.collectives[0]
        for bucket in range(starts.shape[1]):
            arrival = starts[:, bucket]
            last = int(arrival.argmax())
            waits = arrival[last] - arrival
            self._last[last] += 1
            self._last_wait[last] += int(waits.sum())
            self._suffered += waits
            self._caused += np.maximum(arrival[:, None] - arrival[None, :], 0).sum(axis=1)
            self._lateness = np.maximum(self._lateness, arrival - arrival.min())
            if self._count < MAX_LISTED:
                self._listed.append(
                    {
                        "sequence": self._count,
                        "step": step.number,
                        "operation": "all_reduce",
                        "last_rank": last,
                        "wait_ns": int(waits.sum()),
                    }
                )
            self._count += 1

    def document(self) -> dict[str, Any]:
        """Return the job's part."""
        columns = {
            "last": self._last,
            "last_wait_ns": self._last_wait,
            "caused_wait_ns": self._caused,
            "suffered_wait_ns": self._suffered,
            "max_lateness_ns": self._lateness,
        }
        return {
            "count": self._count,
            "process_group": None,
            "operation": "all_reduce",
            "by_rank": [
                {"rank": rank, **{name: int(values[rank]) for name, values in columns.items()}}
                for rank in range(len(self._last))
            ],
            "listed": self._listed,
        }
