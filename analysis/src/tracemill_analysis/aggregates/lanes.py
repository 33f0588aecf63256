"""The lanes of the timeline of one process, each as arrays of events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from tracemill_schema.columns import Table
from tracemill_schema.tables.events import (
    ANNOTATIONS,
    API_CALLS,
    KERNELS,
    MEMORY_OPS,
    OPERATORS,
)

from tracemill_analysis.aggregates.gpu import GpuEvents
from tracemill_analysis.aggregates.order import by_code, coded, combined, order_by
from tracemill_analysis.aggregates.source import EventSource, integers, texts
from tracemill_analysis.intervals import Int64s

_SPAN = ("start_ns", "dur_ns", "name")
_HOST_LANES: tuple[tuple[str, Table, tuple[str, ...]], ...] = (
    ("annotation", ANNOTATIONS, ("thread", "depth")),
    ("api", API_CALLS, ("thread",)),
    ("operator", OPERATORS, ("thread", "depth")),
)
_HOST = "host"
_MEMORY = "memory"


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
    keys = ("device", "stream")
    kernels = source.columns(KERNELS, (*keys, *_SPAN, "category"), process_id)
    copies = source.columns(MEMORY_OPS, (*keys, *_SPAN), process_id)
    category = pa.repeat(pa.scalar(_MEMORY), copies.num_rows).dictionary_encode()
    copies = copies.append_column("category", category)
    # A lane holds both kinds in turn: what follows wants each in order of start.
    data = pa.concat_tables([kernels, copies.cast(kernels.schema)])
    codes, categories = texts(data, "category")
    yield from _split("stream", data, keys, [word or "" for word in categories], codes)


def _split(
    lane: str, data: Any, keys: tuple[str, ...], categories: list[str], category: Int64s
) -> Iterator[Lane]:
    """Yield a lane for each value of the key columns."""
    if not data.num_rows:
        return
    found = [coded(integers(data, key)) for key in keys]
    codes, size = combined([code for code, _ in found], [len(values) for _, values in found])
    start = integers(data, "start_ns")
    end = start + integers(data, "dur_ns")
    name, names = texts(data, "name")
    words = [word or "" for word in names]
    for code, rows in enumerate(by_code(codes, size)):
        if not len(rows):
            continue
        places = np.unravel_index(code, [len(values) for _, values in found])
        values = [int(v[at]) for (_, v), at in zip(found, places, strict=True)]
        columns = (start[rows], end[rows], name[rows], category[rows])
        order = order_by(columns[0], -columns[1], columns[2], columns[3])
        begin, until, named, kind = (column[order] for column in columns)
        yield Lane(
            {"lane": lane, **dict(zip(keys, values, strict=True))},
            begin, until, named, words, kind, categories,
        )  # fmt: skip
