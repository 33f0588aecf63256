"""Ways to damage bytes and values. Everything follows from the given random generator."""

from __future__ import annotations

import gzip
import io
import random
from typing import Any

HUGE_INTEGERS = (-1, 0, 1 << 31, 1 << 32, (1 << 53) + 1, 1 << 62, (1 << 63) - 1, -(1 << 63))
_BOMB_BYTES = 120 << 20
_CHUNK = bytes(1 << 20)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Return ``data`` with one to three kinds of damage to its bytes."""
    for _ in range(rng.randint(1, 3)):
        data = rng.choice(_DAMAGE)(data, rng)
    return data


def value(rng: random.Random) -> Any:
    """Return a value that has nothing to do with what belongs there."""
    kind = rng.randrange(12)
    if kind < 3:
        return rng.choice(HUGE_INTEGERS) + rng.randint(-1, 1) * (kind > 0)
    return (
        None, True, 1.5, float("nan"), float("inf"), "", "x" * rng.choice((1, 9_000, 3_000_000)),
        "\x00\x1f\u202e\ufffd", "12.5.7",
    )[kind - 3]  # fmt: skip


def bomb(head: bytes) -> bytes:
    """Return a gzip stream that begins with ``head`` and goes on with a lot of nothing."""
    target = io.BytesIO()
    with gzip.GzipFile(fileobj=target, mode="wb", mtime=0, compresslevel=1) as out:
        out.write(head)
        for _ in range(_BOMB_BYTES // len(_CHUNK)):
            out.write(_CHUNK)
    return target.getvalue()


def _flip(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 2, 8, 64))):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _remove(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data) + 1)
    return data[:start] + data[start + rng.randint(1, 300) :]


def _insert(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data) + 1)
    return data[:start] + rng.randbytes(rng.choice((1, 4, 100))) + data[start:]


def _repeat(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data) + 1)
    part = data[start : start + rng.randint(1, 2_000)]
    return data[:start] + part * rng.randint(2, 5) + data[start + len(part) :]


def _overwrite(data: bytes, rng: random.Random) -> bytes:
    start, length = rng.randrange(len(data) + 1), rng.choice((1, 2, 4, 8, 64, 4096))
    filler = rng.choice((b"\x00", b"\xff", b"\x80", b"\x7f"))
    return data[:start] + filler * length + data[start + length :]


def _swap(data: bytes, rng: random.Random) -> bytes:
    length = rng.randint(1, 500)
    one, two = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    if two - one < length:
        return data
    first, second = data[one : one + length], data[two : two + length]
    return data[:one] + second + data[one + length : two] + first + data[two + length :]


_DAMAGE = (_flip, _flip, _flip, _cut, _remove, _insert, _repeat, _overwrite, _overwrite, _swap)
