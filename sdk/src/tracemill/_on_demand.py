"""Recording while it is asked for: as long as a file exists, or from one signal to the next.

A thread looks at the file twice a second; a signal handler only notes that the signal came. Each
time is a recording of its own in the process's folder, with ``asked_by`` in its first block.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from types import FrameType
from typing import Any

from tracemill import _native, _session
from tracemill._guard import UsageError, guarded, say

POLL_S = 0.5
JOIN_S = 5.0

_control: _Control | None = None


class _Control:
    """What is asked for, and the thread that follows it."""

    def __init__(self, given: dict[str, Any], file: str | None) -> None:
        self._given = given
        self._file = file
        self._signalled = False
        self._recording = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tracemill-control", daemon=True)

    def start(self) -> None:
        self._look()
        self._thread.start()

    def end(self) -> None:
        self._ended.set()

    def end_and_wait(self) -> None:
        """End before the interpreter does: a recording that is being closed is closed whole."""
        self._ended.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(JOIN_S)

    def signalled(self) -> None:
        self._signalled = not self._signalled

    def _run(self) -> None:
        while not self._ended.wait(POLL_S):
            self._look()

    @guarded
    def _look(self) -> None:
        by_file = self._file is not None and os.path.exists(self._file)
        wanted = by_file or self._signalled
        if wanted == self._recording:
            return
        self._recording = wanted
        if not wanted:
            _session.stop("stopped")
        elif not _native.is_recording():
            _session.start(self._given, asked_by="file" if by_file else "signal")


def arm(given: dict[str, Any], options: dict[str, Any]) -> None:
    """Follow the options ``control_file`` and ``control_signal`` from now on, once per process.

    Raises UsageError for a name that is no signal's.
    """
    global _control
    if _control is not None:
        return
    number = _signal_number(options["control_signal"]) if options["control_signal"] else None
    _control = _Control(given, options["control_file"])
    if number is not None:
        _install(number, _control)
    atexit.register(_control.end_and_wait)
    _control.start()


def disarm() -> None:
    """Ask for nothing any more; a recording that runs is left to its caller."""
    global _control
    if _control is not None:
        _control.end()
        _control = None


def _signal_number(name: str) -> int:
    text = name.upper()
    found = getattr(signal, text if text.startswith("SIG") else f"SIG{text}", None)
    if not isinstance(found, signal.Signals) or found in (signal.SIGKILL, signal.SIGSTOP):
        raise UsageError(f"option control_signal: {name!r} is no signal that can be taken")
    return int(found)


def _install(number: int, control: _Control) -> None:
    previous = signal.getsignal(number)

    def handler(received: int, frame: FrameType | None) -> None:
        control.signalled()
        if callable(previous):
            previous(received, frame)

    try:
        signal.signal(number, handler)
    except ValueError:  # not the main thread
        say("control_signal is not followed: recording was started outside the main thread")
