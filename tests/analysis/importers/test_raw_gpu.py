"""GPU records of raw segments become kernels, memory operations, calls and synchronisations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tracemill_analysis.importers.base import ProcessResult
from tracemill_analysis.importers.raw.convert import convert
from tracemill_analysis.importers.raw.discover import discover_raw
from tracemill_analysis.importers.raw.gpu import timed
from tracemill_analysis.importers.raw.segment import Segment
from tracemill_analysis.parquet import read_table
from tracemill_analysis.store import LocalStore
from tracemill_schema import layout, raw
from tracemill_schema.tables import TABLE_BY_NAME
from tracemill_schema.vocab import DropReason

from tests.support.tmraw_writer import SegmentWriter

JOB = "j"
EPOCH = 1_700_000_000_000_000_000
MAIN = 4242


def a_recording(writer: SegmentWriter) -> SegmentWriter:
    """A step that launches a kernel on each of two streams, a copy, a set and a graph."""
    step, gemm, relu = (writer.string(t) for t in ("step", "gemm", "relu"))
    launch, copy, wait = (
        writer.string(t) for t in ("cudaLaunchKernel", "cudaMemcpyAsync", "cudaDeviceSynchronize")
    )
    driver = writer.string("cuLaunchKernel")
    writer.rows(raw.CLOCK, [(0, EPOCH, 0)])
    writer.rows(raw.ANNOTATIONS, [(MAIN, step, 3, 0, 1_000, 5_000)])
    writer.rows(raw.GPU_TRACKS, [(0, 0, 1, 7), (1, 1, 2, 9)])
    shape = (4, 2, 1, 128, 1, 1)
    writer.rows(
        raw.GPU_SIGNATURES, [(1, gemm, *shape, 64, 1_024, 2_048), (2, relu, *shape, 16, 0, 0)]
    )
    calls = [
        (MAIN, 0, launch, 11, 1_100, 50),
        (MAIN, 0, launch, 12, 0, 60),
        (MAIN, 1, driver, 12, -55, 50),  # inside the second launch
        (MAIN, 0, copy, 13, 100, 70),  # after the end of the row before, 1,205
        (MAIN, 0, wait, 14, 100, 900),
    ]
    writer.rows(raw.API_CALLS, calls)
    writer.rows(raw.KERNELS, [(0, 1, 11, 2_000, 300, 0), (0, 1, 12, 50, -20, 0)])
    writer.rows(raw.KERNELS, [(1, 2, 99, 2_500, 70, 6)])  # a later block begins anew
    writer.rows(raw.MEMCPYS, [(0, 1, 2, 3, 0, 4_096, 13, 3_000, 10)])
    writer.rows(raw.MEMSETS, [(0, 3, 255, 64, 15, 3_100, 5)])
    writer.rows(raw.GRAPH_RUNS, [(0, 5, 16, 4_000, 400)])
    writer.rows(raw.GPU_SYNCS, [(4, 1, -1, 14, 1_500, 900)])
    return writer.rows(raw.GPU_OVERHEADS, [(1 << 16, MAIN, 1_600, 10)])


def converted(store: LocalStore) -> ProcessResult:
    path = layout.segment_key(layout.SegmentKey(JOB, "algo-1", 7, EPOCH, 0))
    writer = a_recording(SegmentWriter(rank=0, gpu={"devices": [{"device": 0, "name": "H100"}]}))
    writer.meta(end_reason="stopped").save(store.root / path)
    (item,) = discover_raw(store, JOB).items
    return convert(item, store, JOB)


def rows(store: LocalStore, table: str, *columns: str) -> list[tuple[Any, ...]]:
    found = read_table(store, TABLE_BY_NAME[table], JOB).to_pylist()
    return [
        tuple(r[c] - EPOCH if c.endswith("start_ns") and r[c] else r[c] for c in columns)
        for r in found
    ]


def test_kernels_with_their_launches(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    result = converted(store)
    columns = (
        "device", "stream", "name", "start_ns", "dur_ns", "correlation", "launch_start_ns",
        "launch_dur_ns", "launch_thread", "step", "registers", "shared_bytes", "graph_node",
        "grid_x", "block_x",
    )  # fmt: skip
    nothing = (None,) * 3
    assert rows(store, "kernels", *columns) == [
        (0, 7, "gemm", 2_000, 300, 11, 1_100, 50, MAIN, 3, 64, 3_072, None, 4, 128),
        (0, 7, "gemm", 2_350, 280, 12, 1_150, 60, MAIN, 3, 64, 3_072, None, 4, 128),
        (0, 7, "CUDA graph 5", 4_000, 400, 16, *nothing, 3, *nothing, None, None),
        (1, 9, "relu", 2_500, 70, 99, *nothing, 3, 16, 0, 6, 4, 128),
    ]
    assert result.devices == (0, 1)
    assert result.device_name == "H100"
    # A range, four GPU runs' kernels, copy, set, four calls, one synchronisation.
    assert result.events_kept == 1 + 4 + 2 + 4 + 1
    assert result.drops.counts == {DropReason.NOT_USED: 1, DropReason.UNLINKED: 3}
    assert (result.start_ns, result.end_ns) == (EPOCH + 1_000, EPOCH + 6_000)


def test_memory_operations_calls_and_synchronisations(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    converted(store)
    columns = ("name", "kind", "src_kind", "dst_kind", "bytes", "start_ns", "launch_start_ns")
    assert rows(store, "memory_ops", *columns) == [
        ("Memcpy HtoD (Pinned -> Device)", "HtoD", "pinned", "device", 4_096, 3_000, 1_305),
        ("Memset (Device)", "memset", None, "device", 64, 3_100, None),
    ]
    columns = ("thread", "name", "api", "start_ns", "dur_ns", "correlation", "run_start_ns")
    assert rows(store, "api_calls", *columns) == [
        (MAIN, "cudaLaunchKernel", "runtime", 1_100, 50, 11, 2_000),
        (MAIN, "cudaLaunchKernel", "runtime", 1_150, 60, 12, 2_350),
        (MAIN, "cudaMemcpyAsync", "runtime", 1_305, 70, 13, 3_000),
        (MAIN, "cudaDeviceSynchronize", "runtime", 1_475, 900, 14, None),
    ]
    columns = ("side", "kind", "name", "device", "stream", "thread", "start_ns", "dur_ns")
    assert rows(store, "syncs", *columns) == [
        ("device", "device", "Context Sync", 0, None, None, 1_500, 900),
        ("host", "device", "cudaDeviceSynchronize", None, None, MAIN, 1_475, 900),
    ]


def test_ranges_know_when_their_work_ran(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    converted(store)
    columns = ("name", "series", "index", "depth", "start_ns", "dur_ns", "gpu_start_ns")
    assert rows(store, "annotations", *columns, "gpu_dur_ns") == [
        ("step_3", "step", 3, 0, 1_000, 5_000, 2_000, 1_010)
    ]


def test_unknown_ids_do_not_stop_the_import(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    path = layout.segment_key(layout.SegmentKey(JOB, "algo-1", 7, EPOCH, 0))
    writer = SegmentWriter(rank=0).rows(raw.KERNELS, [(8, 9, 1, 100, 5, 0)])
    writer.rows(raw.API_CALLS, [(MAIN, 7, 55, 1, 50, 5)])
    writer.rows(raw.MEMCPYS, [(8, 77, 88, 99, 0, 1, 2, 100, 5)])
    writer.rows(raw.GPU_SYNCS, [(44, 3, 5, 1, 1, 1)])
    writer.save(store.root / path)
    (item,) = discover_raw(store, JOB).items
    convert(item, store, JOB)
    assert rows(store, "kernels", "name", "device", "registers") == [("(unknown name)", 0, None)]
    assert rows(store, "api_calls", "name", "api") == [("(unknown name)", "driver")]
    assert rows(store, "memory_ops", "name", "kind") == [
        ("Memcpy other (Unknown -> Unknown)", "other")
    ]
    assert rows(store, "syncs", "kind", "device") == [("other", None)]


@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(0, 3), st.integers(0, 2**60), st.integers(0, 10**9)),
            min_size=1,
            max_size=20,
        ),
        min_size=1,
        max_size=4,
    )
)
def test_times_come_back(blocks: list[list[tuple[int, int, int]]]) -> None:
    columns: dict[str, list[int]] = {"signature_id": [], "gap_ns": [], "dur_delta_ns": []}
    for block in blocks:
        previous_end, last = 0, {}
        for signature, start, duration in block:
            columns["signature_id"].append(signature)
            columns["gap_ns"].append(start - previous_end)
            columns["dur_delta_ns"].append(duration - last.get(signature, 0))
            previous_end, last[signature] = start + duration, duration
    segment = Segment(
        columns={"kernels": {name: np.array(values) for name, values in columns.items()}},
        block_rows={"kernels": [len(block) for block in blocks]},
    )
    found = timed(segment, "kernels")
    flat = [row for block in blocks for row in block]
    assert found["start_ns"].tolist() == [start for _, start, _ in flat]
    assert found["dur_ns"].tolist() == [duration for _, _, duration in flat]
