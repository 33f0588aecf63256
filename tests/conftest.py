from __future__ import annotations

import pytest

from tests.support.synth import ACCOUNT, REGION, Assembly, synthesize


@pytest.fixture(scope="session")
def stacks(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """The stacks with default options."""
    return synthesize(tmp_path_factory.mktemp("synth"), account=ACCOUNT, region=REGION)
