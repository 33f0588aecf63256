"""What ends a recording when the script does not: exit, an uncaught exception, a worker's end."""

from __future__ import annotations

import atexit
import os
import sys
from types import TracebackType
from typing import Any

from tracemill import _native, _session

_failed_with: str | None = None
_failed = False


def install() -> None:
    """Register the hooks, once per process. (SIGTERM is handled by the native recorder.)"""
    atexit.register(at_exit)
    previous = sys.excepthook

    def hook(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        mark_failed(kind.__name__)
        previous(kind, error, traceback)

    sys.excepthook = hook
    os.register_at_fork(after_in_child=_after_fork_in_child)


def mark_failed(exception: str | None) -> None:
    """Remember that the script failed; only the exception's type, a message may hold secrets."""
    global _failed, _failed_with
    _failed = True
    _failed_with = exception


def at_exit() -> None:
    """Write everything out; does nothing if the recording was stopped before."""
    if _native.is_recording():
        _session.stop("exit", _failed, _failed_with)
    uploads = sys.modules.get("tracemill._upload")
    if uploads is not None:
        uploads.finish()


def _after_fork_in_child() -> None:
    """Workers of ``multiprocessing`` end without the exit hooks; they have their own."""
    uploads = sys.modules.get("tracemill._upload")
    if uploads is not None:
        uploads.forget()
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        try:
            util.register_after_fork(at_exit, _add_finalizer)
        except Exception:  # an unusual multiprocessing: the last interval may be lost, no more
            return


def _add_finalizer(_: Any) -> None:
    util = sys.modules["multiprocessing.util"]
    util.Finalize(None, at_exit, exitpriority=-100)
