"""The claim ledger: a nanosecond is at stake in one finding only.

Rules run in a fixed order and claim time on lanes. What an earlier rule has claimed is subtracted
from what a later one asks for, so the sum of all claims on a lane never exceeds its time. On a GPU,
idle time, exposed communication, exposed memory operations and compute also have a budget each
(their length in ``time_breakdown``), so that findings about idle time never add up to more idle
time than there was.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from tracemill_analysis.findings.base import NS_PER_HOUR
from tracemill_analysis.findings.tables import HOST_DEVICE, JobTables, Lane, Window
from tracemill_analysis.intervals import EMPTY, Intervals, length, merge, subtract


class Budget(Enum):
    """The part of a GPU's window a claim is taken from, by its column in ``time_breakdown``."""

    IDLE = "idle_ns"
    COMMUNICATION = "exposed_comm_ns"
    MEMORY = "exposed_mem_ns"
    COMPUTE = "compute_ns"


@dataclass
class Claim:
    """What one finding was granted, in nanoseconds by lane."""

    granted: dict[Lane, int] = field(default_factory=dict)

    def add(self, lane: Lane, granted_ns: int) -> None:
        """Note a grant; grants of nothing are not noted."""
        if granted_ns > 0:
            self.granted[lane] = self.granted.get(lane, 0) + granted_ns

    @property
    def total_ns(self) -> int:
        """Sum over the lanes."""
        return sum(self.granted.values())

    @property
    def at_stake_ns(self) -> int:
        """Wall-clock time: the mean over the lanes concerned, rounded down."""
        return self.total_ns // len(self.granted) if self.granted else 0

    @property
    def gpu_hours(self) -> float:
        """Sum over the GPUs concerned; 0.0 in a job without GPUs."""
        on_gpu = sum(ns for lane, ns in self.granted.items() if lane.device != HOST_DEVICE)
        return on_gpu / NS_PER_HOUR


class Ledger:
    """Keeps what has been claimed on every lane."""

    def __init__(self, tables: JobTables) -> None:
        self._claimed: dict[Lane, Intervals] = {}
        self._budgets: dict[tuple[Lane, Budget], int] = {
            (Lane(row["process_id"], row["device"]), budget): row[budget.value]
            for row in tables.gpu_windows
            for budget in Budget
        }

    def claim(
        self,
        lane: Lane,
        window: Window,
        amount_ns: int | None = None,
        budget: Budget | None = None,
    ) -> int:
        """Claim ``amount_ns`` (default: all) of a window and return what was granted.

        Where inside the window the time lies is often not known from aggregates; the earliest
        nanoseconds that are still free are taken.
        """
        free = subtract(_interval(window), self._claimed.get(lane, EMPTY))
        available = length(free)
        wanted = available if amount_ns is None else min(amount_ns, available)
        if budget is not None:
            wanted = min(wanted, self.left(lane, budget))
        if wanted <= 0:
            return 0
        self.charge(lane, budget, wanted)
        taken = _earliest(free, wanted)
        self._claimed[lane] = merge(self._claimed.get(lane, EMPTY), taken)
        return wanted

    def left(self, lane: Lane, budget: Budget) -> int:
        """Return what is left of a budget; a lane without GPU has no limit but its windows."""
        if lane.device == HOST_DEVICE:
            return int(np.iinfo(np.int64).max)
        return self._budgets.get((lane, budget), 0)

    def charge(self, lane: Lane, budget: Budget | None, amount_ns: int) -> None:
        """Take time off a budget: part of an earlier claim is known to be of this kind."""
        if budget is not None and (lane, budget) in self._budgets:
            rest = self._budgets[lane, budget] - max(0, amount_ns)
            self._budgets[lane, budget] = max(0, rest)

    def claimed_ns(self, lane: Lane) -> int:
        """Return how much of a lane is claimed by all findings so far."""
        return length(self._claimed.get(lane, EMPTY))


def _interval(window: Window) -> Intervals:
    if window.length_ns == 0:
        return EMPTY
    return Intervals(
        np.array([window.start_ns], dtype=np.int64), np.array([window.end_ns], dtype=np.int64)
    )


def _earliest(intervals: Intervals, amount_ns: int) -> Intervals:
    """Return the earliest ``amount_ns`` of a set."""
    lengths = intervals.ends - intervals.starts
    before = np.cumsum(lengths) - lengths
    keep = before < amount_ns
    starts, ends, before = intervals.starts[keep], intervals.ends[keep], before[keep]
    return Intervals(starts, np.minimum(ends, starts + (amount_ns - before)))
