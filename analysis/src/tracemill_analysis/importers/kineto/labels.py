"""What the names and arguments of copies, waits and collectives say."""

from __future__ import annotations

import re
from functools import lru_cache

from tracemill_schema.vocab import MemoryOpKind

from tracemill_analysis.importers.kineto.model import Args

_DIRECTION = re.compile(r"\b([HDAP]to[HDAP])\b")
_LONG_DIRECTION = re.compile(r"(HOST|DEVICE)_?TO_?(HOST|DEVICE)")
_ENDS = re.compile(r"\((\w+) -> (\w+)\)")
_TARGET = re.compile(r"\((\w+)\)\s*$")
_KINDS = {str(kind).lower(): str(kind) for kind in MemoryOpKind}
_SYNC_WORDS = (
    ("wait", "stream_wait_event"),
    ("stream", "stream"),
    ("record", "other"),
    ("event", "event"),
    ("context", "device"),
    ("device", "device"),
)
_ELEMENT_BYTES = {
    "byte": 1, "char": 1, "bool": 1, "int8": 1, "uint8": 1, "float8e4m3fn": 1, "float8e5m2": 1,
    "half": 2, "bfloat16": 2, "short": 2, "float16": 2, "int16": 2, "float": 4, "int": 4,
    "float32": 4, "int32": 4, "double": 8, "long": 8, "float64": 8, "int64": 8,
    "complexfloat": 8, "complexdouble": 16,
}  # fmt: skip


@lru_cache(maxsize=4096)
def memory_kind(name: str, recorded: str | None) -> tuple[str, str | None, str | None]:
    """Return kind, source kind and destination kind of a memory operation.

    >>> memory_kind("Memcpy HtoD (Pageable -> Device)", None)
    ('HtoD', 'pageable', 'device')
    >>> memory_kind("Memset (Device)", None)
    ('memset', None, 'device')
    """
    if "memset" in name.lower():
        target = _TARGET.search(name)
        return str(MemoryOpKind.MEMSET), None, target.group(1).lower() if target else None
    ends = _ENDS.search(name)
    source, target_kind = (ends.group(1).lower(), ends.group(2).lower()) if ends else (None, None)
    for text in (name, str(recorded or "")):
        if short := _DIRECTION.search(text):
            kind = _KINDS.get(short.group(1).lower(), str(MemoryOpKind.OTHER))
            return kind, source, target_kind
        if long := _LONG_DIRECTION.search(text.upper()):
            letters = f"{long.group(1)[0]}to{long.group(2)[0]}"
            return _KINDS[letters.lower()], long.group(1).lower(), long.group(2).lower()
    return str(MemoryOpKind.OTHER), source, target_kind


@lru_cache(maxsize=256)
def sync_kind(label: str) -> str:
    """Return the kind of a synchronisation from its label, for example ``Stream Sync``."""
    plain = label.lower()
    return next((kind for word, kind in _SYNC_WORDS if word in plain), "other")


def message_bytes(args: Args) -> int | None:
    """Return a collective's message size: the larger of input and output; None if unknown."""
    counts = [n for n in (args.in_elements, args.out_elements) if isinstance(n, int)]
    size = element_bytes(str(args.dtype))
    return max(counts) * size if counts and size else None


@lru_cache(maxsize=256)
def element_bytes(dtype: str) -> int | None:
    """Return the size of an element of a type as recorders name it; None if unknown."""
    return _ELEMENT_BYTES.get(re.sub(r"[^a-z0-9]", "", dtype.lower()))
