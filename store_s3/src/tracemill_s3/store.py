"""A store below a prefix of an S3 bucket.

S3 shows an object only when it is whole, so a write is atomic by itself. Readers that need a file
get one from the local cache.
"""

from __future__ import annotations

import hashlib
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import ClientError, HTTPClientError, IncompleteReadError
from tracemill_analysis.store import ContextOutput, ObjectInfo, Store
from tracemill_schema import layout
from tracemill_schema.errors import StoreBusyError, StoreError
from urllib3.exceptions import HTTPError

from tracemill_s3.address import S3Address, check_key, parse_address
from tracemill_s3.cache import FileCache, default_cache
from tracemill_s3.errors import error_code, translated

MULTIPART_BYTES = 32 << 20
"""Larger objects are written in parts of this size."""
LISTING_AGE_S = 30.0
"""A version seen in a listing is taken as the current one for this long."""

_SPOOL_BYTES = 8 << 20
_CHUNK_BYTES = 1 << 20
_DOWNLOAD_ATTEMPTS = 4
_DOWNLOAD_THREADS = 8
_DELETE_KEYS = 1000
_BROKEN_STREAM = (HTTPClientError, IncompleteReadError, HTTPError)


@dataclass(frozen=True)
class _Version:
    etag: str
    size_bytes: int
    seen_s: float


class S3Store(Store):
    """A store at ``s3://bucket/prefix``. Thread-safe."""

    def __init__(self, address: str, client: Any = None, cache: FileCache | None = None) -> None:
        self._where: S3Address = parse_address(address)
        self.address = self._where.text
        with translated(self.address):
            self._client = client if client is not None else _client()
        self._cache = cache if cache is not None else default_cache()
        endpoint = self._client.meta.endpoint_url
        identity = hashlib.sha256(f"{endpoint}\n{self._where.bucket}".encode()).hexdigest()[:16]
        self._cache_name = f"{self._where.bucket}-{identity}"
        self._versions: dict[str, _Version] = {}
        self._lock = threading.Lock()

    @property
    def bucket(self) -> str:
        """Name of the bucket."""
        return self._where.bucket

    def whole_key(self, key: str) -> str:
        """Return the key within the bucket: with the store's prefix."""
        return self._where.whole_key(key)

    def check(self) -> None:
        """Raise StoreError if the bucket cannot be listed."""
        with translated(self.address):
            self._client.list_objects_v2(
                Bucket=self._where.bucket,
                Prefix=self._where.whole_prefix(layout.JOBS_PREFIX),
                MaxKeys=1,
            )

    def list_objects(self, prefix: str) -> list[ObjectInfo]:
        """Return all objects below ``prefix``, sorted by key."""
        now_s = time.monotonic()
        found: list[ObjectInfo] = []
        versions: dict[str, _Version] = {}
        for page in self._pages(prefix):
            for item in page.get("Contents", []):
                key = item["Key"].removeprefix(self._where.prefix)
                if key.endswith("/"):
                    continue
                modified_ns = int(item["LastModified"].timestamp()) * 1_000_000_000
                found.append(ObjectInfo(key, item["Size"], modified_ns))
                versions[key] = _Version(item["ETag"], item["Size"], now_s)
        with self._lock:
            self._versions.update(versions)
        return sorted(found, key=lambda info: info.key)

    def list_folders(self, prefix: str) -> list[str]:
        """Return the names directly below ``prefix`` that have objects below them, sorted."""
        whole = self._where.whole_prefix(prefix)
        return sorted(
            folder["Prefix"].removeprefix(whole).rstrip("/")
            for page in self._pages(prefix, Delimiter="/")
            for folder in page.get("CommonPrefixes", [])
        )

    def _pages(self, prefix: str, **more: str) -> Iterator[dict[str, Any]]:
        whole = self._where.whole_prefix(prefix)
        with translated(self.address, whole):
            pages = self._client.get_paginator("list_objects_v2")
            yield from pages.paginate(Bucket=self._where.bucket, Prefix=whole, **more)

    def exists(self, key: str) -> bool:
        """Tell whether the object exists."""
        return self._current_version(key) is not None

    def read_bytes(self, key: str) -> bytes:
        """Return the object's content; StoreError if it cannot be read."""
        return self._read(key, {})

    def read_range(self, key: str, start: int, length: int) -> bytes:
        """Return up to ``length`` bytes from byte ``start``; empty beyond the end."""
        if length <= 0:
            return b""
        try:
            return self._read(key, {"Range": f"bytes={start}-{start + length - 1}"})
        except StoreError as error:
            cause = error.__cause__
            if isinstance(cause, ClientError) and error_code(cause) == "InvalidRange":
                return b""
            raise

    def _read(self, key: str, more: dict[str, str]) -> bytes:
        whole = self._where.whole_key(key)
        for _ in range(_DOWNLOAD_ATTEMPTS):
            with translated(self.address, key):
                answer = self._client.get_object(Bucket=self._where.bucket, Key=whole, **more)
            try:
                return cast(bytes, answer["Body"].read())
            except _BROKEN_STREAM:
                continue
        raise StoreBusyError(f"{key} in {self.address}: the connection breaks again and again")

    def local_file(self, key: str) -> Path:
        """Return a cached file with the object's content, fetched if it is not there.

        The file stays for at least the cache's ``hold_s`` after the last call for it.
        """
        version = self._known_version(key) or self._current_version(key)
        if version is None:
            raise StoreError(f"{key} in {self.address}: no such object")
        name = self._cached_name(key, version)
        cached = self._cache.get(name)
        if cached is not None:
            return cached
        try:
            return self._cache.put(
                name, version.size_bytes, lambda file: self._download(key, version, file)
            )
        except _ChangedError:
            self._forget(key)
            return self.local_file(key)

    def local_files(self, keys: Sequence[str]) -> list[Path]:
        """Return a cached file per key, several fetched at a time."""
        if len(keys) < 2:
            return [self.local_file(key) for key in keys]
        with ThreadPoolExecutor(_DOWNLOAD_THREADS, thread_name_prefix="tracemill-s3") as pool:
            return list(pool.map(self.local_file, keys))

    def open_output(self, key: str) -> ContextOutput:
        """Open an object for writing; it is sent when the block ends without an error."""
        return _S3Output(self, key)

    def delete(self, key: str) -> None:
        """Remove one object; nothing happens if there is none."""
        with translated(self.address, key):
            self._client.delete_object(Bucket=self._where.bucket, Key=self._where.whole_key(key))
        self._forget(key)

    def delete_prefix(self, prefix: str) -> None:
        """Remove all objects below ``prefix``."""
        keys = [
            {"Key": item["Key"]}
            for page in self._pages(prefix)
            for item in page.get("Contents", [])
        ]
        for first in range(0, len(keys), _DELETE_KEYS):
            with translated(self.address, prefix):
                answer = self._client.delete_objects(
                    Bucket=self._where.bucket,
                    Delete={"Objects": keys[first : first + _DELETE_KEYS], "Quiet": True},
                )
            for refused in answer.get("Errors", []):
                raise StoreError(
                    f"{refused['Key']} in {self.address}: cannot be removed: {refused['Code']}"
                )
        with self._lock:
            for key in [k for k in self._versions if k.startswith(prefix)]:
                del self._versions[key]

    def send(self, key: str, file: BinaryIO, size_bytes: int) -> None:
        """Write an object from an open file; large ones in parts."""
        where = {"Bucket": self._where.bucket, "Key": self._where.whole_key(key)}
        with translated(self.address, key):
            if size_bytes <= MULTIPART_BYTES:
                self._client.put_object(Body=file, **where)
            else:
                config = TransferConfig(
                    multipart_threshold=MULTIPART_BYTES, multipart_chunksize=MULTIPART_BYTES
                )
                self._client.upload_fileobj(file, where["Bucket"], where["Key"], Config=config)
        self._forget(key)

    def _known_version(self, key: str) -> _Version | None:
        with self._lock:
            version = self._versions.get(key)
        if version is None or time.monotonic() - version.seen_s > LISTING_AGE_S:
            return None
        return version

    def _current_version(self, key: str) -> _Version | None:
        """Look the key up by listing it: HEAD says 403, not 404, to who may list a prefix only."""
        whole = self._where.whole_key(key)
        with translated(self.address, key):
            answer = self._client.list_objects_v2(
                Bucket=self._where.bucket, Prefix=whole, MaxKeys=1
            )
        # Of all keys that begin with this one, it is the first.
        found = next((i for i in answer.get("Contents", []) if i["Key"] == whole), None)
        if found is None:
            return None
        version = _Version(found["ETag"], found["Size"], time.monotonic())
        with self._lock:
            self._versions[key] = version
        return version

    def _forget(self, key: str) -> None:
        with self._lock:
            self._versions.pop(key, None)

    def _cached_name(self, key: str, version: _Version) -> str:
        check_key(key)
        text = f"{version.etag}\n{version.size_bytes}"
        tag = hashlib.sha256(text.encode()).hexdigest()[:32]
        return f"{self._cache_name}/{tag}/{self._where.whole_key(key)}"

    def _download(self, key: str, version: _Version, file: BinaryIO) -> None:
        """Write the object to ``file``; a broken connection goes on where it broke."""
        where = {"Bucket": self._where.bucket, "Key": self._where.whole_key(key)}
        for _ in range(_DOWNLOAD_ATTEMPTS):
            done = file.tell()
            if done == version.size_bytes:
                return
            more = {"Range": f"bytes={done}-"} if done else {}
            with translated(self.address, key):
                try:
                    answer = self._client.get_object(IfMatch=version.etag, **where, **more)
                except ClientError as error:
                    if error_code(error) in ("PreconditionFailed", "412"):
                        raise _ChangedError from error
                    raise
            try:
                for chunk in answer["Body"].iter_chunks(_CHUNK_BYTES):
                    file.write(chunk)
            except _BROKEN_STREAM:
                continue
        if file.tell() != version.size_bytes:
            raise StoreBusyError(f"{key} in {self.address}: the connection breaks again and again")


class _ChangedError(Exception):
    """The object was overwritten between listing and reading."""


class _S3Output(ContextOutput):
    def __init__(self, store: S3Store, key: str) -> None:
        check_key(key)
        self._store = store
        self._key = key

    def __enter__(self) -> BinaryIO:
        self._file = tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES)
        return cast(BinaryIO, self._file)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        with self._file as file:
            if kind is None:
                size_bytes = file.seek(0, 2)
                file.seek(0)
                self._store.send(self._key, cast(BinaryIO, file), size_bytes)


def _client() -> Any:
    retries = {"mode": "standard", "total_max_attempts": 6}
    return boto3.client("s3", config=Config(retries=retries, max_pool_connections=16))


def open_s3(address: str) -> S3Store:
    """Open the store at an ``s3://`` address (entry point of the group ``tracemill.stores``)."""
    return S3Store(address)
