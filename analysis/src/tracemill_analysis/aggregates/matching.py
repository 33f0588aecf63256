"""The same collective on several ranks: matched by group, step and place in the order of starts.

Where the ranks of a group do not show the same operations in a step, nothing of that step is
matched: a wrong match would blame the wrong rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tracemill_analysis.aggregates.source import EventSource, integers, texts
from tracemill_analysis.intervals import Int64s

_Entries = dict[int, tuple[list[str], Int64s, Int64s]]
"""Per process, ascending: operations, starts and ends (ns) in order of start."""


@dataclass(frozen=True)
class Matched:
    """Collectives of one group and step. Times in ns, of shape (processes, collectives)."""

    process_ids: list[int]
    operations: list[str]
    starts: Int64s
    ends: Int64s


def matched_collectives(source: EventSource) -> Iterator[Matched]:
    """Yield the collectives that several ranks took part in, by group and step."""
    for entries in _groups(source):
        first, *others = (names for names, _, _ in entries.values())
        if all(names == first for names in others):
            starts = np.stack([start for _, start, _ in entries.values()])
            ends = np.stack([end for _, _, end in entries.values()])
            yield Matched(list(entries), first, starts, ends)


def _groups(source: EventSource) -> Iterator[_Entries]:
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
        entries: _Entries = {}
        for one in np.unique(process[rows]).tolist():
            mine = rows[process[rows] == one]
            names = [words[code] or "" for code in operations[mine].tolist()]
            entries[one] = (names, start[mine], end[mine])
        largest = int(size[rows].max(initial=0))
        # A name that more ranks use than the group holds stands for several groups.
        if len(entries) > 1 and not 0 < largest < len(entries):
            yield entries
