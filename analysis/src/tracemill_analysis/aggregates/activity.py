"""``activity_summary`` and ``memory_op_summary``: what a device did, by kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from tracemill_schema.tables.events import MEMORY_OPS, SYNCS
from tracemill_schema.vocab import Activity

from tracemill_analysis import intervals as iv
from tracemill_analysis.aggregates.gpu import MEMCPY, MEMSET, GpuEvents
from tracemill_analysis.aggregates.source import EventSource, Process, integers, present, texts
from tracemill_analysis.intervals import Int64s

Rows = list[dict[str, Any]]


def activity_summary(source: EventSource, process: Process, events: GpuEvents) -> Rows:
    """Return per device one row for each activity that occurs, and one for idle (always).

    Synchronisations are cut to the device's window; their waiting is not part of busy time.
    """
    syncs = source.columns(
        SYNCS, ("side", "device", "thread", "start_ns", "dur_ns"), process.process_id
    )
    rows: Rows = []
    devices = events.devices
    for device in devices:
        own = events.on(device)
        start, end = int(own.start.min()), int(own.end.max())
        busy = own.parts.busy
        idle = iv.gaps(busy, start, end)
        waits = _syncs_of(syncs, device, only=len(devices) == 1)
        spans = {
            Activity.IDLE: idle,
            Activity.KERNEL: _pick(own, own.kind < MEMCPY),
            Activity.MEMCPY: _pick(own, own.kind == MEMCPY),
            Activity.MEMSET: _pick(own, own.kind == MEMSET),
            Activity.SYNC: _cut(*waits, start, end),
        }
        rows.extend(
            _activity_row(process, device, activity, starts, ends, end - start)
            for activity, (starts, ends) in spans.items()
            if len(starts) or activity is Activity.IDLE
        )
    return rows


def _pick(events: GpuEvents, chosen: NDArray[np.bool_]) -> tuple[Int64s, Int64s]:
    return events.start[chosen], events.end[chosen]


def _cut(starts: Int64s, ends: Int64s, start: int, end: int) -> tuple[Int64s, Int64s]:
    """Cut ranges to ``[start, end]``; those wholly outside are left out."""
    touching = (ends >= start) & (starts <= end)
    return np.maximum(starts[touching], start), np.minimum(ends[touching], end)


def _syncs_of(syncs: Any, device: int, *, only: bool) -> tuple[Int64s, Int64s]:
    """Start and end of the synchronisations of a device.

    Where the recorder gave rows of the device side, those count, else the calls of the host side,
    so that no wait counts twice. A row without a device belongs to a process's only device.
    """
    codes, words = texts(syncs, "side")
    on_device = codes == (words.index("device") if "device" in words else -1)
    side = on_device if on_device.any() else ~on_device
    has_device = present(syncs, "device")
    chosen = side & ((has_device & (integers(syncs, "device") == device)) | (~has_device & only))
    start = integers(syncs, "start_ns")[chosen]
    return start, start + integers(syncs, "dur_ns")[chosen]


def _activity_row(
    process: Process, device: int, activity: Activity, starts: Int64s, ends: Int64s, window_ns: int
) -> dict[str, Any]:
    busy_ns = iv.length(iv.union(starts, ends))
    return {
        **process.where,
        "device": device,
        "activity": str(activity),
        "count": len(starts),
        "total_ns": int((ends - starts).sum()),
        "busy_ns": busy_ns,
        "share_of_window": busy_ns / window_ns if window_ns else 0.0,
    }


def memory_op_summary(source: EventSource, process: Process) -> Rows:
    """Return the memory operations of one process by device, kind and kinds of memory."""
    names = ("device", "kind", "src_kind", "dst_kind", "bytes", "start_ns", "dur_ns")
    data = source.columns(MEMORY_OPS, names, process.process_id)
    if not data.num_rows:
        return []
    keys = [integers(data, "device")]
    words: list[list[str | None]] = []
    for name in ("kind", "src_kind", "dst_kind"):
        codes, found = texts(data, name)
        keys.append(codes)
        words.append(found)
    groups, group = np.unique(np.stack(keys), axis=1, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    edges = np.searchsorted(group.ravel()[order], np.arange(groups.shape[1] + 1))
    start, duration = integers(data, "start_ns"), integers(data, "dur_ns")
    sizes, sized = integers(data, "bytes"), present(data, "bytes")
    rows = []
    for at, (device, *codes) in enumerate(groups.T.tolist()):
        own = order[edges[at] : edges[at + 1]]
        moved, timed = int(sizes[own].sum()), int(duration[own][sized[own]].sum())
        kind, src, dst = (found[code] for found, code in zip(words, codes, strict=True))
        rows.append(
            {
                **process.where,
                "device": device,
                "kind": kind,
                "src_kind": src,
                "dst_kind": dst,
                "count": len(own),
                "bytes": moved,
                "sized": int(sized[own].sum()),
                "total_ns": int(duration[own].sum()),
                "busy_ns": iv.length(iv.union(start[own], start[own] + duration[own])),
                "bandwidth_bytes_per_s": moved * 1e9 / timed if timed else None,
            }
        )
    return rows
