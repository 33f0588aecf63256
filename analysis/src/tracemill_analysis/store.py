"""A store: a folder, or what a plug-in opens, that holds jobs under the keys of ``layout``.

Writes are atomic: an object is either absent, the old one, or the new one. Addresses with a scheme
(``s3://…``) are opened by the distribution that offers the scheme as an entry point of the group
``tracemill.stores``; the engine itself knows folders only.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import BinaryIO, cast

from tracemill_schema import layout
from tracemill_schema.errors import StoreError

STORES_GROUP = "tracemill.stores"
"""Entry points: the name is a scheme, the object a function from an address to a Store."""


@dataclass(frozen=True)
class ObjectInfo:
    """One object of a store: key, size in bytes, time of last change in Unix nanoseconds."""

    key: str
    size_bytes: int
    modified_ns: int


class Store(ABC):
    """What the engine needs of a store. Keys use ``/`` and are relative to the store."""

    address: str
    """The store as the user named it."""

    @abstractmethod
    def list_objects(self, prefix: str) -> list[ObjectInfo]:
        """Return all objects below ``prefix``, sorted by key."""

    @abstractmethod
    def list_folders(self, prefix: str) -> list[str]:
        """Return the names directly below ``prefix`` that have objects below them, sorted."""

    @abstractmethod
    def exists(self, key: str) -> bool:
        """Tell whether the object exists."""

    @abstractmethod
    def read_bytes(self, key: str) -> bytes:
        """Return the object's content; StoreError if it cannot be read."""

    @abstractmethod
    def read_range(self, key: str, start: int, length: int) -> bytes:
        """Return up to ``length`` bytes from byte ``start``; fewer at the end, none beyond it."""

    @abstractmethod
    def local_file(self, key: str) -> Path:
        """Return a local file with the object's content, for readers that need a path."""

    def local_files(self, keys: Sequence[str]) -> list[Path]:
        """Return a local file per key, in order."""
        return [self.local_file(key) for key in keys]

    def check(self) -> None:
        """Raise StoreError if the store cannot be read; a new, empty one can."""
        self.list_folders(layout.JOBS_PREFIX)

    @abstractmethod
    def open_output(self, key: str) -> ContextOutput:
        """Open an object for writing; it appears when the block ends without an error."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Remove one object; nothing happens if there is none."""

    @abstractmethod
    def delete_prefix(self, prefix: str) -> None:
        """Remove all objects below ``prefix``."""

    def write_bytes(self, key: str, content: bytes) -> None:
        """Write an object whole."""
        with self.open_output(key) as output:
            output.write(content)

    def job_names(self) -> list[str]:
        """Return the names of all jobs, recorded or processed, sorted."""
        names: set[str] = set()
        for prefix in (layout.JOBS_PREFIX, layout.RAW_PREFIX):
            names.update(
                job for folder in self.list_folders(prefix) if (job := layout.parse_job_dir(folder))
            )
        return sorted(names)


class ContextOutput(ABC):
    """A writable object; a context manager that yields a binary file."""

    @abstractmethod
    def __enter__(self) -> BinaryIO: ...

    @abstractmethod
    def __exit__(self, kind: object, error: object, trace: object) -> None: ...


class LocalStore(Store):
    """A store in a folder."""

    def __init__(self, root: Path | str) -> None:
        self.address = str(root)
        self.root = Path(root).expanduser().resolve()
        if self.root.exists() and not self.root.is_dir():
            raise StoreError(f"store {self.address}: this is a file, a folder is needed")

    def _path(self, key: str) -> Path:
        path = (self.root / key).resolve()
        if path != self.root and self.root not in path.parents:
            raise StoreError(f"key {key!r} leads outside the store {self.address}")
        return path

    def list_objects(self, prefix: str) -> list[ObjectInfo]:
        """Return all objects below ``prefix``, sorted by key; half-written ones are left out."""
        return sorted(self._walk(self._path(prefix)), key=lambda info: info.key)

    def _walk(self, folder: Path) -> Iterator[ObjectInfo]:
        for directory, _, names in os.walk(folder):
            for name in names:
                if name.startswith(_TEMPORARY_PREFIX):
                    continue
                path = Path(directory, name)
                try:
                    status = path.stat()
                except FileNotFoundError:
                    continue
                key = path.relative_to(self.root).as_posix()
                yield ObjectInfo(key, status.st_size, status.st_mtime_ns)

    def list_folders(self, prefix: str) -> list[str]:
        """Return the names of the folders directly below ``prefix``, sorted."""
        folder = self._path(prefix)
        if not folder.is_dir():
            return []
        return sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())

    def exists(self, key: str) -> bool:
        """Tell whether the object exists."""
        return self._path(key).is_file()

    def read_bytes(self, key: str) -> bytes:
        """Return the object's content; StoreError if it cannot be read."""
        try:
            return self._path(key).read_bytes()
        except OSError as error:
            raise StoreError(f"{key} in {self.address}: {error.strerror}") from error

    def read_range(self, key: str, start: int, length: int) -> bytes:
        """Return up to ``length`` bytes from byte ``start``; fewer at the end, none beyond it."""
        try:
            with self._path(key).open("rb") as file:
                file.seek(start)
                return file.read(max(length, 0))
        except OSError as error:
            raise StoreError(f"{key} in {self.address}: {error.strerror}") from error

    def local_file(self, key: str) -> Path:
        """Return the object's own path."""
        path = self._path(key)
        if not path.is_file():
            raise StoreError(f"{key} in {self.address}: no such object")
        return path

    def open_output(self, key: str) -> ContextOutput:
        """Open an object for writing through a temporary name and a rename."""
        return _LocalOutput(self._path(key), self.address)

    def delete(self, key: str) -> None:
        """Remove one object; nothing happens if there is none."""
        self._path(key).unlink(missing_ok=True)

    def delete_prefix(self, prefix: str) -> None:
        """Remove the folder ``prefix`` with all it holds."""
        shutil.rmtree(self._path(prefix), ignore_errors=True)


_TEMPORARY_PREFIX = ".tracemill-"


class _LocalOutput(ContextOutput):
    def __init__(self, target: Path, address: str) -> None:
        self._target = target
        self._address = address

    def __enter__(self) -> BinaryIO:
        try:
            self._target.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=_TEMPORARY_PREFIX, dir=self._target.parent)
        except OSError as error:
            raise StoreError(
                f"store {self._address}: cannot write {self._target.name}: {error.strerror}"
            ) from error
        self._temporary = Path(name)
        self._file = cast(BinaryIO, os.fdopen(handle, "wb"))
        return self._file

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            self._file.close()
            if kind is None:
                self._temporary.chmod(0o644)
                self._temporary.replace(self._target)
        finally:
            self._temporary.unlink(missing_ok=True)


def open_store(address: str | Path) -> Store:
    """Open the store at a folder path, or at an address whose scheme is installed.

    Raises StoreError if the scheme is not, or if the store cannot be opened.
    """
    text = str(address)
    scheme, separator, _ = text.partition("://")
    if not separator:
        return LocalStore(text)
    for entry in entry_points(group=STORES_GROUP, name=scheme):
        store: Store = entry.load()(text)
        return store
    way_out = f"pip install tracemill-{scheme}" if scheme == "s3" else "a folder or s3://bucket"
    raise StoreError(f"store {text}: {scheme}:// addresses are not installed here: {way_out}")


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Give a folder for intermediate files that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="tracemill-") as name:
        yield Path(name)
