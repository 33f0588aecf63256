"""Turns an XPlane profile into the event tables of one process."""

from __future__ import annotations

from tracemill_schema.errors import InputError
from tracemill_schema.vocab import DropReason

from tracemill_analysis.events import EventWriter
from tracemill_analysis.importers.base import (
    DropCounter,
    ProcessResult,
    Progress,
    WorkItem,
    no_progress,
)
from tracemill_analysis.importers.clock import clock_name, is_unix
from tracemill_analysis.importers.xplane.events import DEVICE, XplaneEvents
from tracemill_analysis.importers.xplane.probe import open_space, whats_wrong
from tracemill_analysis.importers.xplane.stats import plane_facts
from tracemill_analysis.store import Store, scratch_folder

_ENVIRONMENT = "Task Environment"


def convert(
    item: WorkItem, store: Store, job: str, progress: Progress = no_progress
) -> ProcessResult:
    """Write the event tables of one profile; one file holds one host, with all its devices.

    The file is mapped, not read as a whole. Of a damaged one all is kept that stands before the
    damage in the same plane, and all other planes; what cannot be decoded is counted. The host's
    name is not read.

    Raises InputError if nothing can be read.
    """
    drops = DropCounter()
    (path,) = item.files(store)
    facts: dict[str, int | str] = {}
    used: dict[int, str | None] = {}
    with (
        open_space(path, item.source_name, drops) as space,
        scratch_folder() as folder,
        EventWriter(folder) as writer,
    ):
        events = XplaneEvents(space, writer, drops)
        for plane in space.planes():
            events.add(plane)
            if plane.name == _ENVIRONMENT:
                facts = plane_facts(space, plane)
            elif match := DEVICE.fullmatch(plane.name):
                used[int(match[2])] = _device_name(plane_facts(space, plane))
            progress(item.source_name, -1.0)
        if not events.kept and drops.lost:
            raise InputError(f"{item.source_name}: {whats_wrong(space)}")
        offset_ns = 0 if is_unix(events.first_ns) else _offset_ns(facts)
        summary = writer.finish(store, job, item, drops, offset_ns)
    progress(item.source_name, 1.0)
    names = [used.get(device) for device in sorted(summary.devices)]
    return ProcessResult(
        item=item,
        events_read=events.read + _lost_unread(drops, events),
        events_kept=events.kept - summary.duplicates,
        drops=drops,
        start_ns=summary.start_ns,
        end_ns=summary.end_ns,
        clock=clock_name(summary.start_ns),
        devices=tuple(sorted(summary.devices)),
        clock_offset_ns=offset_ns,
        framework="TensorFlow" if events.tensorflow else None,
        device_name=next((name for name in names if name), None),
    )


def _lost_unread(drops: DropCounter, events: XplaneEvents) -> int:
    """Count the places where a message was damaged before its events could be told."""
    counts = drops.counts
    damage = counts.get(DropReason.DAMAGED, 0) + counts.get(DropReason.TRUNCATED, 0)
    return damage - events.damaged


def _device_name(facts: dict[str, int | str]) -> str | None:
    name = facts.get("device_type_string")
    return name if isinstance(name, str) and name else None


def _offset_ns(facts: dict[str, int | str]) -> int:
    """Return the Unix time of the profile's zero; 0 if its times are Unix times, or unknown."""
    start = facts.get("profile_start_time")
    return start if isinstance(start, int) and is_unix(start) else 0
