"""The event-table writer: links, steps, slices, and the same bytes when rows go through files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tracemill_analysis.events import EventWriter, link, write_events, writer
from tracemill_analysis.events.strings import StringPool
from tracemill_analysis.importers.base import DropCounter, WorkItem
from tracemill_analysis.store import LocalStore
from tracemill_schema import layout
from tracemill_schema.tables.events import (
    ANNOTATIONS,
    API_CALLS,
    COLLECTIVES,
    KERNELS,
    OPERATORS,
    SYNCS,
)
from tracemill_schema.vocab import RankSource

from tests.support import kineto as k

_ITEM = WorkItem(3, "test", (), "t", "node-0", 7, RankSource.CONTENT)


def _write(root: Path, frames: dict[Any, Any], offset_ns: int = 0) -> tuple[LocalStore, Any]:
    store = LocalStore(root)
    return store, write_events(store, k.JOB, _ITEM, frames, DropCounter(), offset_ns)


def _calls(count: int, name: str = "cudaLaunchKernel") -> pa.Table:
    numbers = np.arange(count, dtype=np.int64)
    return pa.table(
        {
            "thread": numbers % 3,
            "name": [name] * count,
            "api": ["runtime"] * count,
            "start_ns": numbers * 10,
            "dur_ns": np.full(count, 4),
            "correlation": numbers,
        }
    )


def _kernels(count: int) -> pa.Table:
    numbers = np.arange(count, dtype=np.int64)[::-1]
    return pa.table(
        {
            "device": (numbers % 2).astype(np.int32),
            "stream": np.full(count, 7),
            "name": [f"gemm_{n % 50}" for n in numbers.tolist()],
            "start_ns": numbers * 10 + 5,
            "dur_ns": np.full(count, 6),
            "correlation": numbers,
        }
    )


def test_rows_are_linked_and_shifted(tmp_path: Path) -> None:
    steps = pa.table(
        {"thread": [0, 0], "name": ["step_4", "step_5"], "start_ns": [0, 20], "dur_ns": [20, 20]}
    )
    frames = {API_CALLS: _calls(5), KERNELS: _kernels(5), ANNOTATIONS: steps}
    store, summary = _write(tmp_path, frames, 1000)

    kernels = sorted(k.rows(store, "kernels"), key=lambda row: row["start_ns"])
    assert [row["start_ns"] for row in kernels] == [1005, 1015, 1025, 1035, 1045]
    assert [row["launch_start_ns"] for row in kernels] == [1000, 1010, 1020, 1030, 1040]
    assert [row["step"] for row in kernels] == [4, 4, 5, 5, None]
    assert {(row["process_id"], row["rank"], row["launch_dur_ns"]) for row in kernels} == {
        (3, 7, 4)
    }
    first, second = k.rows(store, "annotations")
    assert (first["series"], first["index"], first["depth"]) == ("step", 4, 0)
    assert (first["gpu_start_ns"], first["gpu_dur_ns"]) == (1005, 16)
    assert (second["gpu_start_ns"], second["gpu_dur_ns"]) == (1025, 16)
    calls = sorted(k.rows(store, "api_calls"), key=lambda row: row["start_ns"])
    assert [row["run_start_ns"] for row in calls] == [1005, 1015, 1025, 1035, 1045]
    assert (summary.start_ns, summary.end_ns, summary.devices) == (1000, 1051, {0, 1})
    assert summary.rows == {"api_calls": 5, "kernels": 5, "annotations": 2, "collectives": 0}


def test_table_without_rows_has_no_object(tmp_path: Path) -> None:
    store, summary = _write(tmp_path, {KERNELS: _kernels(0), API_CALLS: iter([_calls(2)])})
    part = layout.process_part(3)
    assert [o.key for o in store.list_objects("")] == [
        layout.table_key(API_CALLS.name, k.JOB, part)
    ]
    assert (summary.start_ns, summary.end_ns) == (0, 14)


def test_host_waits_are_synchronisations_too(tmp_path: Path) -> None:
    store, _ = _write(tmp_path, {API_CALLS: _calls(2, "cudaStreamSynchronize")})
    assert len(k.rows(store, "api_calls")) == 2
    got = [(r["side"], r["kind"], r["thread"], r["start_ns"]) for r in k.rows(store, SYNCS.name)]
    assert got == [("host", "stream", 0, 0), ("host", "stream", 1, 10)]


def test_collectives_count_up_by_group(tmp_path: Path) -> None:
    kernels = pa.table(
        {
            "device": pa.array([0] * 4, pa.int32()),
            "stream": [1] * 4,
            "name": ["ncclDevKernel_AllReduce_Sum", "ncclDevKernel_AllGather", "rcclX", "gemm"],
            "start_ns": [30, 10, 20, 0],
            "dur_ns": [5] * 4,
            "collective_group": ["a", "a", None, None],
            "collective_bytes": [64, None, None, None],
        }
    )
    store, _ = _write(tmp_path, {KERNELS: kernels})
    got = [
        (r["process_group"], r["sequence"], r["operation"], r["bytes"], r["start_ns"])
        for r in k.rows(store, COLLECTIVES.name)
    ]
    assert got == [
        ("a", 0, "all_gather", None, 10),
        ("a", 1, "all_reduce", 64, 30),
        (None, 0, "other", None, 20),
    ]


def test_slices_are_consecutive_in_time_and_sorted_inside(tmp_path: Path) -> None:
    rows = 150_000
    frames = {API_CALLS: _calls(rows), KERNELS: _kernels(rows)}
    store, _ = _write(tmp_path, frames)

    for table in (API_CALLS, KERNELS):
        file = pq.ParquetFile(store.local_file(layout.table_key(table.name, k.JOB, "p00003")))
        sizes = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
        assert sizes == [65_536, 65_536, rows - 2 * 65_536]
        last_end = -1
        for number in range(file.num_row_groups):
            group = file.read_row_group(number)
            starts = group.column("start_ns").to_numpy()
            assert starts.min() > last_end
            last_end = starts.max()
            keys = list(zip(*(group.column(c).to_pylist() for c in table.sort), strict=True))
            assert keys == sorted(keys)


def test_spilled_rows_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    operators = pa.table(
        {
            "thread": np.arange(9000, dtype=np.int64) % 4,
            "name": [f"aten::op{n % 2000}" for n in range(9000)],
            "category": ["cpu_op"] * 9000,
            "start_ns": np.arange(9000, dtype=np.int64) // 3,
            "dur_ns": np.arange(9000, dtype=np.int64) % 7,
            "shapes": [None if n % 3 else f"[[{n}]]" for n in range(9000)],
        }
    )
    ranges = pa.table(
        {
            "thread": np.arange(2000, dtype=np.int64) % 2,
            "name": [f"step_{n}" if n % 5 else "forward" for n in range(2000)],
            "start_ns": np.arange(2000, dtype=np.int64) * 45,
            "dur_ns": np.arange(2000, dtype=np.int64) % 90,
        }
    )
    whole = {
        API_CALLS: _calls(9000),
        KERNELS: _kernels(9000),
        OPERATORS: operators,
        ANNOTATIONS: ranges,
    }

    def batches(table: pa.Table) -> list[pa.Table]:
        return [table.slice(first, 1000) for first in range(0, table.num_rows, 1000)]

    first, _ = _write(tmp_path / "memory", whole)
    monkeypatch.setattr(writer, "_STAGED_BYTES", 50_000)
    monkeypatch.setattr(writer, "_STRING_BYTES", 20_000)
    monkeypatch.setattr(link, "_PART_ROWS", 2500)
    monkeypatch.setattr(link, "_RANGE_ROWS", 1000)
    monkeypatch.setattr(link, "_BATCH_ROWS", 300)
    second, _ = _write(tmp_path / "files", {t: batches(d) for t, d in whole.items()})

    keys = [o.key for o in first.list_objects("")]
    assert len(keys) == 4
    assert keys == [o.key for o in second.list_objects("")]
    for key in keys:
        assert first.read_bytes(key) == second.read_bytes(key)


def test_unknown_column_is_an_error(tmp_path: Path) -> None:
    with EventWriter(tmp_path) as events, pytest.raises(ValueError, match="kernels: no column x"):
        events.add(KERNELS, {"x": np.zeros(1, np.int64)}, 1)


def test_string_pool_keeps_ids_apart_when_texts_move_to_files(tmp_path: Path) -> None:
    pool = StringPool(tmp_path, memory_bytes=1000)
    texts = [f"näme {n % 40}" for n in range(400)]
    ids = np.concatenate([pool.ids(texts[n : n + 20], 20) for n in range(0, 400, 20)])
    assert len(pool) > 40
    assert pool.array(np.append(ids, np.int32(-1))).to_pylist() == [*texts, None]
    pool.close()
