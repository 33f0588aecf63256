"""Finds launch and run of each other by their correlation id, for rows held in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Int64 = NDArray[np.int64]

_KEYS = ("correlation", "start_ns", "dur_ns")
_LATEST = np.iinfo(np.int64).max


class Launches:
    """The calls of a part by correlation id: how many share one, and their earliest values."""

    def __init__(self, calls: Any) -> None:
        known = calls.filter(calls.column("correlation").is_valid())
        ids = _numbers(known, "correlation")
        order = np.argsort(ids, kind="stable")
        begins = _run_starts(ids[order])
        self.ids = ids[order][begins]
        self.calls = np.diff(np.append(begins, len(ids)))
        self._first = {
            name: _least(_numbers(known, name)[order], begins)
            for name in ("start_ns", "dur_ns", "thread")
        }

    def join(self, runs: Any) -> Any:
        """Return GPU events with ``calls`` (null: no launch) and what is known of the launch."""
        place, known = self._places(runs)
        found = self.calls[place] if len(self.calls) else np.zeros(len(place), np.int64)
        alone = known & (found == 1)
        runs = runs.append_column("calls", pa.array(found, mask=~known))
        for name, source in (
            ("launch_start_ns", "start_ns"),
            ("launch_dur_ns", "dur_ns"),
            ("launch_thread", "thread"),
        ):
            values = self._first[source]
            taken = values[place] if len(values) else np.zeros(len(place), np.int64)
            runs = runs.append_column(name, pa.array(taken, mask=~alone))
        return runs

    def first_runs(self, *linked: Any) -> Int64:
        """Return the earliest start of the runs of each id, of ids that one call has."""
        first = np.full(len(self.ids), _LATEST)
        for runs in linked:
            place, known = self._places(runs)
            alone = known & (_numbers(runs, "calls") == 1)
            np.minimum.at(first, place[alone], _numbers(runs, "start_ns")[alone])
        return first

    def with_runs(self, calls: Any, first_runs: Int64) -> Any:
        """Return calls with ``run_start_ns``, null where none is known."""
        place, known = self._places(calls)
        starts = first_runs[place] if len(first_runs) else np.zeros(len(place), np.int64)
        missing = ~known | (starts == _LATEST)
        return calls.append_column("run_start_ns", pa.array(starts, mask=missing))

    def _places(self, rows: Any) -> tuple[Int64, NDArray[np.bool_]]:
        """Place of each row's id among the ids, and whether it is there."""
        ids = _numbers(rows, "correlation")
        if not len(self.ids):
            return np.zeros(len(ids), np.int64), np.zeros(len(ids), np.bool_)
        place = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        valid = rows.column("correlation").is_valid().to_numpy()
        return place, valid & (self.ids[place] == ids)


def may_have_copies(rows: Any) -> bool:
    """Tell if two rows agree in id, start and duration, as exact copies do."""
    columns = [_numbers(rows, name) for name in _KEYS]
    order = np.argsort(columns[1], kind="stable")
    start = columns[1][order]
    tied = np.flatnonzero(start[1:] == start[:-1])
    if not len(tied):
        return False
    members = order[np.unique(np.concatenate((tied, tied + 1)))]
    keys = np.stack([column[members] for column in columns])
    keys = keys[:, np.lexsort(keys)]
    return bool((keys[:, 1:] == keys[:, :-1]).all(axis=0).any())


def _numbers(rows: Any, name: str) -> Int64:
    column = rows.column(name)
    if column.null_count:
        column = pc.fill_null(column, 0)
    return np.asarray(column.to_numpy(), np.int64)


def _run_starts(values: Int64) -> Int64:
    if not len(values):
        return np.empty(0, np.int64)
    return np.append(0, np.flatnonzero(values[1:] != values[:-1]) + 1)


def _least(values: Int64, begins: Int64) -> Int64:
    return np.minimum.reduceat(values, begins) if len(begins) else values[:0]
