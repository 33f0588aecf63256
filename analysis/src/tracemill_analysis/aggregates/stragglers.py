"""``stragglers``: which ranks come last to collectives, and who waits for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracemill_analysis.aggregates.matching import matched_collectives
from tracemill_analysis.aggregates.source import EventSource, Process
from tracemill_analysis.intervals import Int64s


def stragglers(source: EventSource) -> list[dict[str, Any]]:
    """Return one row per rank that took part in a judged collective (see ``matching``).

    The ranks' times are brought to one clock first, by ``processes.alignment_ns``.
    """
    shifts = {process.process_id: process.alignment_ns or 0 for process in source.processes}
    parts: dict[int, list[tuple[int, Int64s, Int64s]]] = {}
    for matched in matched_collectives(source):
        shift = np.array([shifts[one] for one in matched.process_ids], np.int64)[:, None]
        starts, ends = matched.starts + shift, matched.ends + shift
        for at, process_id in enumerate(matched.process_ids):
            parts.setdefault(process_id, []).append((at, starts, ends))
    return [
        _row(process, parts[process.process_id])
        for process in source.processes
        if process.process_id in parts
    ]


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
