"""``idle_causes``: why a device was idle, by rule. The rules stand in docs/definitions.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tracemill_schema.tables.events import SYNCS
from tracemill_schema.vocab import IdleCause

from tracemill_analysis import intervals as iv
from tracemill_analysis.aggregates.gpu import COMMUNICATION, GpuEvents
from tracemill_analysis.aggregates.source import EventSource, Process, integers, texts
from tracemill_analysis.intervals import EMPTY, Int64s, Intervals


@dataclass(frozen=True)
class HostTime:
    """What the host of a process was doing: time in input ranges and in synchronising calls."""

    inputs: Intervals
    syncs: Intervals


def load_host_time(
    source: EventSource, process: Process, inputs: dict[int, Intervals], threads: Int64s
) -> HostTime:
    """Read the calls that wait; of the input time, take that of ``threads`` (where work starts)."""
    working = set(np.unique(threads).tolist())
    merged = EMPTY
    for thread, spans in sorted(inputs.items()):
        if thread in working:
            merged = iv.merge(merged, spans)
    data = source.columns(SYNCS, ("side", "start_ns", "dur_ns"), process.process_id)
    codes, words = texts(data, "side")
    host = codes == words.index("host") if "host" in words else np.zeros(len(codes), bool)
    start = integers(data, "start_ns")[host]
    return HostTime(merged, iv.union(start, start + integers(data, "dur_ns")[host]))


def idle_causes(process: Process, events: GpuEvents, host: HostTime) -> list[dict[str, Any]]:
    """Return one row per device and cause; the causes add up to the device's idle time."""
    rows: list[dict[str, Any]] = []
    for device in events.devices:
        own = events.on(device)
        window_ns = int(own.end.max() - own.start.min())
        parts = causes_of_gaps(own, host)
        idle_ns = sum(int(part.sum()) for part in parts.values())
        rows.extend(
            {
                **process.where,
                "device": device,
                "cause": str(cause),
                "idle_ns": int(part.sum()),
                "gaps": int((part > 0).sum()),
                "longest_ns": int(part.max(initial=0)),
                "share_of_idle": int(part.sum()) / idle_ns if idle_ns else 0.0,
                "share_of_window": int(part.sum()) / window_ns if window_ns else 0.0,
            }
            for cause, part in sorted(parts.items())
        )
    return rows


def causes_of_gaps(events: GpuEvents, host: HostTime) -> dict[IdleCause, Int64s]:
    """Return for each cause its part of each gap of one device, in ns, in order of time."""
    begin, end = iv.gaps(events.parts.busy, int(events.start.min()), int(events.end.max()))
    launch, linked = _launch_of_next(events, end)
    # Up to the launch the host keeps the device waiting, from then on the work is on its way.
    turn = np.clip(np.where(linked, launch, begin), begin, end)
    nothing = np.zeros(len(begin), np.int64)
    queued = linked & (launch <= begin)
    near_comm = _is_communication(events, begin, end)
    waits = iv.subtract(host.syncs, host.inputs)
    input_wait = _overlap(host.inputs, begin, turn)
    sync = _overlap(waits, begin, turn)
    length = end - begin
    return {
        IdleCause.OTHER: np.where(~linked | (queued & ~near_comm), length, nothing),
        IdleCause.COMMUNICATION_WAIT: np.where(queued & near_comm, length, nothing),
        IdleCause.LAUNCH_BOUND: np.where(linked & ~queued, end - turn, nothing),
        IdleCause.INPUT_WAIT: input_wait,
        IdleCause.SYNC: sync,
        IdleCause.HOST_BOUND: turn - begin - input_wait - sync,
    }


def _launch_of_next(events: GpuEvents, end: Int64s) -> tuple[Int64s, NDArray[np.bool_]]:
    """Launch of the events that start when each gap ends: the earliest, and if one is known."""
    order = np.lexsort((events.launch, ~events.linked, events.start))
    place = np.searchsorted(events.start[order], end)
    first = order[np.minimum(place, len(order) - 1)]
    return events.launch[first], events.linked[first] & (events.start[first] == end)


def _is_communication(events: GpuEvents, begin: Int64s, end: Int64s) -> NDArray[np.bool_]:
    """Tell for each gap whether a communication kernel ends at its begin or starts at its end."""
    comm = events.kind == COMMUNICATION
    return np.isin(begin, events.end[comm]) | np.isin(end, events.start[comm])


def _overlap(intervals: Intervals, starts: Int64s, ends: Int64s) -> Int64s:
    """Covered time within each ``[start, end)`` in ns."""
    return iv.covered_before(intervals, ends) - iv.covered_before(intervals, starts)
