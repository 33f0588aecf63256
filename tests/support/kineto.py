"""Makes Kineto traces for tests, imports them, and works out interval unions by brute force."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from tracemill_analysis.importers.base import ProcessResult
from tracemill_analysis.importers.discover import discover
from tracemill_analysis.importers.kineto.convert import convert
from tracemill_analysis.parquet import read_table
from tracemill_analysis.store import LocalStore
from tracemill_schema.tables import events
from tracemill_schema.vocab import DropReason

JOB = "job"

EXCLUDING = frozenset(
    {
        DropReason.NOT_USED,
        DropReason.DUPLICATE,
        DropReason.BAD_JSON,
        DropReason.DAMAGED,
        DropReason.BAD_TIME,
        DropReason.NEGATIVE_DURATION,
        DropReason.TRUNCATED,
    }
)
"""Reasons that leave an event of a trace out of the tables."""


def launch(correlation: Any, ts: Any, dur: Any = 2, tid: Any = 7) -> dict[str, Any]:
    return event("cuda_runtime", "cudaLaunchKernel", ts, dur, tid, correlation=correlation)


def kernel(
    correlation: Any, ts: Any, dur: Any = 5, name: str = "gemm", **args: Any
) -> dict[str, Any]:
    args = {"device": 0, "stream": 7, "correlation": correlation, **args}
    run = {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7}
    return {**run, "ts": ts, "dur": dur, "args": args}


def event(cat: str, name: str, ts: Any, dur: Any = 1, tid: Any = 7, **args: Any) -> dict[str, Any]:
    call = {"ph": "X", "cat": cat, "name": name, "pid": 42, "tid": tid}
    return {**call, "ts": ts, "dur": dur, "args": args}


def trace_text(trace_events: Sequence[Any], **facts: Any) -> bytes:
    """Text of a trace laid out as Kineto does; an element given as bytes is put in as it is."""
    parts = [e if isinstance(e, bytes) else json.dumps(e).encode() for e in trace_events]
    head = json.dumps({"schemaVersion": 1, **facts}).encode()[:-1]
    return (
        head
        + b',\n  "traceEvents": [\n  '
        + b",\n  ".join(parts)
        + b'\n  ],\n  "traceName": "t"\n}'
    )


def import_text(
    tmp_path: Path, text: bytes, name: str = "trace.json"
) -> tuple[ProcessResult, LocalStore]:
    path = tmp_path / name
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return import_file(path, tmp_path / "store")


def import_file(path: Path, root: Path) -> tuple[ProcessResult, LocalStore]:
    found = discover([path])
    assert not found.rejected, found.rejected
    (item,) = found.items
    store = LocalStore(root)
    return convert(item, store, JOB), store


def rows(store: LocalStore, table: str) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = arrow(store, table).to_pylist()
    return result


def arrow(store: LocalStore, table: str) -> pa.Table:
    declared = next(t for t in events.TABLES if t.name == table)
    return read_table(store, declared, JOB)


def drops(result: ProcessResult) -> dict[str, int]:
    return {str(reason): count for reason, count in sorted(result.drops.counts.items())}


def adds_up(result: ProcessResult) -> bool:
    """Whether every event read is either kept or counted under one reason."""
    left_out = sum(n for reason, n in result.drops.counts.items() if reason in EXCLUDING)
    return result.events_read == result.events_kept + left_out


def union(intervals: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def length(intervals: Iterable[tuple[int, int]]) -> int:
    return sum(end - start for start, end in union(intervals))


def overlap(first: Iterable[tuple[int, int]], second: Iterable[tuple[int, int]]) -> int:
    first, second = list(first), list(second)
    return length(first) + length(second) - length([*first, *second])
