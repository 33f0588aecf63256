"""Clocks of simulated nodes: each boots at another time, and no two tell the same time of day."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

EPOCH_NS = 1_767_225_600_000_000_000
"""True time at which every simulated job begins (2026-01-01): a seed gives the same bytes."""

_MIN_ERROR_NS, _MAX_ERROR_NS = 800_000, 9_000_000
_LONGEST_UP_NS = 30 * 86_400 * 10**9
DRIFT_NS = 40
"""By how much the two clocks of a node run apart during the job."""


@dataclass(frozen=True)
class NodeClock:
    """``booted_ns`` is the true time at which CLOCK_MONOTONIC was zero; ``error_ns`` what
    CLOCK_REALTIME is ahead of true time."""

    booted_ns: int
    error_ns: int

    def monotonic_ns(self, true_ns: int) -> int:
        """CLOCK_MONOTONIC at a true time."""
        return true_ns - self.booted_ns

    def realtime_ns(self, true_ns: int) -> int:
        """CLOCK_REALTIME at a true time."""
        return true_ns + self.error_ns


def make_clocks(nodes: int, rng: np.random.Generator) -> list[NodeClock]:
    """Return one clock per node; the first one's time of day is the true one."""
    clocks = []
    for node in range(nodes):
        booted = EPOCH_NS - int(rng.integers(10**12, _LONGEST_UP_NS))
        error = int(rng.integers(_MIN_ERROR_NS, _MAX_ERROR_NS)) * int(rng.choice((-1, 1)))
        clocks.append(NodeClock(booted, error if node else 0))
    return clocks
