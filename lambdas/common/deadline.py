"""Stops a function before Lambda does, so that its end is known and says what it was doing."""

from __future__ import annotations

from typing import Protocol

from tracemill_schema.errors import OutOfTimeError

MARGIN_MS = 20_000
"""Time that is left for one more write and the answer."""


class Context(Protocol):
    """What is used of Lambda's context object."""

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda ends the call."""


class Deadline:
    """A progress callback of the engine that raises OutOfTimeError when time runs out."""

    def __init__(self, context: Context, margin_ms: int = MARGIN_MS) -> None:
        self._context = context
        self._margin_ms = margin_ms

    def __call__(self, text: str, fraction: float) -> None:
        """Look at the time that is left."""
        left_ms = self._context.get_remaining_time_in_millis()
        if left_ms < self._margin_ms:
            done = f" ({fraction:.0%} done)" if fraction >= 0 else ""
            raise OutOfTimeError(f"{text}{done}: stopped {left_ms} ms before the time limit")
