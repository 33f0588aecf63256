"""Recognises Kineto traces by content."""

from __future__ import annotations

from pathlib import Path

from tracemill_schema.errors import UnknownFormatError

from tracemill_analysis.importers.kineto.header import read_header
from tracemill_analysis.importers.source import Source


def looks_like_kineto(path: Path) -> bool:
    """Tell whether a file is a Chrome trace (an object with ``traceEvents`` or a bare array)."""
    try:
        require_trace(path)
    except UnknownFormatError:
        return False
    return True


def require_trace(path: Path) -> None:
    """Raise UnknownFormatError, naming the file and what it seems to be, if it is no trace.

    Whether a file is gzip-compressed is told by its first bytes, not by its name. InputError if
    it cannot be read.
    """
    with Source(path) as source:
        read_header(source)
