"""A hundred or so damaged inputs per importer; ``tools/fuzz_importers.py`` does thousands."""

from __future__ import annotations

import pytest

from tests.support.shared import shared_path
from tools.fuzzing.inputs import IMPORTERS, Inputs
from tools.fuzzing.trial import run_trial

_TRIALS = {"kineto": 100, "nsys-parquet": 40, "nsys-sqlite": 100, "raw": 100, "xplane": 100}
_WRITE_EVERY = 100
"""Trials that write their tables take several times as long as those that only read."""


@pytest.mark.parametrize("importer", IMPORTERS)
def test_damaged_inputs_give_counted_drops_or_one_clear_error(importer: str) -> None:
    inputs = Inputs(shared_path("traces"))
    wrong = {}
    for number in range(_TRIALS[importer]):
        outcome = run_trial(inputs, importer, 2, number, writes=number % _WRITE_EVERY == 0)
        if outcome.verdict == "wrong":
            wrong[number] = outcome.detail
    assert wrong == {}
