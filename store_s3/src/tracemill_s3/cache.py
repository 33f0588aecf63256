"""Files of an S3 store on this machine: bounded, used longest ago leaves first.

    <folder>/<store>/<version>/<key>

``version`` stands for ETag and size, so an object that changed is another file and nothing has to
be looked up or locked to know whether a file is current. Files appear by rename: several processes
may share the folder. A file used within ``hold_s`` is never removed, since a reader may hold its
name; the limit gives way to that.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from tracemill_schema.errors import StoreError

FOLDER_ENV = "TRACEMILL_CACHE"
LIMIT_ENV = "TRACEMILL_CACHE_BYTES"
DEFAULT_LIMIT_BYTES = 10 << 30
HOLD_S = 900.0
_TEMPORARY_PREFIX = ".tracemill-"
_TEMPORARY_AGE_S = 86_400.0
_RESCAN_SHARE = 0.05


@dataclass(frozen=True)
class _File:
    path: Path
    size_bytes: int
    used_s: float


class FileCache:
    """A folder of cached files. Thread-safe; safe for several processes."""

    def __init__(
        self, folder: Path, limit_bytes: int = DEFAULT_LIMIT_BYTES, hold_s: float = HOLD_S
    ) -> None:
        self.folder = folder
        self.limit_bytes = limit_bytes
        self.hold_s = hold_s
        self._lock = threading.Lock()
        self._held_bytes: int | None = None
        self._added_bytes = 0

    def get(self, name: str) -> Path | None:
        """Return the file of this name and mark it as used now; None if it is not there."""
        path = self.folder / name
        try:
            os.utime(path)
        except OSError:
            return None
        return path

    def put(self, name: str, size_bytes: int, fill: Callable[[BinaryIO], None]) -> Path:
        """Make the file ``name`` of what ``fill`` writes; it appears when that has ended well.

        Raises StoreError if the folder cannot be written or the disk is full.
        """
        path = self.folder / name
        self._make_room(size_bytes)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(prefix=_TEMPORARY_PREFIX, dir=path.parent)
        except OSError as error:
            raise self._unusable(error) from error
        try:
            with os.fdopen(handle, "wb") as file:
                fill(cast(BinaryIO, file))
            Path(temporary).replace(path)
        except OSError as error:
            raise self._unusable(error) from error
        finally:
            Path(temporary).unlink(missing_ok=True)
        with self._lock:
            self._added_bytes += size_bytes
        return path

    def trim(self, limit_bytes: int) -> int:
        """Remove files, used longest ago first, until at most ``limit_bytes`` are held.

        Files in use (``hold_s``) stay. Returns the bytes that are held afterwards.
        """
        with self._alone() as alone:
            files = sorted(self._files(), key=lambda file: file.used_s)
            held = sum(file.size_bytes for file in files)
            if alone:
                newest_s = time.time() - self.hold_s
                for file in files:
                    if held <= limit_bytes or file.used_s > newest_s:
                        break
                    with suppress(OSError):
                        file.path.unlink()
                        held -= file.size_bytes
                        self._remove_empty(file.path.parent)
        return held

    def _make_room(self, size_bytes: int) -> None:
        with self._lock:
            rescan = self._added_bytes > self.limit_bytes * _RESCAN_SHARE
            held = self._held_bytes
            if held is None or rescan or held + self._added_bytes + size_bytes > self.limit_bytes:
                self._held_bytes = self.trim(max(self.limit_bytes - size_bytes, 0))
                self._added_bytes = 0

    def _files(self) -> Iterator[_File]:
        """Walk over the cached files; left-overs of killed processes are removed on the way."""
        for directory, _, names in os.walk(self.folder):
            for name in names:
                path = Path(directory, name)
                try:
                    status = path.stat()
                    if not name.startswith(_TEMPORARY_PREFIX):
                        yield _File(path, status.st_size, status.st_mtime)
                    elif status.st_mtime < time.time() - _TEMPORARY_AGE_S:
                        path.unlink()
                except FileNotFoundError:
                    continue

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Tell whether no other process is trimming."""
        lock = self.folder / f"{_TEMPORARY_PREFIX}lock"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = lock.open("wb")
        except OSError as error:
            raise self._unusable(error) from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
                return
            yield True

    def _remove_empty(self, folder: Path) -> None:
        while folder != self.folder:
            folder.rmdir()
            folder = folder.parent

    def _unusable(self, error: OSError) -> StoreError:
        return StoreError(
            f"cache folder {self.folder}: {error.strerror}: name another one in {FOLDER_ENV}"
        )


def default_cache() -> FileCache:
    """Return the user's cache: folder and limit from the environment, or their defaults."""
    folder = os.environ.get(FOLDER_ENV)
    if not folder:
        base = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
        folder = str(Path(base) / "tracemill")
    text = os.environ.get(LIMIT_ENV, str(DEFAULT_LIMIT_BYTES))
    if not text.isdecimal():
        raise StoreError(f"{LIMIT_ENV}={text!r}: give a number of bytes")
    return FileCache(Path(folder).expanduser().absolute(), int(text))
