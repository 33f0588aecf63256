"""The store of the installation, with its cache on the function's own disk."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from tracemill_s3.cache import FileCache
from tracemill_s3.store import S3Store


@cache
def _opened(uri: str) -> tuple[S3Store, FileCache]:
    # Files of earlier calls are of other processes or jobs: nothing is held beyond a call.
    files = FileCache(Path(tempfile.gettempdir(), "tracemill-cache"), hold_s=0)
    return S3Store(uri, cache=files), files


def open_store(uri: str) -> S3Store:
    """Return the store; the disk is emptied of what an earlier call left in this container."""
    store, files = _opened(uri)
    files.trim(0)
    return store
