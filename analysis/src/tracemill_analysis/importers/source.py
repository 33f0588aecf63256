"""Reads a plain or gzip-compressed file as a stream of bytes, in bounded memory."""

from __future__ import annotations

import zlib
from pathlib import Path
from types import TracebackType

from tracemill_schema.errors import InputError

_GZIP_MAGIC = b"\x1f\x8b"
_COMPRESSED_STEP = 256 << 10


class Source:
    """A file's (decompressed) bytes. Context manager; InputError if the file cannot be opened.

    A damaged or cut gzip stream ends where it can no longer be decompressed; ``damaged`` then says
    why.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged: str | None = None
        try:
            self._file = path.open("rb")
            self.size_bytes = path.stat().st_size
            head = self._file.read(2)
            self._file.seek(0)
        except OSError as error:
            raise InputError(f"{path.name}: cannot be read: {error.strerror}") from error
        self.compressed = head == _GZIP_MAGIC
        self._inflate = zlib.decompressobj(wbits=31) if self.compressed else None
        self._compressed_rest = b""

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    @property
    def fraction_read(self) -> float:
        """How much of the file was read, 0..1."""
        return self._file.tell() / self.size_bytes if self.size_bytes else 1.0

    def read(self, count: int) -> bytes:
        """Return up to ``count`` bytes; empty only at the end."""
        if self._inflate is None:
            return self._file.read(count)
        parts: list[bytes] = []
        missing = count
        while missing > 0 and self._inflate is not None:
            part = self._inflate_some(missing)
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def _inflate_some(self, count: int) -> bytes:
        assert self._inflate is not None
        compressed = self._compressed_rest or self._file.read(_COMPRESSED_STEP)
        if not compressed and not self._inflate.eof:
            self._stop("the compressed file is cut off")
            return b""
        try:
            part = self._inflate.decompress(compressed, count)
        except zlib.error as error:
            self._stop(f"the compressed file is damaged: {error}")
            return b""
        self._compressed_rest = self._inflate.unconsumed_tail
        if self._inflate.eof:
            self._next_member()
        return part

    def _next_member(self) -> None:
        """Go on with the next gzip member, if another one follows."""
        assert self._inflate is not None
        rest = self._inflate.unused_data or self._file.read(_COMPRESSED_STEP)
        if rest.startswith(_GZIP_MAGIC):
            self._inflate = zlib.decompressobj(wbits=31)
            self._compressed_rest = rest
        else:
            self._inflate = None
            self._file.seek(0, 2)

    def _stop(self, reason: str) -> None:
        self.damaged = reason
        self._inflate = None
        self._file.seek(0, 2)
