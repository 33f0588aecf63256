"""Results of recipes, four processes of a real job: ranges with their time on the GPU."""

from __future__ import annotations

import csv
import lzma
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tracemill_schema.vocab import RankSource

from tests.support import kineto as k
from tests.support import nsys
from tests.support.shared import shared_path

_FOLDER = "traces/jax-toolbox-nsys"
_LISTED = (27_891, 27_885, 27_885, 27_885)


def test_four_processes_are_four_ranks() -> None:
    items = nsys.items_of(shared_path(_FOLDER))
    assert [(i.rank, i.rank_source, i.source_name, i.format) for i in items] == [
        (n, RankSource.CONTENT, f"proc{n}", "nsys-recipe") for n in range(4)
    ]


@pytest.mark.parametrize("number", [0, 3])
def test_ranges_equal_the_report_and_their_gpu_times_the_projection(
    number: int, tmp_path: Path
) -> None:
    folder = shared_path(f"{_FOLDER}/proc{number}")
    with lzma.open(folder / "report_nvtx_pushpop_trace.csv.xz", "rt") as file:
        listed = {row["RangeId"]: row for row in csv.DictReader(file)}
    projected = {
        str(int(row["RangeId"])): (row["Projected Start"], row["Projected Duration"])
        for row in pq.read_table(folder / "trace.parquet").to_pylist()
        if row["RangeId"] is not None
    }
    assert projected.keys() <= listed.keys()
    expected = sorted(
        (
            int(row["Start (ns)"]), int(row["Duration (ns)"]), row["Name"], int(row["TID"]),
            int(row["Lvl"]), *projected.get(range_id, (None, None)),
        )
        for range_id, row in listed.items()
    )  # fmt: skip

    (result,), store = nsys.convert_all(folder, tmp_path)

    columns = ("start_ns", "dur_ns", "name", "thread", "depth", "gpu_start_ns", "gpu_dur_ns")
    rows = sorted(tuple(row[c] for c in columns) for row in k.rows(store, "annotations"))
    assert len(rows) == _LISTED[number]
    assert rows == expected
    assert result.events_kept == len(listed)
    assert k.drops(result) == {"not_used": len(projected) + 1}
    assert (result.framework, result.device_name) == ("JAX", "NVIDIA A100-SXM4-40GB")
    assert k.adds_up(result)


def test_projection_alone_gives_its_own_ranges(tmp_path: Path) -> None:
    source = shared_path(f"{_FOLDER}/proc0/trace.parquet")
    path = tmp_path / "trace.parquet"
    shutil.copy(source, path)

    (result,), store = nsys.convert_all(path, tmp_path / "store")

    rows = k.rows(store, "annotations")
    assert (len(rows), result.events_read, result.events_kept) == (14_304, 14_305, 14_304)
    assert all(row["gpu_start_ns"] is not None for row in rows)
    assert k.drops(result) == {"not_used": 1}


def test_report_that_is_cut_off_is_counted(tmp_path: Path) -> None:
    folder = tmp_path / "proc0"
    shutil.copytree(shared_path(f"{_FOLDER}/proc0"), folder, copy_function=shutil.copyfile)
    folder.chmod(0o755)
    report = folder / "report_nvtx_pushpop_trace.csv.xz"
    report.write_bytes(report.read_bytes()[:300_000])

    (result,), store = nsys.convert_all(folder, tmp_path / "store")

    assert result.drops.counts["damaged"] == 1  # type: ignore[index]
    assert 0 < k.arrow(store, "annotations").num_rows < _LISTED[0]
    assert not result.complete and k.adds_up(result)
