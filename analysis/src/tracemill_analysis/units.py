"""Numbers for people. Exact values stand beside them in titles and in report.json."""

from __future__ import annotations

import math

_TIME = ((3_600_000_000_000, "h"), (60_000_000_000, "min"), (1_000_000_000, "s"))
_SMALL_TIME = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))
_BYTES = ((1 << 50, "PiB"), (1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def significant(value: float, digits: int = 3) -> str:
    """Write a number with about ``digits`` significant digits, never in exponent form."""
    # Round first: 999.6 has three digits and no decimals, but 1,000 after rounding.
    magnitude = abs(float(f"{value:.{digits - 1}e}"))
    if magnitude == 0:
        return "0"
    decimals = digits - 1
    while decimals > 0 and magnitude >= 10:
        magnitude /= 10
        decimals -= 1
    while magnitude < 1 and decimals < 9:
        magnitude *= 10
        decimals += 1
    return f"{value:.{decimals}f}"


def duration(ns: float) -> str:
    """Write nanoseconds: ``1.23 ms``, ``51 ms``, ``4.5 min``."""
    sign = "-" if ns < 0 else ""
    amount = abs(ns)
    if amount >= 120_000_000_000:
        for size, unit in _TIME[:2]:
            if amount >= size * (2 if unit == "h" else 1):
                return f"{sign}{significant(amount / size)} {unit}"
    for size, unit in _SMALL_TIME:
        # 999.9996 µs would be written "1000 µs": move up a unit where rounding reaches it.
        if amount >= size * 0.9995:
            return f"{sign}{significant(amount / size)} {unit}"
    return f"{sign}{amount:.0f} ns"


def size(count: float) -> str:
    """Write bytes: ``1.5 MiB``."""
    for unit_bytes, unit in _BYTES:
        if abs(count) >= unit_bytes:
            return f"{significant(count / unit_bytes)} {unit}"
    return f"{count:.0f} B"


def bandwidth(bytes_per_second: float) -> str:
    """Write a bandwidth in decimal units, as vendors state them: ``12.3 GB/s``."""
    for unit_bytes, unit in ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")):
        if abs(bytes_per_second) >= unit_bytes:
            return f"{significant(bytes_per_second / unit_bytes)} {unit}"
    return f"{bytes_per_second:.0f} B/s"


def percent(share: float) -> str:
    """Write a share of 0..1: ``41 %``, ``4.1 %``, ``0.04 %``; ``< 0.01 %`` for less."""
    value = share * 100
    if value == 0:
        return "0 %"
    if abs(value) < 0.01:
        return "< 0.01 %"
    if abs(value) >= 9.95:
        # 99.97 % is not 100 %: never round up to the whole.
        return f"{math.floor(value * 10) / 10} %" if 99 <= value < 100 else f"{round(value)} %"
    return f"{value:.1f} %" if abs(value) >= 0.95 else f"{value:.2f} %"


def integer(count: int) -> str:
    """Write a count with thousands separated: ``1,234,567``."""
    return f"{count:,}"


def plural(count: int, noun: str) -> str:
    """Write a count with its noun: ``1 node``, ``2 nodes``, ``3 processes``."""
    ending = "" if count == 1 else "es" if noun.endswith("s") else "s"
    return f"{count:,} {noun}{ending}"


def factor(ratio: float) -> str:
    """Write a ratio: ``8.1x``, ``20x``."""
    return f"{ratio:.1f}x" if ratio < 10 else f"{ratio:,.0f}x"


def hours(gpu_hours: float) -> str:
    """Write GPU time: ``12.4 GPU-hours``, or a duration where that would be next to nothing."""
    if gpu_hours >= 0.1:
        amount = significant(gpu_hours) if gpu_hours < 1000 else f"{gpu_hours:,.0f}"
        return f"{amount} GPU-hours"
    return f"{duration(gpu_hours * 3.6e12)} over all GPUs"


def at_stake(at_stake_ns: int, gpu_hours: float) -> str:
    """Write what a finding costs, per GPU and (where it is another number) over all GPUs."""
    if at_stake_ns == 0:
        return "no time can be put to it"
    one_gpu = abs(gpu_hours * 3.6e12 - at_stake_ns) <= 1
    if gpu_hours == 0 or (one_gpu and gpu_hours < 0.1):
        return f"{duration(at_stake_ns)} at stake"
    per_gpu = "" if one_gpu else " per GPU"
    return f"{duration(at_stake_ns)} at stake{per_gpu}, {hours(gpu_hours)}"
