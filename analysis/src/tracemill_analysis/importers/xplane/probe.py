"""Recognises XPlane profiles and opens them."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tracemill_schema.errors import InputError

from tracemill_analysis.importers.base import DropCounter, Found
from tracemill_analysis.importers.unpack import plain_file
from tracemill_analysis.importers.xplane.space import Space
from tracemill_analysis.store import scratch_folder

FORMAT = "xplane"

_PLANE_TAG = 0x0A
_FIRST_TAGS = frozenset({0x08, 0x12})
"""Number or name: what a plane begins with."""

_REPLACEMENT = b"\xef\xbf\xbd"
_LOOKED_AT = 4 << 20


def looks_like_xplane(head: bytes) -> bool:
    """Tell whether a file may be a profile from its first bytes: a plane's length and first tag."""
    if len(head) < 4 or head[0] != _PLANE_TAG:
        return False
    for place in range(1, min(len(head) - 1, 11)):
        if head[place] < 0x80:
            return head[place + 1] in _FIRST_TAGS
    return False


def is_xplane_name(name: str) -> bool:
    """Tell whether a file is called like a profile."""
    return name.lower().removesuffix(".gz").endswith(".xplane.pb")


def probe(path: Path) -> list[Found]:
    """Return the one process of a profile; it does not say its rank.

    InputError if no plane can be read.
    """
    with open_space(path, path.name, DropCounter()) as space:
        if not any(plane.name for plane in space.planes()):
            raise InputError(f"{path.name}: {whats_wrong(space)}")
    return [Found()]


@contextmanager
def open_space(path: Path, name: str, drops: DropCounter) -> Iterator[Space]:
    """Map a profile into memory, unpacked if it is compressed. InputError if it is empty."""
    with scratch_folder() as folder:
        plain, damaged = plain_file(path, folder)
        with plain.open("rb") as file:
            try:
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except (ValueError, OSError) as error:
                why = damaged or "the file is empty"
                raise InputError(f"{name}: {why}") from error
            space: Any = Space(data, name, drops)
            try:
                yield space
            finally:
                del space.bytes  # else the map cannot be closed
                data.close()


def whats_wrong(space: Space) -> str:
    """Say why nothing of a profile can be read."""
    start = bytes(space.data[:_LOOKED_AT])
    if start.count(_REPLACEMENT) * 100 > len(start):
        return (
            "a damaged XPlane profile: bytes were replaced by U+FFFD, as happens when a file is "
            "sent as text; fetch it again in binary mode"
        )
    return "not an XPlane profile, or damaged from the start"
