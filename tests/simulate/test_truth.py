"""What the simulator says of its jobs is what the engine finds, for every scenario and seed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tracemill_analysis.pipeline import process_job
from tracemill_analysis.store import LocalStore
from tracemill_simulate import SCENARIOS, Settings, simulate

from tests.support.truth import assert_truth


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_figure_of_the_truth_is_met(tmp_path: Path, scenario: str, seed: int) -> None:
    simulate(tmp_path, Settings("job", scenario, nodes=2, gpus=1, steps=12, seed=seed))
    store = LocalStore(tmp_path)
    process_job(store, "job")
    assert_truth(store, "job")
