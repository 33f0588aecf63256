"""Search for names over the whole profile: how often each occurs, and where."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from tracemill_schema.columns import Table
from tracemill_schema.tables.events import ANNOTATIONS, API_CALLS, KERNELS, MEMORY_OPS, OPERATORS

from tracemill_ui.errors import ApiError
from tracemill_ui.timeline import lanes as ln
from tracemill_ui.timeline.groups import GroupFile
from tracemill_ui.timeline.lanes import Lane
from tracemill_ui.timeline.names import shortened
from tracemill_ui.timeline.source import Source

MAX_HITS = 1_000
MAX_NAMES = 100
MAX_QUERY_CHARS = 1_000
TIME_LIMIT_S = 5.0
_ORDER: tuple[Table, ...] = (ANNOTATIONS, KERNELS, MEMORY_OPS, OPERATORS, API_CALLS)


def search(source: Source, text: str, time_limit_s: float = TIME_LIMIT_S) -> dict[str, Any]:
    """Find events whose name contains ``text``, in whatever case.

    Returns the number of events and of each name (``complete`` is false if the time did not
    suffice for the whole profile), and the first MAX_HITS events by start.
    """
    text = text.strip()
    if not 0 < len(text) <= MAX_QUERY_CHARS:
        raise ApiError(400, "Search for what?", f"Write 1 to {MAX_QUERY_CHARS} characters.")
    stop = time.monotonic() + time_limit_s
    counts: dict[tuple[str, str], int] = defaultdict(int)
    hits: list[tuple[int, int, str, Lane]] = []
    complete = True
    for process in source.processes:
        for table in _ORDER:
            file = source.file(table, process["process_id"])
            if file is None:
                continue
            for number in file.groups():
                if time.monotonic() > stop:
                    complete = False
                    break
                _in_group(file, table, process["process_id"], number, text, counts, hits)
            if len(hits) > 4 * MAX_HITS:
                hits = sorted(hits, key=_by_start)[:MAX_HITS]
    hits = sorted(hits, key=_by_start)[:MAX_HITS]
    names = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return {
        "total": sum(counts.values()),
        "complete": complete,
        "names_total": len(names),
        "names": [
            {"name": shortened(name), "table": table, "count": number}
            for (name, table), number in names[:MAX_NAMES]
        ],
        "hits": [
            {
                "lane": lane.key,
                "start": start - source.start_ns,
                "dur": dur,
                "name": shortened(name),
            }
            for start, dur, name, lane in hits
        ],
    }


def _by_start(hit: tuple[int, int, str, Lane]) -> tuple[int, str]:
    return hit[0], hit[3].key


def _in_group(
    file: GroupFile,
    table: Table,
    process_id: int,
    number: int,
    text: str,
    counts: dict[tuple[str, str], int],
    hits: list[tuple[int, int, str, Lane]],
) -> None:
    column = file.read(number, ["name"])["name"].combine_chunks()
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    matches = pc.match_substring(column.dictionary, text, ignore_case=True)
    wanted = np.flatnonzero(matches.to_numpy(zero_copy_only=False))
    if not len(wanted):
        return
    codes = column.indices.to_numpy(zero_copy_only=False)
    per_code = np.bincount(codes, minlength=len(column.dictionary))
    for code in wanted.tolist():
        if per_code[code]:
            counts[(column.dictionary[code].as_py(), table.name)] += int(per_code[code])
    rows = np.flatnonzero(np.isin(codes, wanted))
    kind = ln.LANE_OF_TABLE[table]
    keys = ln.PLACE_COLUMNS[kind]
    data = file.read(number, ["start_ns", "dur_ns", "name", *keys]).take(pa.array(rows))
    data = data.sort_by("start_ns").slice(0, MAX_HITS)
    for row in data.to_pylist():
        lane = Lane(process_id, kind, tuple(row[key] for key in keys))
        hits.append((row["start_ns"], row["dur_ns"], row["name"], lane))
