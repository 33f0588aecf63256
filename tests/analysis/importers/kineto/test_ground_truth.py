"""Every file with known values: what the written tables say equals them to the nanosecond."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from tests.support import kineto as k
from tests.support.shared import shared_path, shared_root

_TRUTH = shared_root() / "expected/interval-union.jsonl"
_CASES = [json.loads(line) for line in _TRUTH.read_text().splitlines()] if _TRUTH.exists() else []


def _figures(kernels: list[dict[str, Any]], memory: list[dict[str, Any]]) -> dict[str, Any]:
    def spans(rows: list[dict[str, Any]]) -> list[tuple[int, int]]:
        return [(r["start_ns"], r["start_ns"] + r["dur_ns"]) for r in rows]

    everything = kernels + memory
    communication = [r for r in kernels if r["category"] == "communication"]
    compute = [r for r in kernels if r["category"] == "compute"]
    all_spans = spans(everything)
    window = max(end for _, end in all_spans) - min(start for start, _ in all_spans)
    overlap = k.overlap(spans(compute), spans(communication))
    delays = [
        r["start_ns"] - r["launch_start_ns"] for r in everything if r["launch_start_ns"] is not None
    ]
    return {
        "gpu_events": len(everything),
        "comm_kernels": len(communication),
        "compute_kernels": len(compute),
        "mem_ops": len(memory),
        "window_ns": window,
        "busy_ns": k.length(all_spans),
        "idle_ns": window - k.length(all_spans),
        "compute_union_ns": k.length(spans(compute)),
        "comm_union_ns": k.length(spans(communication)),
        "mem_union_ns": k.length(spans(memory)),
        "comp_comm_overlap_ns": overlap,
        "exposed_comm_ns": k.length(spans(communication)) - overlap,
        "sum_kernel_dur_ns": sum(r["dur_ns"] for r in kernels),
        "gpu_events_without_launch": sum(r["launch_start_ns"] is None for r in everything),
        "negative_launch_delay": sum(delay < 0 for delay in delays),
        "median_launch_delay_ns": statistics.median_high(delays) if delays else None,
    }


@pytest.mark.parametrize("truth", _CASES, ids=[Path(c["file"]).name[:60] for c in _CASES])
def test_tables_equal_known_values(truth: dict[str, Any], tmp_path: Path) -> None:
    _, store = k.import_file(shared_path(truth["file"]), tmp_path)

    got = _figures(k.rows(store, "kernels"), k.rows(store, "memory_ops"))

    known = {name: truth[name] for name in got}
    for name in ("window_ns", "idle_ns"):  # an end is floor(ts) + floor(dur) here
        assert abs(got.pop(name) - known.pop(name)) <= 1
    assert got == known


def test_known_values_are_there() -> None:
    shared_path("expected/interval-union.jsonl")
    assert len(_CASES) == 27
