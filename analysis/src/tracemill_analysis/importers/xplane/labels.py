"""What names and details of XPlane events say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from tracemill_schema.vocab import MemoryOpKind

_NUMBER = re.compile(r"\b(\w+):(\d+)\b")
_SIZES = re.compile(r"\b(grid|block):(\d+),(\d+),(\d+)")
_KIND = re.compile(r"\b(kind_src|kind_dst|kind|src|dst):(\w+)")
_STREAM = re.compile(r"Stream\s*#?\s*(\d+)")
_OP = re.compile(r"[^\s:$][^\s:]*:[A-Z_]\w*")
_API = re.compile(r"(cuda|hip|cu)(?=[A-Z])")
_DIRECTIONS = (
    (re.compile(r"H(ost)?(2|To)D", re.I), MemoryOpKind.HTOD),
    (re.compile(r"D(evice)?(2|To)H", re.I), MemoryOpKind.DTOH),
    (re.compile(r"D(evice)?(2|To)D", re.I), MemoryOpKind.DTOD),
    (re.compile(r"P(eer)?(2|To)P", re.I), MemoryOpKind.PTOP),
    (re.compile(r"H(ost)?(2|To)H", re.I), MemoryOpKind.HTOH),
)


@dataclass(frozen=True)
class KernelDetails:
    """Launch shape and resources; None where the recorder did not note them."""

    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    registers: int | None = None
    shared_bytes: int | None = None


@lru_cache(maxsize=65_536)
def kernel_details(text: str) -> KernelDetails:
    """Read the statistic ``kernel_details``.

    >>> kernel_details("regs:32 static_shared:16 dynamic_shared:0 grid:4,2,1 block:64,1,1")
    KernelDetails(grid=(4, 2, 1), block=(64, 1, 1), registers=32, shared_bytes=16)
    """
    sizes = {m[1]: (int(m[2]), int(m[3]), int(m[4])) for m in _SIZES.finditer(text)}
    numbers = {m[1]: int(m[2]) for m in _NUMBER.finditer(text) if len(m[2]) < 19}
    shared = [numbers[n] for n in ("static_shared", "dynamic_shared", "shm", "group_mem")
              if n in numbers]  # fmt: skip
    return KernelDetails(
        sizes.get("grid"), sizes.get("block"), numbers.get("regs"), sum(shared) if shared else None
    )


@dataclass(frozen=True)
class CopyDetails:
    """Kind, ends and size of a copy or memory set."""

    kind: MemoryOpKind
    source: str | None
    target: str | None
    size: int | None


@lru_cache(maxsize=65_536)
def copy_details(name: str, text: str) -> CopyDetails | None:
    """Read name and details of an event on a stream; None if it is no copy or memory set.

    >>> copy_details("MemcpyH2D", "kind_src:pinned kind_dst:device size:64 dest:0 async:1").size
    64
    """
    plain = name.lower()
    numbers = {m[1]: int(m[2]) for m in _NUMBER.finditer(text) if len(m[2]) < 19}
    ends = {m[1]: m[2].lower() for m in _KIND.finditer(text)}
    source = ends.get("kind_src", ends.get("src"))
    target = ends.get("kind_dst", ends.get("dst"))
    if plain.startswith("memset"):
        return CopyDetails(MemoryOpKind.MEMSET, None, ends.get("kind", target), numbers.get("size"))
    if not plain.startswith(("memcpy", "copy")) and "size" not in numbers:
        return None
    kind = next((k for rule, k in _DIRECTIONS if rule.search(name)), MemoryOpKind.OTHER)
    return CopyDetails(kind, source, target, numbers.get("size"))


def stream_of(line_name: str) -> int | None:
    """Return the number in the name of a stream's line; None for lines derived from streams.

    >>> stream_of("Stream #7(Compute)"), stream_of("XLA Modules")
    (7, None)
    """
    match = _STREAM.match(line_name)
    return int(match[1]) if match and len(match[1]) < 19 else None


@lru_cache(maxsize=65_536)
def api_call(name: str) -> tuple[str, str]:
    """Return name and interface of a call that launched GPU work.

    Old TensorFlow names such a call like what it launched.
    """
    match = _API.match(name)
    if match is None:
        return "(launch)", "runtime"
    driver = match[1] == "cu" or name.startswith("hipModule")
    return name, "driver" if driver else "runtime"


@lru_cache(maxsize=65_536)
def operator_category(name: str) -> str:
    """Return what kind of host range a name stands for.

    >>> [operator_category(n) for n in ("$file.py:3 f", "dense/MatMul:MatMul", "Thunks::Prepare")]
    ['python_function', 'tf_op', 'traceme']
    """
    if name.startswith("$"):
        return "python_function"
    return "tf_op" if _OP.fullmatch(name) else "traceme"
