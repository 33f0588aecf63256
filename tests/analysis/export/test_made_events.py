"""Exports of hand-made tables: counters, overlaps, odd names, times and ids at their limits."""

from __future__ import annotations

import json
from pathlib import Path

from tracemill_analysis.export import export_job, select
from tracemill_analysis.parquet import write_rows
from tracemill_analysis.store import LocalStore
from tracemill_schema import layout
from tracemill_schema.tables import TABLE_BY_NAME

from tests.support.perfetto import read_trace
from tests.support.profiles import job_row, write_manifest
from tests.support.tables import Row, row

T = 1_790_000_000_123_456_789


def made(folder: Path, **tables: list[Row]) -> LocalStore:
    store = LocalStore(folder / "s")
    about = job_row(simulated=True, completeness="partial")
    place = {"process_id": 0, "rank": 0}
    tables["processes"] = [
        {**place, "node": "n0", "start_ns": T, "end_ns": T + 10_000, "devices": "0", "pid": 7}
    ]
    for name, rows in tables.items():
        part = layout.WHOLE_JOB_PART if name == "processes" else layout.process_part(0)
        full = [row(name, **{**place, **one}) for one in rows]
        write_rows(store, TABLE_BY_NAME[name], "job", part, full)
    write_manifest(store, "job", about)
    return store


def test_samples_become_counters(tmp_path: Path) -> None:
    sample = {"node": "n0", "metric": "gpu_power_mw", "unit": "mW", "scope": "gpu", "index": 1}
    memory = {"node": "n0", "metric": "memory_used_bytes", "unit": "bytes", "scope": "node",
              "index": -1}  # fmt: skip
    store = made(
        tmp_path,
        samples=[
            {**sample, "time_ns": T, "value": 250_000.5},
            {**sample, "time_ns": T + 5, "value": -1.0},
            {**memory, "time_ns": T + 3, "value": 2.0**53},
        ],
    )
    done = export_job(store, "job", select(store, "job"), tmp_path / "x.pftrace")
    trace = read_trace(tmp_path / "x.pftrace")
    root = "rank 0 on n0, pid 7 [SIMULATED] [PARTIAL]"
    assert done.counts == {"samples": 3}
    assert sorted(trace.counters) == [
        ((root, "gpu_power_mw gpu 1"), "mW", T, 250_000.5),
        ((root, "gpu_power_mw gpu 1"), "mW", T + 5, -1.0),
        ((root, "memory_used_bytes"), "bytes", T + 3, 2.0**53),
    ]


def test_kernels_that_overlap_on_a_stream_keep_their_times(tmp_path: Path) -> None:
    kernel = {"device": 0, "stream": 7, "category": "compute", "name": "k"}
    runs = [(0, 100), (50, 100), (100, 0), (120, 10)]
    store = made(tmp_path, kernels=[{**kernel, "start_ns": T + s, "dur_ns": d} for s, d in runs])
    export_job(store, "job", select(store, "job"), tmp_path / "x.pftrace")
    slices = read_trace(tmp_path / "x.pftrace").slices
    assert sorted((s.start_ns - T, s.dur_ns) for s in slices) == sorted(runs)
    assert {s.track[-1] for s in slices} == {
        "GPU 0 stream 7",
        "GPU 0 stream 7 (overlapping, 2)",
    }


def test_names_and_numbers_of_any_kind_pass(tmp_path: Path) -> None:
    names = ['<b>"q"\\', "äöü\u202e\x00\n", "", "x" * 70_000]
    extremes = [-(2**63), 2**63 - 1, 0, None]
    store = made(
        tmp_path,
        kernels=[
            {"device": 2**31 - 1, "stream": extremes[i] or 0, "category": "compute", "name": name,
             "start_ns": T + i, "dur_ns": 1, "correlation": extremes[i], "grid_x": 2**31 - 1,
             "grid_y": 1, "grid_z": 1}
            for i, name in enumerate(names)
        ],
        annotations=[{"thread": extremes[i] or 0, "name": name, "series": name, "start_ns": T,
                      "dur_ns": 1} for i, name in enumerate(names)],
    )  # fmt: skip
    export_job(store, "job", select(store, "job"), tmp_path / "x.pftrace")
    slices = read_trace(tmp_path / "x.pftrace").slices
    assert sorted(s.name for s in slices) == sorted([*names, *names])
    kernels = {s.start_ns - T: s for s in slices if s.category == "compute"}
    assert [kernels[i].arguments.get("correlation") for i in range(4)] == extremes
    assert kernels[0].arguments["grid"] == f"{2**31 - 1}x1x1"
    export_job(store, "job", select(store, "job"), tmp_path / "x.json", "chrome")
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    assert sorted(e["name"] for e in events if e["ph"] == "X") == sorted([*names, *names])


def test_times_before_the_epoch_are_written_as_they_are(tmp_path: Path) -> None:
    annotation = {"thread": 1, "name": "a", "series": "a", "start_ns": -1_500, "dur_ns": 2_000}
    store = made(tmp_path, annotations=[annotation])
    export_job(store, "job", select(store, "job"), tmp_path / "x.json", "chrome")
    assert '"ts": -1.500, "dur": 2.000' in (tmp_path / "x.json").read_text()
