"""Tracemill's recorder: named ranges and system samples of a training process.

    import tracemill

    tracemill.start(job="my-job")
    for i, batch in enumerate(loader):
        with tracemill.step(i), tracemill.annotate("Forward"):
            ...
    tracemill.stop()

Nothing here raises into the script except ``start``, ``profile`` and ``schedule`` when they are
given unknown options or unusable values. Importing is cheap; the rest is loaded at the first start.
"""

from __future__ import annotations

from tracemill._native import annotate, annotation_begin, annotation_end, is_recording, step

TYPE_CHECKING = False  # importing `typing` would take ten times as long as all the rest
if TYPE_CHECKING:
    from typing import Any

    from tracemill._profile import profile
    from tracemill._schedule import Schedule, schedule

__version__ = "0.1.0"
__all__ = [
    "Schedule",
    "annotate",
    "annotation_begin",
    "annotation_end",
    "is_recording",
    "profile",
    "schedule",
    "start",
    "status",
    "step",
    "stop",
]

_LAZY = {
    "profile": "tracemill._profile",
    "schedule": "tracemill._schedule",
    "Schedule": "tracemill._schedule",
}


def start(**options: Any) -> None:
    """Start recording; does nothing if a recording already runs.

    Options are those of docs/options.md (keyword, else environment, else default) and ``schedule``.
    Raises ValueError for an unknown option or an unusable value. Whatever else goes wrong is said
    once on stderr and in ``status()``, and the script goes on unrecorded.
    """
    from tracemill import _session

    _session.start(options)


def stop() -> None:
    """End the recording and write everything out; does nothing if none runs.

    A control file or signal is no longer followed.
    """
    import sys

    if "tracemill._on_demand" in sys.modules:
        from tracemill import _on_demand

        _on_demand.disarm()
    if is_recording():
        from tracemill import _session

        _session.stop("stopped")


def status() -> dict[str, Any]:
    """Tell what the recorder does: state, folder, bytes written, drops by reason, notices."""
    from tracemill import _session

    return _session.status()


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        import importlib

        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'tracemill' has no attribute {name!r}")
