"""Starts recording with the interpreter; called from ``tracemill_autostart.pth``."""

from __future__ import annotations

import os
import sys

_HELPERS = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")


def run() -> None:
    """Start if TRACEMILL_AUTOSTART asks for it. Never raises: Python itself is starting."""
    try:
        from tracemill import _options, _session

        env = os.environ.get("TRACEMILL_AUTOSTART", "0")
        if not _options.parse("autostart", bool, env) or _is_helper():
            return
        _session.start({})
    except Exception as error:
        from tracemill._guard import say

        say(f"recording was not started: {error}")


def _is_helper() -> bool:
    """Whether this is one of the processes that multiprocessing starts for itself."""
    command = " ".join(getattr(sys, "orig_argv", ()))
    return any(helper in command for helper in _HELPERS)
