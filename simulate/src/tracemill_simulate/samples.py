"""Sampled metrics of a simulated node: its cores, its memory, its GPUs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tracemill_schema.metrics import METRIC_BY_NAME

from tracemill_simulate.model import Int64

CORES_PER_GPU = 4
CPU_INTERVAL_NS = 100_000_000
GPU_INTERVAL_NS = 200_000_000
_MAX_TIMES = 36_000
_GIB = 1 << 30
_NODE_MEMORY = 512 * _GIB
_GPU_MEMORY = 80 * _GIB

Columns = tuple[Int64, Int64, Int64, Int64]
"""Metric, index, time (true, ns), value."""


def node_samples(
    begin_ns: int, end_ns: int, busy_shares: Sequence[float], rng: np.random.Generator
) -> Columns:
    """Return what the node's one sampler records; ``busy_shares`` has one entry per GPU."""
    parts: list[Columns] = []
    times = _times(begin_ns, end_ns, CPU_INTERVAL_NS)
    for core in range(CORES_PER_GPU * len(busy_shares)):
        busy = rng.integers(20, 60, len(times)) * CPU_INTERVAL_NS // 100
        parts.append(_series("cpu_busy_ns", core, times, np.cumsum(busy)))
        parts.append(_series("cpu_total_ns", core, times, times - begin_ns + CPU_INTERVAL_NS))
    used = 90 * _GIB + rng.integers(0, _GIB, len(times))
    parts.append(_series("memory_used_bytes", -1, times, used))
    parts.append(_series("memory_total_bytes", -1, times, np.full(len(times), _NODE_MEMORY)))
    times = _times(begin_ns, end_ns, GPU_INTERVAL_NS)
    for device, share in enumerate(busy_shares):
        percent = np.clip(round(100 * share) + rng.integers(-3, 4, len(times)), 0, 100)
        values = {
            "gpu_busy_percent": percent,
            "gpu_memory_used_bytes": 52 * _GIB + rng.integers(0, _GIB, len(times)),
            "gpu_memory_total_bytes": np.full(len(times), _GPU_MEMORY),
            "gpu_power_mw": 120_000 + percent * 5_000 + rng.integers(0, 4_000, len(times)),
            "gpu_sm_clock_mhz": np.full(len(times), 1_755),
            "gpu_temperature_c": 41 + percent // 4,
        }
        parts += [_series(name, device, times, value) for name, value in values.items()]
    joined = [np.concatenate([part[at] for part in parts]) for at in range(4)]
    return joined[0], joined[1], joined[2], joined[3]


def _times(begin_ns: int, end_ns: int, interval_ns: int) -> Int64:
    """Every interval from the beginning to the end; a long job is sampled less often."""
    interval_ns = max(interval_ns, (end_ns - begin_ns) // _MAX_TIMES)
    return np.arange(begin_ns, end_ns, interval_ns, dtype=np.int64)


def _series(metric: str, index: int, times: Int64, values: Int64) -> Columns:
    size = len(times)
    metrics = np.full(size, METRIC_BY_NAME[metric].id, np.int64)
    return metrics, np.full(size, index, np.int64), times, values.astype(np.int64)
