"""Turns one Kineto trace into the event tables of one process."""

from __future__ import annotations

from typing import Any

from tracemill_schema.errors import UnknownFormatError

from tracemill_analysis.events import EventWriter
from tracemill_analysis.importers.base import (
    DropCounter,
    ProcessResult,
    Progress,
    WorkItem,
    no_progress,
)
from tracemill_analysis.importers.clock import clock_name
from tracemill_analysis.importers.kineto import native
from tracemill_analysis.importers.kineto.columns import EventSorter
from tracemill_analysis.importers.kineto.header import read_header, trailer_facts
from tracemill_analysis.importers.kineto.probe import distributed
from tracemill_analysis.importers.kineto.split import EventSplitter
from tracemill_analysis.importers.kineto.times import LIMIT_NS
from tracemill_analysis.importers.source import Source
from tracemill_analysis.store import Store, scratch_folder


def convert(
    item: WorkItem, store: Store, job: str, progress: Progress = no_progress
) -> ProcessResult:
    """Write the event tables of one trace; see ``events.write_events`` for what they hold.

    The file is streamed: memory does not grow with it. What cannot be read is counted by reason in
    the result; ``events_read`` equals ``events_kept`` plus the counts of the reasons that leave an
    event out. Host names, user names and paths around the events are not kept.

    Raises InputError if the file cannot be read, UnknownFormatError if it is no trace or has no
    event of a profiler.
    """
    drops = DropCounter()
    (path,) = item.files(store)
    with scratch_folder() as folder, Source(path) as source, EventWriter(folder) as writer:
        header = read_header(source)
        sorter = EventSorter(writer, drops)
        splitter = EventSplitter(
            source.read,
            header.rest,
            header.position,
            drops,
            bare=header.bare,
            plain=native.decode_plain,
        )
        for events in splitter:
            sorter.add(events)
            progress(item.source_name, source.fraction_read)
        if sorter.complete and sorter.unknown == sorter.complete:
            raise UnknownFormatError(
                f"{item.source_name}: a Chrome trace, but none of its {sorter.complete} events is "
                "of a kind that the PyTorch profiler writes"
            )
        facts = {**header.facts, **trailer_facts(splitter.trailer)}
        summary = writer.finish(store, job, item, drops, _offset_ns(facts))
    progress(item.source_name, 1.0)
    return ProcessResult(
        item=item,
        events_read=splitter.elements,
        events_kept=sorter.kept - summary.duplicates,
        drops=drops,
        start_ns=summary.start_ns,
        end_ns=summary.end_ns,
        clock=clock_name(summary.start_ns),
        devices=tuple(sorted(summary.devices)),
        clock_offset_ns=_offset_ns(facts),
        world_size=distributed(facts).world_size,
        pid=sorter.pid,
        framework="PyTorch",
        device_name=_device_name(facts, summary.devices),
    )


def _offset_ns(facts: dict[str, Any]) -> int:
    """Unix time of the trace's zero, as the trace gives it."""
    base = facts.get("baseTimeNanoseconds")
    if isinstance(base, str) and base.isdecimal():
        base = int(base)
    usable = isinstance(base, int) and not isinstance(base, bool) and abs(base) < LIMIT_NS
    return int(base) if usable and base is not None else 0


def _device_name(facts: dict[str, Any], devices: set[int]) -> str | None:
    properties = facts.get("deviceProperties", facts.get("computeProperties"))
    if not isinstance(properties, list):
        return None
    names = {entry.get("id"): entry.get("name") for entry in properties if isinstance(entry, dict)}
    used = [names.get(device) for device in sorted(devices)] or list(names.values())[:1]
    return next((name for name in used if isinstance(name, str) and name), None)
