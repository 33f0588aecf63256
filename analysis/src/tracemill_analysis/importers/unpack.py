"""Gives a gzip-compressed file as a plain one, for readers that jump about in it."""

from __future__ import annotations

from pathlib import Path

from tracemill_schema.errors import InputError

from tracemill_analysis.importers.source import Source

MOST_EXPANSION = 100
"""Traces shrink to a tenth or so; what expands a hundredfold is made to fill the disk."""

_ALWAYS_BYTES = 64 << 20
_STEP = 1 << 20


def plain_file(path: Path, folder: Path) -> tuple[Path, str | None]:
    """Return the file itself or, if it is compressed, an unpacked copy in ``folder``.

    The text says what is wrong with the compressed stream; the copy then ends there. InputError if
    the file cannot be read or grows more than a hundredfold.
    """
    with Source(path) as source:
        if not source.compressed:
            return path, None
        limit = max(source.size_bytes * MOST_EXPANSION, _ALWAYS_BYTES)
        target = folder / "unpacked"
        written = 0
        with target.open("wb") as out:
            while chunk := source.read(_STEP):
                written += len(chunk)
                if written > limit:
                    raise InputError(
                        f"{path.name}: expands to more than {MOST_EXPANSION} times its size; "
                        "if that is right, unpack it and import the unpacked file"
                    )
                out.write(chunk)
        return target, source.damaged


def first_bytes(path: Path, count: int) -> bytes:
    """Return the first (unpacked) bytes of a file; InputError if it cannot be read."""
    with Source(path) as source:
        return source.read(count)
