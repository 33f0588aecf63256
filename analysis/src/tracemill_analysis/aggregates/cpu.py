"""``cpu_summary``: sampled host metrics, and the busy time of CPU cores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tracemill_schema.metrics import METRIC_BY_NAME

from tracemill_analysis.aggregates.source import EventSource, integers, texts
from tracemill_analysis.aggregates.statistics import quantile
from tracemill_analysis.intervals import Int64s

Doubles = NDArray[np.float64]

CPU_BUSY, CPU_TOTAL = "cpu_busy_ns", "cpu_total_ns"
UTILIZATION = "cpu_utilization"
ALL_CORES = -1


@dataclass(frozen=True)
class CoreTimes:
    """Cumulative times of one core since its first sample: sample times, busy and total ns."""

    time: Int64s
    busy: Doubles
    total: Doubles


@dataclass(frozen=True)
class Series:
    """The values of one metric: of a process, or (``process_id`` None) of a node, core or GPU."""

    node: str
    process_id: int | None
    rank: int | None
    metric: str
    unit: str
    index: int
    time: Int64s
    value: Doubles


def load_series(source: EventSource) -> list[Series]:
    """Read all samples of a job, grouped.

    Several processes of a node may sample the same node or core: their samples are one series. A
    cumulative value that falls below an earlier one (two processes reading at the same time) is
    raised to it.
    """
    data = source.sql("samples")
    node, nodes = texts(data, "node")
    metric, metrics = texts(data, "metric")
    owner, index = integers(data, "owner"), integers(data, "index")
    time = integers(data, "time_ns")
    value = data.column("value").to_numpy()
    units, ranks = data.column("unit"), data.column("rank")
    keys = np.stack([node, owner, metric, index])
    edges = np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)) + 1
    result = []
    for begin, end in zip([0, *edges.tolist()], [*edges.tolist(), len(time)], strict=True):
        if begin == end:
            continue
        name = metrics[metric[begin]] or ""
        values = value[begin:end]
        known = METRIC_BY_NAME.get(name)
        if known is not None and known.cumulative:
            values = np.maximum.accumulate(values)
        result.append(
            Series(
                node=nodes[node[begin]] or "",
                process_id=int(owner[begin]) if owner[begin] >= 0 else None,
                rank=ranks[begin].as_py(),
                metric=name,
                unit=units[begin].as_py(),
                index=int(index[begin]),
                time=time[begin:end],
                value=values,
            )
        )
    return result


def core_times(series: list[Series]) -> dict[str, dict[int, CoreTimes]]:
    """Return per node and core the busy and total time, at the times both were sampled."""
    found = {(one.node, one.index, one.metric): one for one in series}
    result: dict[str, dict[int, CoreTimes]] = {}
    for node, core, metric in sorted(found):
        total = found.get((node, core, CPU_TOTAL))
        if metric != CPU_BUSY or total is None:
            continue
        busy = found[node, core, CPU_BUSY]
        time, at_busy, at_total = np.intersect1d(
            busy.time, total.time, assume_unique=True, return_indices=True
        )
        if len(time) > 1:
            result.setdefault(node, {})[core] = CoreTimes(
                time,
                busy.value[at_busy] - busy.value[at_busy[0]],
                total.value[at_total] - total.value[at_total[0]],
            )
    return result


def cpu_summary(
    series: list[Series], cores: dict[str, dict[int, CoreTimes]]
) -> list[dict[str, Any]]:
    """Return one row per metric and what it was sampled of, and the utilisation of the cores."""
    rows = [row for node, by_core in sorted(cores.items()) for row in _core_rows(node, by_core)]
    others = (one for one in series if one.metric not in (CPU_BUSY, CPU_TOTAL))
    return rows + [row for one in others if (row := _metric_row(one)) is not None]


def _core_rows(node: str, cores: dict[int, CoreTimes]) -> list[dict[str, Any]]:
    """Rows of ``cpu_utilization``: each core, and all cores of the node (index -1)."""
    rows = []
    for core, times in sorted(cores.items()):
        busy, total = np.diff(times.busy), np.diff(times.total)
        rows.append(_utilization_row(node, core, busy, total))
    # Cores are sampled together; a time that not all of them have is left out of the mean's range.
    common = np.unique(np.concatenate([times.time for times in cores.values()]))
    first = max(int(times.time[0]) for times in cores.values())
    last = min(int(times.time[-1]) for times in cores.values())
    common = common[(common >= first) & (common <= last)]
    busy_all, total_all = np.zeros(max(0, len(common) - 1)), np.zeros(max(0, len(common) - 1))
    for times in cores.values():
        at, here = (times.time - first).astype(np.float64), (common - first).astype(np.float64)
        busy_all += np.diff(np.interp(here, at, times.busy))
        total_all += np.diff(np.interp(here, at, times.total))
    rows.append(_utilization_row(node, ALL_CORES, busy_all, total_all))
    return [row for row in rows if row is not None]


def _utilization_row(node: str, core: int, busy: Doubles, total: Doubles) -> dict[str, Any] | None:
    counted = total > 0
    if not counted.any():
        return None
    shares = busy[counted] / total[counted]
    return _row(
        (node, None, None, UTILIZATION, "0..1", core),
        shares,
        float(busy[counted].sum() / total[counted].sum()),
    )


def _metric_row(one: Series) -> dict[str, Any] | None:
    """Row of a gauge, or of the rates of a cumulative metric; None if there are too few values."""
    known = METRIC_BY_NAME.get(one.metric)
    seconds = np.diff(one.time) / 1e9
    if known is not None and known.cumulative:
        if not len(seconds):
            return None
        rates = np.diff(one.value) / seconds
        mean = float((one.value[-1] - one.value[0]) / seconds.sum())
        where = (one.node, one.process_id, one.rank, one.metric, f"{one.unit}/s", one.index)
        return _row(where, rates, mean)
    middle = (one.value[1:] + one.value[:-1]) / 2
    mean = float((middle * seconds).sum() / seconds.sum()) if len(seconds) else float(one.value[0])
    where = (one.node, one.process_id, one.rank, one.metric, one.unit, one.index)
    return _row(where, one.value, mean)


def _row(
    where: tuple[str, int | None, int | None, str, str, int], values: Doubles, mean: float
) -> dict[str, Any]:
    ordered = np.sort(values)
    return {
        **dict(zip(("node", "process_id", "rank", "metric", "unit", "index"), where, strict=True)),
        "samples": len(ordered),
        "mean": mean,
        "min": float(ordered[0]),
        "max": float(ordered[-1]),
        "p95": float(quantile(ordered, 95)),
    }
