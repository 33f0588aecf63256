"""Counters that Nsight Systems sampled on the GPUs, as rows of ``samples``."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tracemill_schema import layout
from tracemill_schema.metrics import Scope
from tracemill_schema.tables.events import SAMPLES
from tracemill_schema.vocab import DropReason

from tracemill_analysis.importers.base import DropCounter, WorkItem
from tracemill_analysis.importers.nsys.events import LIMIT_NS
from tracemill_analysis.importers.nsys.tables import (
    METRIC_NAMES,
    METRICS,
    Kind,
    Tables,
    Wanted,
)
from tracemill_analysis.parquet import TableWriter
from tracemill_analysis.store import Store

_GPU_MASK = 0xFF
_UNIT = re.compile(r"(.+?)\s*\[([^\]]*)\]\s*")


@dataclass
class MetricsSummary:
    """What was written; times with the offset."""

    read: int = 0
    kept: int = 0
    start_ns: int | None = None
    end_ns: int | None = None

    def cover(self, times_ns: NDArray[np.int64]) -> None:
        """Count samples at the given times."""
        low, high = int(times_ns.min()), int(times_ns.max())
        self.kept += len(times_ns)
        self.start_ns = low if self.start_ns is None else min(self.start_ns, low)
        self.end_ns = high if self.end_ns is None else max(self.end_ns, high)


def write_metrics(
    tables: Tables, store: Store, job: str, item: WorkItem, drops: DropCounter, offset_ns: int
) -> MetricsSummary | None:
    """Write the sampled counters of an export; None if it has none.

    They are the machine's, not a process's: all of them go with the first process of the export.
    """
    kinds = {"timestamp": Kind.INTEGER, "typeId": Kind.INTEGER, "metricId": Kind.INTEGER,
             "value": Kind.REAL}  # fmt: skip
    if not kinds.keys() <= tables.columns(METRICS):
        return None
    summary = MetricsSummary()
    names = _names(tables)
    with ExitStack() as stack:
        writer: TableWriter | None = None
        for columns, rows in tables.read(Wanted(METRICS, kinds)):
            summary.read += rows
            batch = pa.table(columns)
            usable = _usable(batch)
            drops.add(DropReason.BAD_TIME, rows - int(usable.sum()), METRICS)
            batch = batch.filter(pa.array(usable))
            if not batch.num_rows:
                continue
            if writer is None:
                part = layout.process_part(item.process_id)
                writer = stack.enter_context(TableWriter(store, SAMPLES, job, part))
            writer.write(_rows(batch, names, item, offset_ns))
            summary.cover(batch.column("timestamp").to_numpy() + offset_ns)
    return summary


def split_unit(name: str) -> tuple[str, str]:
    """Return name and unit of a counter.

    >>> split_unit("SMs Active [Throughput %]"), split_unit("GPC Clock Frequency [MHz]")
    (('SMs Active', '%'), ('GPC Clock Frequency', 'MHz'))
    """
    match = _UNIT.fullmatch(name)
    if match is None:
        return name, ""
    return match.group(1), "%" if match.group(2).endswith("%") else match.group(2)


def _names(tables: Tables) -> dict[tuple[int, int], tuple[str, str]]:
    names: dict[tuple[int, int], tuple[str, str]] = {}
    kinds = {"typeId": Kind.INTEGER, "metricId": Kind.INTEGER, "metricName": Kind.TEXT}
    for columns, _ in tables.read(Wanted(METRIC_NAMES, kinds)):
        if columns.keys() == kinds.keys():
            for kind, metric, name in zip(*(columns[c].to_pylist() for c in kinds), strict=True):
                names[kind, metric] = split_unit(name or f"metric {metric}")
    return names


def _usable(batch: Any) -> Any:
    good = np.ones(batch.num_rows, bool)
    for name in batch.column_names:
        good &= batch.column(name).is_valid().to_numpy()
    times = batch.column("timestamp").fill_null(-1).to_numpy()
    values = batch.column("value").fill_null(0.0).to_numpy()
    return good & (times >= 0) & (times <= LIMIT_NS) & np.isfinite(values)


def _rows(
    batch: Any, names: dict[tuple[int, int], tuple[str, str]], item: WorkItem, offset_ns: int
) -> Any:
    rows = batch.num_rows
    pairs = np.stack([batch.column(c).to_numpy() for c in ("typeId", "metricId")], 1)
    unique, places = np.unique(pairs, axis=0, return_inverse=True)
    known = [names.get((k, m), (f"metric {m}", "")) for k, m in unique.tolist()]
    picked = pa.array(places.reshape(-1))
    table = pa.table(
        {
            "process_id": pa.array(np.full(rows, item.process_id, np.int32)),
            "rank": pa.repeat(pa.scalar(item.rank, pa.int32()), rows),
            "node": pa.repeat(pa.scalar(item.node), rows),
            "metric": pa.array([name for name, _ in known], pa.string()).take(picked),
            "unit": pa.array([unit for _, unit in known], pa.string()).take(picked),
            "scope": pa.repeat(pa.scalar(str(Scope.GPU)), rows),
            "index": pa.array((pairs[:, 0] & _GPU_MASK).astype(np.int32)),
            "time_ns": batch.column("timestamp").to_numpy() + offset_ns,
            "value": batch.column("value"),
        }
    )
    return table.sort_by([(name, "ascending") for name in SAMPLES.sort])
