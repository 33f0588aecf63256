"""Inputs of mixed formats: any order gives the same bytes, and so does a second run."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tracemill_analysis.importers.discover import discover
from tracemill_analysis.pipeline.convert import convert_item
from tracemill_analysis.store import LocalStore, scratch_folder

from tests.support import kineto as k
from tests.support import nsys
from tests.support.shared import shared_path

_KINETO = "traces/hta/triton_example__triton_example.json.gz"
_XPLANE = "traces/tracelens/test_data_jax_te_fused_attn_categorization__934987a2fc2f.xplane.pb.gz"


def _inputs(folder: Path) -> list[Path]:
    kernels = [
        (start, start + 5, device, 7, 5, nsys.pid(process), 1, 2, 1, 1, 64, 1, 1, 32, 16, 8, None)
        for start, device, process in ((10, 1, 9), (20, 0, 12))
    ]
    tables = {"CUPTI_ACTIVITY_KIND_KERNEL": (nsys.KERNEL, kernels)}
    made = nsys.write_sqlite(folder / "two.sqlite", tables)
    exported = nsys.to_parquet(made, folder / "rank_9.pqtdir")
    return [shared_path(_KINETO), shared_path(_XPLANE), made, exported]


def _imported(paths: list[Path], root: Path) -> tuple[list[tuple[object, ...]], dict[str, bytes]]:
    found = discover(paths)
    assert not found.rejected
    store = LocalStore(root)
    for item in found.items:
        assert convert_item(store, k.JOB, item).process is not None
    order = [(i.process_id, i.rank, i.source_name, i.format) for i in found.items]
    return order, nsys.stored_bytes(store)


@settings(max_examples=2, deadline=None)
@given(order=st.permutations(range(4)))
def test_any_order_gives_the_same_bytes_and_a_second_run_changes_none(order: list[int]) -> None:
    with scratch_folder() as folder:
        paths = _inputs(folder)
        first = _imported(paths, folder / "a")
        assert len(first[0]) == 6
        shuffled = [paths[place] for place in order]
        assert _imported(shuffled, folder / "b") == first
        assert _imported(shuffled, folder / "b") == first
