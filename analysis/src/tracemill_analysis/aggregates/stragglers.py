"""``stragglers``: which ranks come last to collectives, and who waits for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tracemill_analysis.aggregates.source import EventSource, Process, integers, texts
from tracemill_analysis.intervals import Int64s

Entries = dict[int, tuple[list[str], Int64s, Int64s]]
"""Per process, ascending: operations, starts and ends (ns) in order of start."""


def stragglers(source: EventSource) -> list[dict[str, Any]]:
    """Return one row per rank that took part in a judged collective.

    Collectives are matched by group, step and place in the order of starts. Where the ranks of a
    group do not show the same operations in a step, nothing of that step is judged: a wrong match
    would blame the wrong rank.
    """
    parts: dict[int, list[tuple[int, Int64s, Int64s]]] = {}
    for entries in _groups(source):
        if _agree(entries):
            starts = np.stack([start for _, start, _ in entries.values()])
            ends = np.stack([end for _, _, end in entries.values()])
            for at, process_id in enumerate(entries):
                parts.setdefault(process_id, []).append((at, starts, ends))
    return [
        _row(process, parts[process.process_id])
        for process in source.processes
        if process.process_id in parts
    ]


def _groups(source: EventSource) -> Iterator[Entries]:
    """Yield the collectives of each group and step."""
    data = source.sql("arrivals")
    process, start, end = (integers(data, n) for n in ("process_id", "start_ns", "end_ns"))
    step = integers(data, "step", null=np.iinfo(np.int64).min)
    size = integers(data, "group_size", null=0)
    group, _ = texts(data, "process_group")
    operations, words = texts(data, "operation")
    keys = np.stack([group, step])
    edges = np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)) + 1
    for rows in np.split(np.arange(len(process)), edges):
        entries: Entries = {}
        for one in np.unique(process[rows]).tolist():
            mine = rows[process[rows] == one]
            names = [words[code] or "" for code in operations[mine].tolist()]
            entries[one] = (names, start[mine], end[mine])
        largest = int(size[rows].max(initial=0))
        # A name that more ranks use than the group holds stands for several groups.
        if len(entries) > 1 and not 0 < largest < len(entries):
            yield entries


def _agree(entries: Entries) -> bool:
    """Tell whether all ranks show the same operations in the same order."""
    first, *others = (names for names, _, _ in entries.values())
    return all(names == first for names in others)


def _row(process: Process, own: list[tuple[int, Int64s, Int64s]]) -> dict[str, Any]:
    """Sum up a rank's part; ``own`` holds its row in matrices (ranks x collectives) of ns."""
    lateness, waits, offsets = [], [], []
    last = last_wait = caused = 0
    for at, starts, ends in own:
        latest = starts.max(axis=0)
        wait = latest - starts
        is_last = starts.argmax(axis=0) == at
        last += int(is_last.sum())
        last_wait += int(wait.sum(axis=0)[is_last].sum())
        caused += int(np.maximum(starts[at] - starts, 0).sum())
        lateness.append(starts[at] - starts.min(axis=0))
        waits.append(wait[at])
        middle = np.sort(ends, axis=0)[(len(ends) - 1) // 2]
        offsets.append(ends[at] - middle)
    offset = np.sort(np.concatenate(offsets))
    return {
        **process.where,
        "collectives": len(offset),
        "last": last,
        "last_wait_ns": last_wait,
        "caused_wait_ns": caused,
        "suffered_wait_ns": int(np.concatenate(waits).sum()),
        "max_lateness_ns": int(np.concatenate(lateness).max()),
        "end_offset_ns": int(offset[(len(offset) - 1) // 2]),
        "clock_spread_ns": process.clock_spread_ns,
    }
