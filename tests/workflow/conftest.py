"""One installation per test session, and recordings for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tracemill_schema import layout

from tests.support import recording
from tests.support.aws.deployed import deployed
from tests.support.aws.system import System
from tests.support.synth import Assembly

_TRAINING = """
import time
import tracemill

tracemill.start()
for number in range(3):
    with tracemill.step(number):
        with tracemill.annotate("Forward"):
            time.sleep(0.02)
tracemill.stop()
"""


@pytest.fixture(scope="session")
def system(stacks: Assembly, tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    with deployed(stacks, tmp_path_factory.mktemp("system")) as system:
        yield system


@pytest.fixture(autouse=True)
def _no_earlier_notices(system: System) -> None:
    """A run that an earlier test gave up waiting for is not this one's."""
    system.wait_until_quiet()
    system.notices()


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A recording of two ranks: segments by key, below the prefix of the job ``job``."""
    folder = tmp_path_factory.mktemp("recorded")
    for rank in range(2):
        recording.run(
            folder, _TRAINING, RANK=str(rank), WORLD_SIZE="2", TRACEMILL_CPU_INTERVAL_MS="20"
        )
    prefix = folder / "store" / layout.raw_prefix("job")
    return {
        str(path.relative_to(prefix)): path.read_bytes() for path in sorted(prefix.rglob("*.tmraw"))
    }


@pytest.fixture
def put_recording(system: System, recorded: dict[str, bytes]) -> Callable[[str], list[str]]:
    """Puts the two ranks' recording under a job's name; returns the keys."""

    def put(job: str) -> list[str]:
        for key, content in recorded.items():
            system.put(layout.raw_prefix(job) + key, content)
        return [layout.raw_prefix(job) + key for key in recorded]

    return put
