"""Reads what a trace says of its process, without its events."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracemill_schema.errors import UnknownFormatError

from tracemill_analysis.importers.kineto.categories import KIND_BY_CATEGORY
from tracemill_analysis.importers.kineto.header import Header, read_header, trailer_facts
from tracemill_analysis.importers.source import Source

_TAIL_BYTES = 1 << 20
_INFLATE_LIMIT_BYTES = 8 << 30
_KINETO_KEYS = frozenset({"schemaVersion", "deviceProperties", "distributedInfo"})
_CATEGORY = re.compile(rb'"cat"\s*:\s*"([^"]{1,64})"')
_INFO_KEY = re.compile(rb'"distributedInfo"\s*:\s*\{')


@dataclass(frozen=True)
class KinetoProbe:
    """What the keys around the events say; None where they say nothing usable."""

    rank_from_content: int | None
    world_size: int | None


def probe(path: Path) -> KinetoProbe:
    """Read rank and world size; they may stand before or behind the events.

    Reads the start and the last MiB of a plain file. A compressed file has to be run through to
    reach its end; memory stays bounded. UnknownFormatError if the file is no trace, InputError if
    it cannot be read.
    """
    with Source(path) as source:
        header = read_header(source)
        _require_known_category(source, header)
        if "distributedInfo" in header.facts or header.bare:
            return distributed(header.facts)
        return distributed(trailer_facts(_behind_events(_tail(path, source, header))))


def distributed(facts: dict[str, Any]) -> KinetoProbe:
    """Return rank and world size from the keys of a trace."""
    info = facts.get("distributedInfo")
    info = info if isinstance(info, dict) else {}
    return KinetoProbe(_count(info.get("rank")), _count(info.get("world_size")))


def probe_start(path: Path) -> KinetoProbe | None:
    """Read rank and world size from the start of a trace, cut off anywhere.

    None if the start does not tell; then ``probe`` needs the whole file.
    """
    with Source(path) as source:
        try:
            facts = read_header(source).facts
        except UnknownFormatError:
            return None
    return distributed(facts) if "distributedInfo" in facts else None


def _require_known_category(source: Source, header: Header) -> None:
    """Refuse Chrome traces of other tools, as far as the first MiB shows."""
    if _KINETO_KEYS & header.facts.keys():
        return
    header.rest += source.read(max(_TAIL_BYTES - len(header.rest), 0))
    categories = {found.decode("utf-8", "replace") for found in _CATEGORY.findall(header.rest)}
    is_whole = len(header.rest) < _TAIL_BYTES
    if not categories & KIND_BY_CATEGORY.keys() and (categories or is_whole):
        raise UnknownFormatError(
            f"{source.path.name}: a Chrome trace, but with no event of a kind that the PyTorch "
            "profiler writes"
        )


def _count(value: Any) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) < 10:
        value = int(value)
    usable = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31
    return value if usable else None


def _tail(path: Path, source: Source, header: Header) -> bytes:
    if not source.compressed:
        with path.open("rb") as file:
            file.seek(max(source.size_bytes - _TAIL_BYTES, header.position))
            return file.read()
    last: deque[bytes] = deque([header.rest], maxlen=2)
    inflated = 0
    while (more := source.read(_TAIL_BYTES)) and inflated < _INFLATE_LIMIT_BYTES:
        last.append(more)
        inflated += len(more)
    return b"".join(last)


def _behind_events(tail: bytes) -> bytes:
    """Return the part of the file's end that holds the key, from there on."""
    matches = list(_INFO_KEY.finditer(tail))
    return b"," + tail[matches[-1].start() :] if matches else b""
