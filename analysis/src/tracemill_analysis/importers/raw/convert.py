"""Turns the segments of one recorded process into event tables."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tracemill_schema import layout
from tracemill_schema.errors import SegmentError, TracemillError
from tracemill_schema.metrics import METRIC_BY_ID
from tracemill_schema.tables import events
from tracemill_schema.vocab import DropReason

from tracemill_analysis.events import EventSummary, EventWriter
from tracemill_analysis.importers.base import (
    DropCounter,
    ProcessResult,
    Progress,
    WorkItem,
    no_progress,
)
from tracemill_analysis.importers.raw.gpu import GpuEvents, device_name
from tracemill_analysis.importers.raw.segment import Segment, read_segment
from tracemill_analysis.parquet import ROW_GROUP_ROWS, TableWriter
from tracemill_analysis.store import Store, scratch_folder

Columns = dict[str, NDArray[np.int64]]

_FORBIDDEN = re.compile("[\x00-\x1f\x7f]")


@dataclass
class _Recording:
    """The segments of one process put together."""

    meta: dict[str, Any] = field(default_factory=dict)
    annotations: list[Columns] = field(default_factory=list)
    samples: list[Columns] = field(default_factory=list)
    clocks: list[Columns] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    last_open: Columns | None = None
    last_ns: int = 0


def convert(
    item: WorkItem, store: Store, job: str, progress: Progress = no_progress
) -> ProcessResult:
    """Write the event tables of one recorded process.

    A segment that cannot be read is counted as dropped and the others are used; SegmentError if
    none can be read.
    """
    with scratch_folder() as folder, EventWriter(folder) as writer:
        return _convert(item, store, job, progress, writer)


def _convert(
    item: WorkItem, store: Store, job: str, progress: Progress, writer: EventWriter
) -> ProcessResult:
    drops = DropCounter()
    gpu = GpuEvents(writer, drops)
    recording = _read(item, store, drops, progress, gpu)
    offset_ns, spread_ns = _clock_offset(recording.clocks)
    finished = recording.meta.get("end_reason") is not None
    annotations = _annotations(recording, finished, drops)
    samples = _samples(recording)
    annotation_table = _annotation_table(item, annotations, recording.names, offset_ns, drops)
    sample_table = _sample_table(item, samples, offset_ns, drops)
    tables = [(events.SAMPLES, sample_table)]
    summary = EventSummary()
    if gpu.rows:
        # With the launches: they say when a range's work ran and which step a launch is of.
        writer.add(
            events.ANNOTATIONS, _given_ranges(annotation_table, offset_ns), len(annotation_table)
        )
        summary = writer.finish(store, job, item, drops, offset_ns)
    else:
        tables.append((events.ANNOTATIONS, annotation_table))
    for table, data in tables:
        if data.num_rows:
            with TableWriter(store, table, job, layout.process_part(item.process_id)) as out:
                for first in range(0, data.num_rows, ROW_GROUP_ROWS):
                    slice_ = data.slice(first, ROW_GROUP_ROWS)
                    out.write(slice_.sort_by([(name, "ascending") for name in table.sort]))
    kept = annotation_table.num_rows + sample_table.num_rows + gpu.rows - summary.duplicates
    starts, ends = _extent(annotation_table, sample_table, summary)
    return ProcessResult(
        item=item,
        events_read=kept + drops.lost,
        events_kept=kept,
        drops=drops,
        start_ns=starts,
        end_ns=ends,
        clock="unix",
        clock_offset_ns=offset_ns,
        clock_spread_ns=spread_ns,
        finished=finished,
        devices=tuple(sorted(summary.devices)),
        device_name=device_name(recording.meta),
        **_facts(recording.meta),
    )


def _read(
    item: WorkItem, store: Store, drops: DropCounter, progress: Progress, gpu: GpuEvents
) -> _Recording:
    recording = _Recording()
    ids: dict[str, int] = {}
    readable = 0
    failure = ""
    for number, path in enumerate(item.files(store)):
        progress(item.source_name, number / len(item.sources))
        try:
            segment = read_segment(path, f"{item.source_name}/{path.name}", drops)
        except TracemillError as error:
            failure = str(error)
            drops.add(DropReason.UNREADABLE_FILE, 1, failure)
            continue
        readable += 1
        gpu.add(segment)
        _append(recording, segment, ids, drops)
    if not readable:
        raise SegmentError(failure or f"{item.source_name}: no segments")
    return recording


def _append(
    recording: _Recording, segment: Segment, ids: dict[str, int], drops: DropCounter
) -> None:
    """Add a segment; its string ids become positions in ``recording.names``."""
    recording.meta.update(segment.meta)
    recording.last_ns = max(recording.last_ns, segment.last_ns)
    numbers = np.array(sorted(segment.strings), np.int64)
    places = [ids.setdefault(text, len(ids)) for text in segment.strings.values()]
    of_number = dict(zip(segment.strings, places, strict=True))
    position = np.array([*(of_number[int(number)] for number in numbers), -1], np.int64)
    recording.names = list(ids)

    def renamed(columns: Columns) -> Columns:
        wanted = columns["series_id"]
        at = np.searchsorted(numbers, wanted)
        known = np.append(numbers, -1)[at] == wanted
        return {**columns, "series_id": position[np.where(known, at, len(numbers))]}

    if "annotations" in segment.columns:
        recording.annotations.append(renamed(segment.columns["annotations"]))
    if segment.last_open is not None:
        recording.last_open = renamed(segment.last_open)
    for kind, target in (("samples", recording.samples), ("clock", recording.clocks)):
        if kind in segment.columns:
            target.append(segment.columns[kind])
    for reason_id, count in zip(
        *(segment.columns.get("drops", {}).get(c, np.empty(0)) for c in ("reason_id", "events")),
        strict=True,
    ):
        _count_recorded_drop(segment, int(reason_id), int(count), drops)


def _count_recorded_drop(segment: Segment, reason_id: int, count: int, drops: DropCounter) -> None:
    word = segment.strings.get(reason_id, "")
    try:
        reason = DropReason(word)
    except ValueError:
        reason = DropReason.RING_FULL
    drops.add(reason, count, f"while recording: {word}")


def _clock_offset(clocks: list[Columns]) -> tuple[int, int | None]:
    """Offset from CLOCK_MONOTONIC to Unix time, and how far the readings are apart."""
    if not clocks:
        return 0, None
    offsets = np.concatenate([c["realtime_ns"] - c["monotonic_ns"] for c in clocks])
    return int(offsets[0]), int(offsets.max() - offsets.min())


def _annotations(recording: _Recording, finished: bool, drops: DropCounter) -> Columns:
    names = ("thread", "series_id", "index", "depth", "start_ns", "dur_ns")
    chunks = list(recording.annotations)
    if not finished and recording.last_open is not None:
        still_open = _really_open(recording)
        drops.add(DropReason.UNFINISHED, len(still_open["start_ns"]))
        chunks.append(still_open)
    if not chunks:
        return {name: np.empty(0, np.int64) for name in names}
    joined = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in names}
    order = np.lexsort((joined["depth"], joined["thread"], joined["start_ns"]))
    return {name: values[order] for name, values in joined.items()}


def _really_open(recording: _Recording) -> Columns:
    """Ranges of the last snapshot that no later record closes, ended at the last known time."""
    assert recording.last_open is not None
    closed = {
        (int(thread), int(start))
        for chunk in recording.annotations
        for thread, start in zip(chunk["thread"], chunk["start_ns"], strict=True)
    }
    snapshot = recording.last_open
    keep = [
        (int(thread), int(start)) not in closed
        for thread, start in zip(snapshot["thread"], snapshot["start_ns"], strict=True)
    ]
    kept = {name: values[np.array(keep, bool)] for name, values in snapshot.items()}
    kept["dur_ns"] = np.maximum(recording.last_ns - kept["start_ns"], 0)
    return kept


def _annotation_table(
    item: WorkItem, columns: Columns, names: list[str], offset_ns: int, drops: DropCounter
) -> Any:
    rows = len(columns["start_ns"])
    clean = [_FORBIDDEN.sub("\ufffd", name) for name in names]
    drops.add(DropReason.REPAIRED_TEXT, sum(a != b for a, b in zip(names, clean, strict=True)))
    texts = pa.array([*clean, "(unknown name)"], pa.string())
    series = texts.take(
        pa.array(np.where(columns["series_id"] < 0, len(names), columns["series_id"]))
    )
    index = columns["index"]
    has_index = index >= 0
    full = [
        f"{name}_{number}" if number >= 0 else name
        for name, number in zip(series.to_pylist(), index.tolist(), strict=True)
    ]
    return pa.table(
        {
            **_constant_columns(item, rows),
            "thread": columns["thread"],
            "name": pa.array(full, pa.string()),
            "series": series,
            "index": pa.array(index, pa.int64(), mask=~has_index),
            "depth": _small(columns["depth"], drops),
            "start_ns": columns["start_ns"] + offset_ns,
            "dur_ns": columns["dur_ns"],
            "gpu_start_ns": pa.nulls(rows, pa.int64()),
            "gpu_dur_ns": pa.nulls(rows, pa.int64()),
        }
    )


def _constant_columns(item: WorkItem, rows: int) -> dict[str, Any]:
    rank = pa.scalar(item.rank, pa.int32())
    return {
        "process_id": pa.array(np.full(rows, item.process_id, np.int32)),
        "rank": pa.nulls(rows, pa.int32()) if item.rank is None else pa.repeat(rank, rows),
    }


def _samples(recording: _Recording) -> Columns:
    names = ("metric_id", "index", "time_ns", "value")
    if not recording.samples:
        return {name: np.empty(0, np.int64) for name in names}
    joined = {name: np.concatenate([c[name] for c in recording.samples]) for name in names}
    order = np.lexsort((joined["index"], joined["metric_id"], joined["time_ns"]))
    return {name: values[order] for name, values in joined.items()}


def _sample_table(item: WorkItem, columns: Columns, offset_ns: int, drops: DropCounter) -> Any:
    rows = len(columns["time_ns"])
    unique, inverse = np.unique(columns["metric_id"], return_inverse=True)
    metrics = [METRIC_BY_ID.get(int(metric_id)) for metric_id in unique]
    position = pa.array(inverse.astype(np.int64))

    def text(of: list[str]) -> Any:
        return pa.array(of, pa.string()).take(position)

    return pa.table(
        {
            **_constant_columns(item, rows),
            "node": pa.repeat(pa.scalar(item.node), rows),
            "metric": text(
                [m.name if m else f"metric_{i}" for m, i in zip(metrics, unique, strict=True)]
            ),
            "unit": text([m.unit if m else "" for m in metrics]),
            "scope": text([str(m.scope) if m else "" for m in metrics]),
            "index": _small(columns["index"], drops),
            "time_ns": columns["time_ns"] + offset_ns,
            "value": columns["value"].astype(np.float64),
        }
    )


def _small(values: NDArray[np.int64], drops: DropCounter) -> Any:
    """Return values of 32 bits; larger ones, which no recorder writes, are cut and counted."""
    limits = np.iinfo(np.int32)
    cut = np.clip(values, limits.min, limits.max)
    drops.add(DropReason.BAD_FIELD, int((cut != values).sum()))
    return pa.array(cut.astype(np.int32))


def _given_ranges(table: Any, offset_ns: int) -> dict[str, Any]:
    """Columns of annotations as the writer of linked events takes them."""
    start_ns = table.column("start_ns").to_numpy() - offset_ns
    passed_on = {name: table.column(name) for name in ("thread", "name", "dur_ns")}
    return {**passed_on, "start_ns": start_ns}


def _extent(
    annotation_table: Any, sample_table: Any, summary: EventSummary
) -> tuple[int | None, int | None]:
    starts: list[int] = [] if summary.start_ns is None else [summary.start_ns]
    ends: list[int] = [] if summary.end_ns is None else [summary.end_ns]
    if annotation_table.num_rows:
        start = annotation_table.column("start_ns").to_numpy()
        starts.append(int(start.min()))
        ends.append(int((start + annotation_table.column("dur_ns").to_numpy()).max()))
    if sample_table.num_rows:
        times = sample_table.column("time_ns").to_numpy()
        starts.append(int(times.min()))
        ends.append(int(times.max()))
    return min(starts, default=None), max(ends, default=None)


def _facts(meta: dict[str, Any]) -> dict[str, Any]:
    """Fields of ProcessResult that stand in the meta blocks, each only if it has the right type."""

    def of_type(name: str, kind: type) -> Any:
        value = meta.get(name)
        return value if isinstance(value, kind) and not (kind is int and value is True) else None

    return {
        "pid": of_type("pid", int),
        "local_rank": of_type("local_rank", int),
        "world_size": of_type("world_size", int),
        "framework": of_type("framework", str),
        "instance_type": of_type("instance_type", str),
        "end_reason": of_type("end_reason", str),
        "failed": meta.get("failed") is True,
        "simulated": meta.get("simulated") is True,
    }
