"""Reads a Perfetto trace with Perfetto's own protobuf classes, and works out what it shows.

The rules are those of Perfetto's documentation: names are interned per packet sequence, an end
closes the innermost open slice of its track.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

BEGIN, END, COUNTER = (
    protos.TrackEvent.TYPE_SLICE_BEGIN,
    protos.TrackEvent.TYPE_SLICE_END,
    protos.TrackEvent.TYPE_COUNTER,
)


@dataclass
class Slice:
    """A slice; ``track`` is the path of track names from the process down."""

    track: tuple[str, ...]
    name: str
    category: str
    start_ns: int
    dur_ns: int = -1
    arguments: dict[str, Any] = field(default_factory=dict)
    flows: list[int] = field(default_factory=list)
    flow_ends: list[int] = field(default_factory=list)


@dataclass
class Trace:
    """What a trace shows."""

    slices: list[Slice]
    counters: list[tuple[tuple[str, ...], str, int, float]]
    processes: dict[int, str]
    threads: list[tuple[int, int, str]]


def read_trace(path: Path) -> Trace:
    """Decode a trace; asserts what a viewer relies on."""
    trace = protos.Trace()
    trace.ParseFromString(path.read_bytes())
    tracks: dict[int, Any] = {}
    names: dict[int, tuple[dict[int, str], dict[int, str], dict[int, str]]] = {}
    events: list[tuple[int, int, Any]] = []
    for packet in trace.packet:
        sequence = packet.trusted_packet_sequence_id
        assert sequence > 0
        if packet.sequence_flags & protos.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED:
            assert packet.first_packet_on_sequence
            names[sequence] = ({}, {}, {})
        if packet.HasField("track_descriptor"):
            descriptor = packet.track_descriptor
            assert descriptor.uuid and descriptor.uuid not in tracks
            assert descriptor.HasField("process") or descriptor.parent_uuid in tracks
            tracks[descriptor.uuid] = descriptor
        interned = packet.interned_data
        for known, entries in zip(
            names[sequence],
            (interned.event_names, interned.event_categories, interned.debug_annotation_names),
            strict=True,
        ):
            for entry in entries:
                assert entry.iid and entry.iid not in known
                known[entry.iid] = entry.name
        if packet.HasField("track_event"):
            assert packet.sequence_flags & protos.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
            assert packet.track_event.track_uuid in tracks
            events.append((packet.timestamp, sequence, packet.track_event))
    return _replay(tracks, names, events)


def _replay(tracks: dict[int, Any], names: dict[int, Any], events: list[Any]) -> Trace:
    slices, counters = [], []
    still_open: dict[int, list[Slice]] = {}
    # A viewer sorts by time; events of one time keep their order.
    for time_ns, sequence, event in sorted(events, key=lambda one: one[0]):
        name_of, category_of, key_of = names[sequence]
        path = _path(tracks, event.track_uuid)
        if event.type == BEGIN:
            one = Slice(path, name_of[event.name_iid], category_of[event.category_iids[0]], time_ns)
            one.arguments = {
                key_of[a.name_iid]: a.int_value if a.HasField("int_value") else a.string_value
                for a in event.debug_annotations
            }
            one.flows, one.flow_ends = list(event.flow_ids), list(event.terminating_flow_ids)
            still_open.setdefault(event.track_uuid, []).append(one)
            slices.append(one)
        elif event.type == END:
            one = still_open[event.track_uuid].pop()
            one.dur_ns = time_ns - one.start_ns
        else:
            assert event.type == COUNTER
            unit = tracks[event.track_uuid].counter.unit_name
            counters.append((path, unit, time_ns, event.double_counter_value))
    assert not any(still_open.values())
    roots = [t for t in tracks.values() if t.HasField("process")]
    return Trace(
        slices,
        counters,
        {t.process.pid: t.process.process_name for t in roots},
        [
            (t.thread.pid, t.thread.tid, t.thread.thread_name)
            for t in tracks.values()
            if t.HasField("thread")
        ],
    )


def _path(tracks: dict[int, Any], uuid: int) -> tuple[str, ...]:
    names: list[str] = []
    while uuid:
        track = tracks[uuid]
        names.append(track.name or track.thread.thread_name or track.process.process_name)
        uuid = track.parent_uuid
    return tuple(reversed(names))
