"""The lanes of the timeline of one process, each as arrays of events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from tracemill_schema.columns import Table
from tracemill_schema.tables.events import ANNOTATIONS, API_CALLS, OPERATORS

from tracemill_analysis.aggregates.gpu import GpuEvents
from tracemill_analysis.aggregates.source import EventSource, integers, texts
from tracemill_analysis.intervals import Int64s

_SPAN = ("start_ns", "dur_ns", "name")
_HOST_LANES: tuple[tuple[str, Table, tuple[str, ...]], ...] = (
    ("annotation", ANNOTATIONS, ("thread", "depth")),
    ("api", API_CALLS, ("thread",)),
    ("operator", OPERATORS, ("thread", "depth")),
)
_HOST = "host"


@dataclass(frozen=True)
class Lane:
    """Events of one lane by start. ``place`` holds the columns that tell the lane from others.

    Times in ns; ``name`` and ``category`` are positions in ``names`` and ``categories``.
    """

    place: dict[str, Any]
    start: Int64s
    end: Int64s
    name: Int64s
    names: list[str]
    category: Int64s
    categories: list[str]


def lanes_of(source: EventSource, process_id: int, events: GpuEvents) -> Iterator[Lane]:
    """Yield the lanes of a process that have events."""
    for lane, table, keys in _HOST_LANES:
        data = source.columns(table, (*keys, *_SPAN), process_id)
        yield from _split(lane, data, keys, [_HOST], np.zeros(data.num_rows, np.int64))
    for device in events.devices:
        parts = events.on(device).parts
        for lane, busy, word in (
            ("device", parts.busy, "busy"),
            ("device_comm", parts.comm, "communication"),
        ):
            if len(busy.starts):
                zeros = np.zeros(len(busy.starts), np.int64)
                place = {"lane": lane, "device": device}
                yield Lane(place, busy.starts, busy.ends, zeros, [word], zeros, [word])
    yield from _streams(source, process_id)


def _streams(source: EventSource, process_id: int) -> Iterator[Lane]:
    data = source.query(
        "SELECT device, stream, start_ns, dur_ns, name, category FROM kernels"
        " WHERE process_id = $process_id UNION ALL "
        "SELECT device, stream, start_ns, dur_ns, name, 'memory' FROM memory_ops"
        " WHERE process_id = $process_id",
        process_id=process_id,
    )
    category, categories = texts(data, "category")
    words = [word or "" for word in categories]
    yield from _split("stream", data, ("device", "stream"), words, category)


def _split(
    lane: str, data: Any, keys: tuple[str, ...], categories: list[str], category: Int64s
) -> Iterator[Lane]:
    """Yield a lane for each value of the key columns."""
    if not data.num_rows:
        return
    columns = np.stack([integers(data, key) for key in keys])
    start = integers(data, "start_ns")
    end = start + integers(data, "dur_ns")
    name, names = texts(data, "name")
    words = [word or "" for word in names]
    order = np.lexsort((category, name, -end, start, *columns[::-1]))
    ordered = columns[:, order]
    edges = np.flatnonzero((ordered[:, 1:] != ordered[:, :-1]).any(axis=0)) + 1
    for rows in np.split(order, edges):
        place = {"lane": lane, **dict(zip(keys, columns[:, rows[0]].tolist(), strict=True))}
        yield Lane(place, start[rows], end[rows], name[rows], words, category[rows], categories)
