"""Tells what the times of a trace count from."""

from __future__ import annotations

_PLAUSIBLE_UNIX_NS = (946_684_800_000_000_000, 4_102_444_800_000_000_000)
"""2000 and 2100."""


def is_unix(time_ns: int | None) -> bool:
    """Tell whether a time can be one of a recording in Unix time."""
    low, high = _PLAUSIBLE_UNIX_NS
    return time_ns is not None and low <= time_ns < high


def clock_name(start_ns: int | None) -> str:
    """Return ``unix`` or ``monotonic``, the words of ``processes.clock``."""
    return "unix" if is_unix(start_ns) else "monotonic"
