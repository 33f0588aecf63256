from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from tracemill_analysis.importers.discover import discover
from tracemill_analysis.importers.kineto.convert import convert
from tracemill_analysis.store import LocalStore
from tracemill_schema.vocab import RankSource

from tests.support import kineto as k
from tests.support.shared import shared_path


def _trace(folder: Path, name: str, rank: object = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    facts = {} if rank is None else {"distributedInfo": {"rank": rank, "world_size": 4}}
    path = folder / name
    path.write_bytes(k.trace_text([k.launch(1, 1), k.kernel(1, 4)], **facts))
    return path


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank_3.json", 3),
        ("rank-3.json", 3),
        ("job_RANK12_x.json", 12),
        ("worker5.1623143089861.pt.trace.json", 5),
        ("host_1234.1700000000.global_rank7.json", 7),
        ("local_rank_3.json", 0),
        ("localrank3.json", 0),
        ("frank3.json", 0),
    ],
)
def test_rank_from_file_name(tmp_path: Path, name: str, rank: int) -> None:
    (item,) = discover([_trace(tmp_path, name)]).items
    source = RankSource.FILE_NAME if rank else RankSource.ORDER
    assert (item.rank, item.rank_source) == (rank, source)


def test_content_goes_before_name_before_order(tmp_path: Path) -> None:
    for name, rank in (("rank_0.json", 2), ("rank_1.json", None), ("a.json", None), ("b.json", 0)):
        _trace(tmp_path, name, rank)
    got = [
        (i.process_id, i.rank, i.rank_source.value, i.source_name)
        for i in discover([tmp_path]).items
    ]
    assert got == [
        (0, 0, "content", "b.json"),
        (1, 1, "file_name", "rank_1.json"),
        (2, 2, "content", "rank_0.json"),
        (3, 3, "order", "a.json"),
    ]


def test_second_claim_to_a_rank_takes_the_next_source(tmp_path: Path) -> None:
    for name in ("x.json", "rank_5.json", "y.json"):
        _trace(tmp_path, name, 1)
    got = {i.source_name: (i.rank, i.rank_source.value) for i in discover([tmp_path]).items}
    assert got == {
        "rank_5.json": (1, "content"),
        "x.json": (0, "order"),
        "y.json": (2, "order"),
    }


@pytest.mark.parametrize("rank", [-1, True, "x", 1.5, [0], 1 << 40])
def test_unusable_rank_in_content(tmp_path: Path, rank: object) -> None:
    (item,) = discover([_trace(tmp_path, "t.json", rank)]).items
    assert item.rank_source is RankSource.ORDER


def test_equal_names_are_told_apart_by_folder(tmp_path: Path) -> None:
    for folder in ("b", "a"):
        _trace(tmp_path / folder, "t.json")
    assert [i.source_name for i in discover([tmp_path]).items] == ["a/t.json", "b/t.json"]


def test_node_from_file_name(tmp_path: Path) -> None:
    for name in ("node1_rank_3.json", "rank_0.json"):
        _trace(tmp_path, name)
    assert [i.node for i in discover([tmp_path]).items] == ["node-0", "node-1"]


def test_file_named_twice_is_taken_once(tmp_path: Path) -> None:
    path = _trace(tmp_path, "t.json")
    assert len(discover([path, tmp_path, path]).items) == 1


def test_hidden_files_and_raw_segments_are_passed_over(tmp_path: Path) -> None:
    _trace(tmp_path / ".cache", "t.json")
    _trace(tmp_path, ".hidden.json")
    (tmp_path / "000001.tmraw").write_bytes(b"x")
    found = discover([tmp_path])
    assert (found.items, found.rejected) == ((), ())


def test_any_order_of_inputs_gives_the_same_bytes(tmp_path: Path) -> None:
    folder = shared_path("traces/param/dlrm_8rank")
    files = sorted(folder.iterdir())[:3]
    seen = []
    for number, order in enumerate([*itertools.permutations(files)][:4]):
        found = discover(order)
        store = LocalStore(tmp_path / str(number))
        for item in found.items:
            convert(item, store, k.JOB)
        seen.append((found, {o.key: store.read_bytes(o.key) for o in store.list_objects("")}))
    assert len(seen[0][1]) == 3 * 7
    assert all(one == seen[0] for one in seen)


def test_eight_ranks(tmp_path: Path) -> None:
    items = discover([shared_path("traces/param/dlrm_8rank")]).items
    assert [(i.process_id, i.rank, i.rank_source) for i in items] == [
        (n, n, RankSource.CONTENT) for n in range(8)
    ]
