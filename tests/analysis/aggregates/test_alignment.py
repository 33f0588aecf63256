"""Clocks of nodes brought together by the ends of the collectives they share."""

from __future__ import annotations

from pathlib import Path

from tracemill_analysis import aggregates
from tracemill_analysis.aggregates.alignment import Alignment, align_nodes
from tracemill_analysis.aggregates.source import open_source

from tests.support import tables as t


def collective(rank: int, end: int, step: int, **values: object) -> t.Row:
    shared = {"process_id": rank, "rank": rank, "operation": "all_reduce", "step": step}
    return t.row("collectives", **{**shared, "start_ns": end - 50, "dur_ns": 50, **values})


def aligned(folder: Path, nodes: list[str], collectives: list[t.Row]) -> dict[str, Alignment]:
    processes = [t.process(rank, node=node) for rank, node in enumerate(nodes)]
    store = t.store_with(folder, processes=processes, collectives=collectives)
    with open_source(store, t.JOB) as source:
        return align_nodes(source)


def test_the_median_difference_of_ends_is_that_of_the_clocks(tmp_path: Path) -> None:
    found = aligned(
        tmp_path,
        ["a", "a", "b", "b"],
        [
            collective(rank, 1000 * step + (700 + late if rank >= 2 else rank), step)
            for step, late in enumerate((0, 3, 0, -4, 0), start=1)
            for rank in range(4)
        ],
    )
    # The nodes' ends are those of their earlier rank (lower median of two).
    assert found == {"a": Alignment(0, 0), "b": Alignment(-700, 4)}


def test_a_node_without_collectives_in_common_with_the_first_goes_by_another(
    tmp_path: Path,
) -> None:
    found = aligned(
        tmp_path,
        ["a", "b", "c"],
        [
            *(collective(0, 100 * step, step, process_group="ab") for step in range(3)),
            *(collective(1, 100 * step + 30, step, process_group="ab") for step in range(3)),
            *(collective(1, 100 * step + 30, step, process_group="bc") for step in range(3)),
            *(collective(2, 100 * step + 35, step, process_group="bc") for step in range(3)),
        ],
    )
    assert {node: one.shift_ns for node, one in found.items()} == {"a": 0, "b": -30, "c": -35}


def test_ends_that_need_not_agree_and_too_few_tell_nothing(tmp_path: Path) -> None:
    sends = [
        collective(rank, 100 * step + rank, step, operation="send_recv")
        for step in range(9)
        for rank in range(2)
    ]
    few = [collective(rank, 5000 + 100 * step, 20 + step) for step in range(2) for rank in range(2)]
    assert aligned(tmp_path, ["a", "b"], sends + few) == {}


def test_one_node_needs_no_alignment(tmp_path: Path) -> None:
    same = [collective(rank, 100 * step, step) for step in range(5) for rank in range(2)]
    assert aligned(tmp_path, ["a", "a"], same) == {}


def test_arrivals_are_compared_on_the_aligned_clocks(tmp_path: Path) -> None:
    processes = [t.process(0, node="a", alignment_ns=0), t.process(1, node="b", alignment_ns=-500)]
    rows = [collective(0, 1000, 1, dur_ns=60), collective(1, 1490, 1, dur_ns=20)]
    store = t.store_with(tmp_path, processes=processes, collectives=rows)
    aggregates.build(store, t.JOB)
    # Rank 1 begins at 1440 on its clock, 940 on that of rank 0, which begins at 950.
    assert t.only(t.rows_of(store, "stragglers"), "rank", "last", "last_wait_ns") == [
        (0, 1, 10),
        (1, 0, 0),
    ]
