"""What is wrong with a simulated job, in numbers, and what a right report says of it."""

from __future__ import annotations

from dataclasses import dataclass

US = 1_000
MS = 1_000_000


@dataclass(frozen=True)
class Scenario:
    """Durations in nanoseconds.

    ``cause`` is the rule whose finding must come first, None if nothing may be found;
    ``also`` are rules that must be among the findings.
    """

    name: str
    doc: str
    cause: str | None
    also: tuple[str, ...] = ()
    input_ns: int = 200 * US
    """How long the loop waits for a batch."""
    kernel_percent: int = 100
    """Length of compute kernels, in percent of the catalogue's."""
    call_gap_ns: int = 2 * US
    """Host time between two launch calls."""
    collective_ns: int = 400 * US
    """Length of an all-reduce once the last rank has come."""
    reads_loss: bool = False
    """Whether the loop waits for each step's own result, and not only for the step before."""
    slow_rank_percent: int = 100
    """Length of the compute kernels of one rank, in percent of the others'."""


_ALL = (
    Scenario("healthy", "GPUs busy all along, communication hidden", None),
    Scenario(
        "input-bound",
        "the loop waits for data",
        "input_bound",
        input_ns=20 * MS,
        reads_loss=True,
    ),
    Scenario(
        "launch-bound",
        "kernels shorter than the time it takes to launch them, and a loop that reads each loss",
        "launch_bound",
        kernel_percent=12,
        call_gap_ns=26 * US,
        collective_ns=60 * US,
        reads_loss=True,
    ),
    Scenario(
        "comm-bound",
        "all-reduces longer than the computation that could hide them",
        "exposed_communication",
        collective_ns=5 * MS,
    ),
    Scenario(
        "straggler",
        "one rank computes half as fast again as the others, who wait for it",
        "rank_imbalance",
        slow_rank_percent=150,
    ),
    Scenario(
        "mixed",
        "long all-reduces, and a loop that waits for data as well",
        "exposed_communication",
        also=("input_bound",),
        input_ns=30 * MS,
        collective_ns=4 * MS,
    ),
)

SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in _ALL}
