"""Launches and runs find each other by id, as a search through all pairs does."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from tracemill_analysis.events.match import Launches, may_have_copies

_ID = st.none() | st.integers(-2, 4) | st.just(1 << 62)
_ROWS = st.lists(
    st.tuples(_ID, st.integers(0, 3), st.integers(0, 2), st.integers(0, 1)), max_size=9
)


def _table(rows: list[tuple[int | None, int, int, int]]) -> pa.Table:
    names = ("correlation", "start_ns", "dur_ns", "thread")
    columns = [pa.array([row[at] for row in rows], pa.int64()) for at in range(4)]
    return pa.table(dict(zip(names, columns, strict=True)))


@given(_ROWS, _ROWS, _ROWS)
def test_only_an_id_of_one_call_links(
    calls: list[tuple[int | None, int, int, int]],
    kernels: list[tuple[int | None, int, int, int]],
    copies: list[tuple[int | None, int, int, int]],
) -> None:
    launches = Launches(_table(calls))
    linked = [launches.join(_table(rows)) for rows in (kernels, copies)]
    called = launches.with_runs(_table(calls), launches.first_runs(*linked))

    def of(number: int | None) -> list[tuple[int | None, int, int, int]]:
        return [call for call in calls if call[0] is not None and call[0] == number]

    for rows, table in zip((kernels, copies), linked, strict=True):
        for row, found in zip(rows, table.to_pylist(), strict=True):
            own = of(row[0])
            assert found["calls"] == (len(own) or None)
            launch = (found["launch_start_ns"], found["launch_dur_ns"], found["launch_thread"])
            assert launch == (own[0][1:] if len(own) == 1 else (None, None, None))
    for call, found in zip(calls, called.to_pylist(), strict=True):
        runs = [run[1] for run in (*kernels, *copies) if run[0] == call[0] is not None]
        alone = len(of(call[0])) == 1
        assert found["run_start_ns"] == (min(runs, default=None) if alone else None)


@given(_ROWS)
def test_copies_are_never_missed(rows: list[tuple[int | None, int, int, int]]) -> None:
    if len(set(rows)) < len(rows):
        assert may_have_copies(_table(rows))
    elif len({(row[0] or 0, *row[1:3]) for row in rows}) == len(rows):
        assert not may_have_copies(_table(rows))
