"""Imports results of Nsight Systems recipes: NVTX ranges projected onto the GPU.

``nvtx_gpu_proj_trace`` writes ``trace.parquet``; the report ``nvtx_pushpop_trace`` beside it has
all ranges, also those without work on the GPU. Neither holds kernels.
"""

from __future__ import annotations

import csv
import lzma
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from tracemill_schema.errors import InputError
from tracemill_schema.tables.events import ANNOTATIONS
from tracemill_schema.vocab import DropReason

from tracemill_analysis.events import EventWriter
from tracemill_analysis.importers.base import (
    DropCounter,
    Found,
    ProcessResult,
    Progress,
    WorkItem,
    no_progress,
)
from tracemill_analysis.importers.clock import clock_name
from tracemill_analysis.importers.nsys.events import LIMIT_NS
from tracemill_analysis.importers.nsys.opening import rank_of_device_name
from tracemill_analysis.importers.nsys.parquet import ERRORS, one_line, open_parquet
from tracemill_analysis.importers.nsys.tables import BATCH_ROWS, MOST_TEXT
from tracemill_analysis.importers.numbers import integers
from tracemill_analysis.store import Store, scratch_folder

RECIPE_FORMAT = "nsys-recipe"

TRACE = "trace.parquet"
DEVICES = "device-metadata.parquet"
RANGES = ("report_nvtx_pushpop_trace.csv.xz", "report_nvtx_pushpop_trace.csv")
COMPANIONS = frozenset({DEVICES, "files.parquet", "thread-metadata.parquet", *RANGES})

_GPU_NAME, _GPU_LABEL = "('TARGET_INFO_GPU', 'name')", "('TARGET_INFO_NVTX_CUDA_DEVICE', 'name')"
_PROJECTED = ("RangeId", "Projected Start", "Projected Duration")
_ORIGINAL = ("RangeId", "Orig Start", "Orig Duration")
_LISTED = ("RangeId", "Start (ns)", "Duration (ns)")

Int64 = NDArray[np.int64]


def is_recipe(path: Path) -> bool:
    """Tell whether a Parquet file holds projected ranges."""
    try:
        with open_parquet(path) as file:
            return set(_PROJECTED) <= set(file.schema_arrow.names)
    except ERRORS:
        return False


def probe(paths: Sequence[Path], name: str) -> list[Found]:
    """Return the one process of a result; InputError if its ranges cannot be read."""
    by_name = {path.name: path for path in paths}
    trace = by_name.get(TRACE, paths[0])
    if not is_recipe(trace):
        raise InputError(f"{name}: {trace.name} holds no ranges projected onto a GPU")
    return [Found(rank=rank_of_device_name(_device_text(by_name, _GPU_LABEL)))]


def convert(
    item: WorkItem, store: Store, job: str, progress: Progress = no_progress
) -> ProcessResult:
    """Write the ranges as annotations, with the times of their work on the GPU.

    Raises InputError if the file of projected ranges cannot be opened.
    """
    drops = DropCounter()
    by_name = {path.name: path for path in item.files(store)}
    trace = by_name.get(TRACE, next(iter(by_name.values())))
    listed = next((by_name[name] for name in RANGES if name in by_name), None)
    with scratch_folder() as folder, EventWriter(folder) as writer:
        ranges = _Ranges(writer, drops)
        for batch in _parquet_batches(trace, item.source_name, drops):
            ranges.projected(batch, also_ranges=listed is None)
        progress(item.source_name, 0.5)
        if listed is not None:
            for batch in _csv_batches(listed, item.source_name, drops):
                ranges.add(batch, _LISTED)
        summary = writer.finish(store, job, item, drops)
    progress(item.source_name, 1.0)
    return ProcessResult(
        item=item,
        events_read=ranges.read + drops.counts.get(DropReason.DAMAGED, 0),
        events_kept=ranges.kept,
        drops=drops,
        start_ns=summary.start_ns,
        end_ns=summary.end_ns,
        clock=clock_name(summary.start_ns),
        pid=ranges.pid,
        framework="JAX" if ranges.xla else None,
        device_name=_device_text(by_name, _GPU_NAME),
    )


class _Ranges:
    """Gives ranges to an ``EventWriter``, batch by batch. A batch maps columns to lists."""

    def __init__(self, writer: EventWriter, drops: DropCounter) -> None:
        self.read = 0
        self.kept = 0
        self.pid: int | None = None
        self.xla = False
        self._writer = writer
        self._drops = drops

    def projected(self, batch: dict[str, list[Any]], *, also_ranges: bool) -> None:
        """Take the GPU times of ranges and, if nothing else lists them, the ranges."""
        rows = len(batch["RangeId"])
        # The work outside of all ranges stands in a row without a range.
        named = [row for row, value in enumerate(batch["RangeId"]) if value is not None]
        if also_ranges:
            self._drops.add(DropReason.NOT_USED, rows - len(named), "GPU work outside of ranges")
            self.read += rows - len(named)
        else:
            self._drops.add(DropReason.NOT_USED, rows, "projections of listed ranges")
            self.read += rows
        batch = {column: [values[row] for row in named] for column, values in batch.items()}
        ids, start, dur, good = self._times(batch, _PROJECTED)
        places = np.flatnonzero(good)
        self._writer.add_gpu_annotations(
            {"external_id": ids[places], "start_ns": start[places], "dur_ns": dur[places]},
            len(places),
        )
        if also_ranges:
            self.add(batch, _ORIGINAL)

    def add(self, batch: dict[str, list[Any]], columns: tuple[str, str, str]) -> None:
        """Take ranges."""
        self.read += len(batch["Name"])
        ids, start, dur, good = self._times(batch, columns)
        negative = good & (dur < 0)
        self._drops.add(DropReason.BAD_TIME, len(good) - int(good.sum()), columns[1])
        self._drops.add(DropReason.NEGATIVE_DURATION, int(negative.sum()), columns[2])
        places = np.flatnonzero(good & ~negative)
        if not len(places):
            return
        names = [str(batch["Name"][row] or "(unknown name)") for row in places.tolist()]
        cut = [name[:MOST_TEXT] for name in names]
        self._drops.add(DropReason.REPAIRED_TEXT, sum(len(n) > MOST_TEXT for n in names))
        threads = _int64(integers(batch["TID"], self._drops))[places]
        if self.pid is None:
            self.pid = int(_int64(integers(batch["PID"], self._drops))[places[0]])
        self.xla |= any(name.startswith("TSL:") for name in names)
        rows = {"thread": threads, "external_id": ids[places], "start_ns": start[places],
                "dur_ns": dur[places], "name": pa.array(cut, pa.string())}  # fmt: skip
        self._writer.add(ANNOTATIONS, rows, len(places))
        self.kept += len(places)

    def _times(
        self, batch: dict[str, list[Any]], columns: tuple[str, str, str]
    ) -> tuple[Int64, Int64, Int64, NDArray[np.bool_]]:
        arrays = [integers(batch[column], self._drops) for column in columns]
        good = np.ones(len(batch[columns[0]]), np.bool_)
        for array in arrays:
            good &= np.asarray(array.is_valid().to_numpy(zero_copy_only=False), bool)
        ids, start, dur = map(_int64, arrays)
        good &= (start >= 0) & (start <= LIMIT_NS) & (np.abs(dur) <= LIMIT_NS)
        return ids, start, dur, good


def _int64(array: Any) -> Int64:
    filled = pc.fill_null(array.cast(pa.int64()), 0)
    return np.asarray(filled.to_numpy(zero_copy_only=False), np.int64)


def _parquet_batches(path: Path, name: str, drops: DropCounter) -> Iterator[dict[str, list[Any]]]:
    columns = sorted({*_PROJECTED, *_ORIGINAL, "Name", "PID", "TID"})
    read, rows = 0, 0
    try:
        with open_parquet(path) as file:
            rows = file.metadata.num_rows
            missing = set(columns) - set(file.schema_arrow.names)
            if missing:
                raise InputError(f"{name}/{path.name}: no column {', '.join(sorted(missing))}")
            for batch in file.iter_batches(BATCH_ROWS, columns=columns):
                yield batch.to_pydict()
                read += batch.num_rows
    except ERRORS as error:
        if not rows:
            raise InputError(f"{name}/{path.name}: {one_line(error)}") from error
        place = f"{name}/{path.name}, after row {read}: {one_line(error)}"
        drops.add(DropReason.DAMAGED, rows - read, place)


def _csv_batches(path: Path, name: str, drops: DropCounter) -> Iterator[dict[str, list[Any]]]:
    columns = (*_LISTED, "Name", "PID", "TID")
    read = 0
    batch: dict[str, list[Any]] = {column: [] for column in columns}
    try:
        opener = lzma.open if path.suffix == ".xz" else open
        with opener(path, "rt", encoding="utf-8", errors="replace", newline="") as file:
            rows = csv.DictReader(file)
            missing = set(columns) - set(rows.fieldnames or ())
            if missing:
                raise InputError(f"{name}/{path.name}: no column {', '.join(sorted(missing))}")
            for read, row in enumerate(rows, 1):
                for column in columns:
                    batch[column].append(row[column] or None)
                if read % BATCH_ROWS == 0:
                    yield batch
                    batch = {column: [] for column in columns}
    except (csv.Error, lzma.LZMAError, EOFError, OSError) as error:
        drops.add(DropReason.DAMAGED, 1, f"{name}/{path.name}, after row {read}: {error}")
    if batch["Name"]:
        yield batch


def _device_text(by_name: dict[str, Path], column: str) -> str | None:
    if DEVICES not in by_name:
        return None
    try:
        with open_parquet(by_name[DEVICES]) as file:
            batch = next(file.iter_batches(1, columns=[column]), None)
    except ERRORS:
        return None
    value = batch.column(0)[0].as_py() if batch is not None and batch.num_columns else None
    return value[:MOST_TEXT] if isinstance(value, str) and value else None
