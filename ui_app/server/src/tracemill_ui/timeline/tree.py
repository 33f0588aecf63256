"""The timeline's tree: node, its CPU and GPUs, processes with host threads and device streams.

A row is ``{"id", "label", "kind", "lanes", "open", "children"}``. ``kind`` says how its lanes are
drawn: ``util`` as an area from 0 to 1, ``value`` as an area up to ``scale``, ``events`` as marks,
one lane below the other, ``group`` not at all. ``summary`` names event lanes that a closed row
shows, so that ranks can be compared without opening any.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow.compute as pc
from tracemill_schema.tables.events import ANNOTATIONS

from tracemill_ui.timeline import lanes as ln
from tracemill_ui.timeline import nodes
from tracemill_ui.timeline.lanes import Lane
from tracemill_ui.timeline.source import Source

MAX_STEPS = 20_000
MAX_OPEN_PROCESSES = 2
MAX_OPEN_THREADS = 2
Row = dict[str, Any]


def meta(source: Source) -> dict[str, Any]:
    """Return what the page must know before it asks for a window."""
    bins = {b for process in source.processes for b in source.level_bins(process["process_id"])}
    job = source.profile.entry.job
    rows, found = [_node(source, at) for at in range(len(source.nodes))], steps(source)
    return {
        "job_name": source.job,
        "start_ns": str(source.start_ns),
        "span_ns": source.span_ns,
        "levels": sorted(bins),
        "tree": rows,
        "steps": {name: values[:MAX_STEPS] for name, values in found.items()},
        "steps_total": len(found["step"]),
        "notes": _notes(source),
        "partial": job.get("completeness") == "partial" or job.get("status") == "InProgress",
        "simulated": bool(job.get("simulated")),
    }


def _notes(source: Source) -> list[str]:
    """Say what a reader may miss: no events at all, none of a GPU, no steps, clocks."""
    lanes = source.all_lanes
    if not lanes:
        return [
            "No event of this profile is stored: nothing was recorded in its time, or it was"
            " processed without its event tables. Process or import it again to see events."
        ]
    notes = []
    if not any(lane.kind == ln.STREAM for lane in lanes):
        notes.append("No GPU event was recorded: the timeline shows the host.")
    if not source.profile.tables["step_summary"].num_rows:
        notes.append("No steps were found: annotate them as step_0, step_1, … to go through them.")
    clocks = source.clocks.note()
    return [*notes, clocks] if clocks else notes


def steps(source: Source) -> dict[str, list[Any]]:
    """Return the steps by start: number, first start and last end over the ranks, relative ns."""
    table = source.steps
    if not table.num_rows:
        return {"step": [], "start": [], "end": []}
    # Step numbers repeat when a process runs through them twice: each occurrence is a step then.
    numbers = table.group_by(["process_id", "step"]).aggregate([("step", "count")])
    repeated = pc.max(numbers["step_count"]).as_py() > 1
    table = table.append_column("end_ns", pc.add(table["start_ns"], table["dur_ns"]))
    keys = ["occurrence", "step"] if repeated else ["step"]
    grouped = table.group_by(keys).aggregate([("start_ns", "min"), ("end_ns", "max")])
    grouped = grouped.sort_by("start_ns_min")
    return {
        "step": grouped["step"].to_pylist(),
        "start": pc.subtract(grouped["start_ns_min"], source.start_ns).to_pylist(),
        "end": pc.subtract(grouped["end_ns_max"], source.start_ns).to_pylist(),
    }


def row(row_id: str, label: str, kind: str, lanes: list[Lane], **more: Any) -> Row:
    """Build a row of the tree."""
    return {
        "id": row_id,
        "label": label,
        "kind": kind,
        "lanes": [lane.key for lane in lanes],
        "open": False,
        "children": [],
        **more,
    }


def _node(source: Source, at: int) -> Row:
    name = source.nodes[at]
    children = []
    cpu = _cpu(source, at, name)
    if cpu is not None:
        children.append(cpu)
    of_node = [p for p in source.processes if p["node"] == name]
    few = len(source.processes) <= MAX_OPEN_PROCESSES
    rows = [_process(source, p, opened=few) for p in of_node]
    has_gpu = any(one.kind == ln.DEVICE for p in of_node for one in source.lanes(p["process_id"]))
    if has_gpu:
        lane = Lane(at, ln.GPUS, (), True)
        children.append(row(f"n{at}.gpus", "GPUs, mean", "util", [lane], open=True, children=rows))
    else:
        children.extend(rows)
    return row(f"n{at}", name, "group", [], open=True, children=children)


def _cpu(source: Source, at: int, name: str) -> Row | None:
    table = source.profile.tables["utilization"]
    mine = table.filter(pc.and_(pc.equal(table["resource"], "cpu"), pc.equal(table["node"], name)))
    cores = sorted({index for index in mine["index"].to_pylist() if index >= 0})
    children = [
        row(f"n{at}.cpu.{core}", f"core {core}", "util", [Lane(at, ln.CPU, (core,), True)])
        for core in cores
    ]
    children += [
        row(
            f"n{at}.counter.{number}",
            counter.label,
            "value",
            [Lane(at, ln.COUNTER, (number,), True)],
            unit=counter.unit,
            scale=counter.scale,
        )
        for number, counter in enumerate(nodes.counters(source, name))
    ]
    if not children and not mine.num_rows:
        return None
    mean = [Lane(at, ln.CPU, (-1,), True)] if mine.num_rows else []
    return row(f"n{at}.cpu", "CPU, mean", "util" if mean else "group", mean, children=children)


def _process(source: Source, process: Row, *, opened: bool) -> Row:
    number = process["process_id"]
    lanes = source.lanes(number)
    rank = "process" if process["rank"] is None else f"rank {process['rank']}"
    pid = f" · pid {process['pid']}" if process["pid"] is not None else f" {number}"
    devices = [lane for lane in lanes if lane.kind == ln.DEVICE]
    children = [*_threads(source, number, lanes), *_devices(number, lanes, devices)]
    only = devices if len(devices) == 1 else []
    return row(
        f"p{number}",
        rank + pid,
        "util" if only else "group",
        only,
        open=opened,
        children=children,
        summary=_summary(source, number, lanes),
    )


def _summary(source: Source, process_id: int, lanes: list[Lane]) -> list[str]:
    """The lane that tells most about a process: its steps and phases, else its first stream."""
    main = _main_thread(source, process_id)
    outer = [one for one in lanes if one.kind == ln.ANNOTATION and one.place == (main, 0)]
    streams = [one for one in lanes if one.kind == ln.STREAM]
    return [one.key for one in (outer or streams)[:1]]


def _threads(source: Source, process_id: int, lanes: list[Lane]) -> list[Row]:
    by_thread: dict[int, dict[str, list[Lane]]] = defaultdict(lambda: defaultdict(list))
    for lane in lanes:
        if lane.kind in (ln.ANNOTATION, ln.API, ln.OPERATOR):
            by_thread[lane.place[0]][lane.kind].append(lane)
    main = _main_thread(source, process_id)
    order = sorted(by_thread, key=lambda thread: (thread != main, -len(by_thread[thread]), thread))
    rows = []
    for place, thread in enumerate(order):
        kinds = by_thread[thread]
        prefix = f"p{process_id}.t{thread}"
        children = [
            row(f"{prefix}.{kind}", label, "events", kinds[kind])
            for kind, label in _HOST_ROWS
            if kind in kinds
        ]
        label = f"thread {thread}"
        if len(children) == 1:
            children[0]["label"] = f"{children[0]['label']} · {label}"
            rows.append(children[0])
        else:
            opened = place < MAX_OPEN_THREADS
            rows.append(row(prefix, label, "group", [], open=opened, children=children))
    return rows


_HOST_ROWS = ((ln.ANNOTATION, "annotations"), (ln.OPERATOR, "operators"), (ln.API, "API calls"))


def _main_thread(source: Source, process_id: int) -> int | None:
    """The thread of the steps, else of the first annotation."""
    table = source.profile.tables["step_summary"]
    mine = table.filter(pc.equal(table["process_id"], process_id))
    if mine.num_rows:
        return int(mine["thread"][0].as_py())
    file = source.file(ANNOTATIONS, process_id)
    if file is None or not file.rows:
        return None
    place = next(iter(file.group(0).lanes), None)
    return None if place is None else int(place[0])


def _devices(process_id: int, lanes: list[Lane], devices: list[Lane]) -> list[Row]:
    rows = []
    for lane in devices:
        (device,) = lane.place
        streams = [s for s in lanes if s.kind == ln.STREAM and s.place[0] == device]
        children = [
            row(f"p{process_id}.d{device}.s{s.place[1]}", f"stream {s.place[1]}", "events", [s])
            for s in streams
        ]
        comm = [c for c in lanes if c.kind == ln.DEVICE_COMM and c.place[0] == device]
        if comm:
            children.insert(0, row(f"p{process_id}.d{device}.comm", "communication", "util", comm))
        rows.append(
            row(
                f"p{process_id}.d{device}",
                f"GPU {device}",
                "util",
                [lane],
                open=True,
                children=children,
            )
        )
    return rows
