"""A recording in the test's own process, decoded when it has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tracemill

from tests.sdk.fake_cuda.build import build
from tests.support import sanitizers, tmraw


class Recorder:
    """Starts recordings below a folder of the test and reads them back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self, **options: Any) -> None:
        settings = {"max_steps": 0, "cpu_interval_ms": 0, "job": "job", **options}
        tracemill.start(output=str(self.folder), **settings)
        assert tracemill.is_recording()

    def stop(self) -> list[tmraw.Segment]:
        tracemill.stop()
        assert not tracemill.is_recording()
        return tmraw.read_all(self.folder)

    def record(self, body: Callable[[], Any], **options: Any) -> tmraw.Segment:
        """Record while ``body`` runs and return the only segment."""
        self.start(**options)
        try:
            body()
        finally:
            segments = self.stop()
        (segment,) = segments
        return segment


@pytest.fixture
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "TRACEMILL_JOB", "TRACEMILL_OUTPUT"):
        monkeypatch.delenv(name, raising=False)
    yield Recorder(tmp_path / "store")
    tracemill.stop()


@pytest.fixture(scope="session")
def fakes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the stand-ins for the CUDA libraries."""
    return build(tmp_path_factory.mktemp("fake_cuda"), *sanitizers.compiler_flags())
