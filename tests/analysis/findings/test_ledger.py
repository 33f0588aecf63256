"""The claim ledger: no nanosecond is at stake twice."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tracemill_analysis.findings.ledger import Budget, Claim, Ledger
from tracemill_analysis.findings.tables import HOST_DEVICE, JobTables, Lane, Window

from tests.support.aggregates import gpu_window, job_with
from tests.support.tables import JOB

GPU = Lane(0, 0)
HOST = Lane(0, HOST_DEVICE)


class _NoGpu(JobTables):
    """A job without tables."""

    def __init__(self) -> None:
        self.gpu_windows = []


def _gpu_ledger(folder: Path) -> Ledger:
    store = job_with(folder, time_breakdown=[gpu_window(400, 100, 50, 450)])
    return Ledger(JobTables(store, JOB))


def test_a_second_claim_gets_what_the_first_left() -> None:
    ledger = Ledger(_NoGpu())
    assert ledger.claim(HOST, Window(0, 100), 60) == 60
    assert ledger.claim(HOST, Window(0, 100)) == 40
    assert ledger.claim(HOST, Window(0, 100)) == 0
    assert ledger.claimed_ns(HOST) == 100


def test_earliest_free_nanoseconds_are_taken() -> None:
    ledger = Ledger(_NoGpu())
    ledger.claim(HOST, Window(10, 20))
    assert ledger.claim(HOST, Window(0, 100), 30) == 30  # 0..10 and 20..40
    assert ledger.claim(HOST, Window(20, 40)) == 0
    assert ledger.claim(HOST, Window(40, 41)) == 1


def test_lanes_do_not_share() -> None:
    ledger = Ledger(_NoGpu())
    assert ledger.claim(Lane(0, 0), Window(0, 10)) == 10
    assert ledger.claim(Lane(0, 1), Window(0, 10)) == 10
    assert ledger.claim(Lane(1, 0), Window(0, 10)) == 10


def test_empty_and_reversed_windows_give_nothing() -> None:
    ledger = Ledger(_NoGpu())
    assert ledger.claim(HOST, Window(5, 5)) == 0
    assert ledger.claim(HOST, Window(9, 5)) == 0
    assert ledger.claim(HOST, Window(0, 5), -3) == 0


def test_idle_claims_never_exceed_the_idle_time(tmp_path: Path) -> None:
    ledger = _gpu_ledger(tmp_path)
    assert ledger.claim(GPU, Window(0, 1000), 300, Budget.IDLE) == 300
    assert ledger.claim(GPU, Window(0, 1000), 300, Budget.IDLE) == 150
    assert ledger.left(GPU, Budget.IDLE) == 0
    assert ledger.claim(GPU, Window(0, 1000), None, Budget.COMMUNICATION) == 100
    assert ledger.claim(GPU, Window(0, 1000), None, Budget.MEMORY) == 50
    assert ledger.claim(GPU, Window(0, 1000), None, Budget.COMPUTE) == 400
    assert ledger.claimed_ns(GPU) == 1000


def test_a_charge_reduces_a_budget_without_claiming(tmp_path: Path) -> None:
    ledger = _gpu_ledger(tmp_path)
    ledger.charge(GPU, Budget.IDLE, 440)
    assert ledger.claim(GPU, Window(0, 1000), None, Budget.IDLE) == 10
    ledger.charge(GPU, Budget.IDLE, 9999)
    assert ledger.left(GPU, Budget.IDLE) == 0


def test_claim_is_the_mean_per_lane_and_the_sum_in_gpu_hours() -> None:
    claim = Claim()
    claim.add(Lane(0, 0), 3_600_000_000_000)
    claim.add(Lane(1, 0), 1_800_000_000_000)
    claim.add(Lane(2, 0), 0)
    assert claim.at_stake_ns == 2_700_000_000_000
    assert claim.gpu_hours == 1.5


def test_a_job_without_gpus_costs_no_gpu_hours() -> None:
    claim = Claim()
    claim.add(HOST, 5)
    assert (claim.at_stake_ns, claim.gpu_hours) == (5, 0.0)


requests = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 40), st.one_of(st.none(), st.integers(-2, 50))),
    max_size=12,
)


@given(requests)
def test_grants_equal_a_model_that_marks_every_nanosecond(
    asked: list[tuple[int, int, int | None]],
) -> None:
    ledger = Ledger(_NoGpu())
    free = set(range(120))
    total = 0
    for start, length, amount in asked:
        window = [t for t in range(start, start + length) if t in free]
        taken = window if amount is None else window[: max(0, amount)]
        free -= set(taken)
        granted = ledger.claim(HOST, Window(start, start + length), amount)
        assert granted == len(taken)
        total += granted
    assert ledger.claimed_ns(HOST) == total == 120 - len(free)
