"""The API of SageMaker Profiler's package, on top of the recorder.

``smprof`` and ``smppy`` of the distribution ``tracemill-smprof`` forward to this module.
"""

from __future__ import annotations

import os
from typing import Any

from tracemill import (
    _generated,
    _guard,
    _identity,
    _native,
    _session,
    annotate,
    annotation_begin,
    annotation_end,
)

__all__ = ["Config", "SMProfiler", "annotate", "annotation_begin", "annotation_end"]

_ACCEPTED = {
    "EnableCuda",
    "EnablePerf",
    "EnableForkFollow",
    "BucketCount",
    "BucketSizeMB",
    "Compression",
    "RecordFile",
}
"""Keys seen in scripts written for SageMaker Profiler."""


class Config:
    """Settings: a dict of strings in ``profiler``. Tracemill's own option names work there too."""

    def __init__(self) -> None:
        self.profiler: dict[str, Any] = {}


class SMProfiler:
    """The profiler; ``instance()`` gives the one of this process."""

    _instance: SMProfiler | None = None

    def __init__(self) -> None:
        self._options: dict[str, Any] = {}

    @classmethod
    def instance(cls) -> SMProfiler:
        """Return the profiler of this process."""
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    def configure(self, config: Any = None) -> None:
        """Take settings for the next start. Unknown keys are said once on stderr and ignored."""
        self._options = _translate(getattr(config, "profiler", None))

    def start_profiling(self) -> None:
        """Start recording; does nothing if a recording already runs."""
        try:
            _session.start(self._options)
        except ValueError as error:
            _guard.say(f"recording was not started: {error}")

    def stop_profiling(self) -> None:
        """End the recording; does nothing if none runs."""
        if _native.is_recording():
            _session.stop("stopped")


def _translate(profiler: Any) -> dict[str, Any]:
    settings = dict(profiler) if isinstance(profiler, dict) else {}
    options = {
        key: value
        for key, value in settings.items()
        if key in _generated.OPTIONS or key == "schedule"
    }
    unknown = sorted(str(key) for key in settings if key not in _ACCEPTED and key not in options)
    if unknown:
        _guard.say(f"settings without a meaning here are ignored: {', '.join(unknown)}")
    folder = os.path.dirname(str(settings.get("RecordFile", "")))
    given = "output" in options or "TRACEMILL_OUTPUT" in os.environ
    if folder and "%" not in folder and not given and not _identity.in_sagemaker():
        options["output"] = folder
    return options
