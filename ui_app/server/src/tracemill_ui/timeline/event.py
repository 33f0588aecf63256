"""One event with all its fields, and what it is connected with: launch, runs, enclosing ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from tracemill_schema.columns import Table
from tracemill_schema.tables.events import ANNOTATIONS, API_CALLS, KERNELS, MEMORY_OPS

from tracemill_ui.errors import ApiError
from tracemill_ui.timeline import lanes as ln
from tracemill_ui.timeline.clocks import TIME_COLUMNS
from tracemill_ui.timeline.lanes import Lane
from tracemill_ui.timeline.names import shortened
from tracemill_ui.timeline.source import Source

MAX_RUNS = 100
_GPU_TABLES = (KERNELS, MEMORY_OPS)
Row = dict[str, Any]


def event(source: Source, lane: Lane, start: int, dur: int | None, name: str | None) -> Row:
    """Return an event by lane and start (ns since the profile's); of several, by length and name.

    ApiError (404) if there is none.
    """
    if lane.of_node or lane.kind in (ln.DEVICE, ln.DEVICE_COMM):
        raise ApiError(400, "This lane shows use over time, not events.", "Choose another lane.")
    found = _find(source, lane, start + source.start_ns, dur, name)
    if found is None:
        raise ApiError(404, "There is no such event in this lane.", "Zoom in and select it again.")
    table, row = found
    return {
        **_head(source, lane, row),
        "table": table.name,
        "fields": _fields(source, table, row),
        "connections": _connections(source, lane, table, row),
    }


def _find(
    source: Source, lane: Lane, start: int, dur: int | None, name: str | None
) -> tuple[Table, Row] | None:
    candidates: list[tuple[Table, Any]] = []
    for table in ln.EVENT_TABLES[lane.kind]:
        file = source.file(table, lane.owner)
        if file is None:
            continue
        for number in file.touching(start, start):
            group = file.group(number)
            if lane.place not in group.lanes:
                continue
            first, last = group.lanes[lane.place]
            low, high = np.searchsorted(group.start[first:last], [start, start + 1])
            for at in range(first + int(low), first + int(high)):
                if dur is None or group.end[at] - start == dur:
                    row = file.read(number).slice(group.place_in_file(at), 1)
                    candidates.append((table, row))
                    if name is None:
                        return table, candidates[-1][1].to_pylist()[0]
    for table, row in candidates:
        if row["name"].to_pylist()[0] == name:
            return table, row.to_pylist()[0]
    return (candidates[0][0], candidates[0][1].to_pylist()[0]) if candidates else None


def _head(source: Source, lane: Lane, row: Row) -> Row:
    return {
        "lane": lane.key,
        "start": row["start_ns"] - source.start_ns,
        "dur": row["dur_ns"],
        "name": shortened(row["name"]),
    }


def _fields(source: Source, table: Table, row: Row) -> list[Row]:
    """The columns that have a value, with units; times are since the start of the profile."""
    fields = []
    for column in table.columns:
        value = row[column.name]
        if value is None:
            continue
        is_time = column.name in TIME_COLUMNS
        if is_time:
            value -= source.start_ns
        label = column.name.removesuffix("_ns").replace("_", " ")
        # Ids beyond 2**53 would lose digits as JavaScript numbers.
        wide = isinstance(value, int) and abs(value) > 2**53
        fields.append(
            {
                "name": column.name,
                "label": "duration" if label == "dur" else label,
                "value": str(value) if wide else value,
                "unit": "time" if is_time else column.unit,
                "about": column.doc,
            }
        )
    if row.get("launch_start_ns") is not None:
        latency = row["start_ns"] - row["launch_start_ns"]
        after = latency - (row["launch_dur_ns"] or 0)
        fields.append(_derived("launch latency", latency, "launch start to run start"))
        if after >= 0:
            fields.append(_derived("queued after the call", after, "launch end to run start"))
    return fields


def _derived(label: str, value: int, about: str) -> Row:
    return {
        "name": label.replace(" ", "_"),
        "label": label,
        "value": value,
        "unit": "ns",
        "about": about,
    }


def _connections(source: Source, lane: Lane, table: Table, row: Row) -> list[Row]:
    if table in _GPU_TABLES:
        return _launch_of(source, lane, row)
    if table is API_CALLS:
        at = row["start_ns"]
        return [
            *_runs_of(source, lane, row),
            *_around(source, lane.owner, row["thread"], at, at + row["dur_ns"]),
        ]
    found = _first_gpu_event(source, lane, row) if table is ANNOTATIONS else []
    end = row["start_ns"] + row["dur_ns"]
    around = _around(source, lane.owner, row["thread"], row["start_ns"], end)
    own = _head(source, lane, row)
    return [*found, *(one for one in around if not _same(one, own))]


def _same(one: Row, other: Row) -> bool:
    return all(one[name] == other[name] for name in ("lane", "start", "dur"))


def _launch_of(source: Source, lane: Lane, row: Row) -> list[Row]:
    start, thread = row["launch_start_ns"], row["launch_thread"]
    if start is None or thread is None:
        return []
    api = Lane(lane.owner, ln.API, (thread,))
    found = _find(source, api, start, row["launch_dur_ns"], None)
    launch = [] if found is None else [{"relation": "launched by", **_head(source, api, found[1])}]
    end = start + (row["launch_dur_ns"] or 0)
    return [*launch, *_around(source, lane.owner, thread, start, end)]


def _around(source: Source, process_id: int, thread: int, start: int, end: int) -> list[Row]:
    """The ranges and operators of a thread that enclose a time, outermost first."""
    found: list[Row] = []
    for lane in source.lanes(process_id):
        if lane.kind not in (ln.ANNOTATION, ln.OPERATOR) or lane.place[0] != thread:
            continue
        events = source.events(lane, start, end)
        chosen = events.take((events.start <= start) & (events.end >= end))
        found += [
            {
                "relation": f"inside {lane.kind}",
                "lane": lane.key,
                "start": int(chosen.start[at]) - source.start_ns,
                "dur": int(chosen.end[at] - chosen.start[at]),
                "name": shortened(source.names.text(int(chosen.name[at]))),
            }
            for at in range(len(chosen))
        ]
    return sorted(found, key=lambda one: (one["start"], -one["dur"]))


def _runs_of(source: Source, lane: Lane, row: Row) -> list[Row]:
    """The GPU events of a call: several if it launched a graph."""
    if row["run_start_ns"] is None or row["correlation"] is None:
        return []
    found: list[Row] = []
    for table in _GPU_TABLES:
        file = source.file(table, lane.owner)
        if file is None:
            continue
        after = file.touching(row["run_start_ns"], np.iinfo(np.int64).max)
        for number in file.within("correlation", row["correlation"], after):
            keys = file.read(number, ["correlation", "launch_start_ns"])
            hits = pc.and_(
                pc.equal(keys["correlation"], row["correlation"]),
                pc.equal(keys["launch_start_ns"], row["start_ns"]),
            )
            rows = pc.indices_nonzero(pc.fill_null(hits.combine_chunks(), False))
            if len(rows):
                columns = ["device", "stream", "start_ns", "dur_ns", "name"]
                data = file.read(number, columns).take(pa.array(rows[:MAX_RUNS]))
                found += data.to_pylist()
    found.sort(key=lambda run: run["start_ns"])
    return [
        {
            "relation": "runs on the GPU",
            **_head(source, Lane(lane.owner, ln.STREAM, (run["device"], run["stream"])), run),
        }
        for run in found[:MAX_RUNS]
    ]


def _first_gpu_event(source: Source, lane: Lane, row: Row) -> list[Row]:
    start = row["gpu_start_ns"]
    if start is None:
        return []
    for stream in source.lanes(lane.owner):
        if stream.kind != ln.STREAM:
            continue
        found = _find(source, stream, start, None, None)
        if found is not None:
            return [{"relation": "first GPU event", **_head(source, stream, found[1])}]
    return []
