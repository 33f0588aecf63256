"""Addresses of the form ``s3://bucket/prefix``."""

from __future__ import annotations

from dataclasses import dataclass

from tracemill_schema.errors import StoreError

SCHEME = "s3://"


@dataclass(frozen=True)
class S3Address:
    """A bucket and what stands before every key: empty, or a prefix that ends with ``/``."""

    bucket: str
    prefix: str

    @property
    def text(self) -> str:
        """The address as a user writes it."""
        return f"{SCHEME}{self.bucket}/{self.prefix}".rstrip("/")

    def whole_key(self, key: str) -> str:
        """Return the object key of a store's key; StoreError if it could lead elsewhere."""
        check_key(key)
        return self.prefix + key

    def whole_prefix(self, prefix: str) -> str:
        """Return the object prefix of a folder of the store; it ends with ``/`` or is empty."""
        folder = prefix.rstrip("/")
        return self.whole_key(folder) + "/" if folder else self.prefix


def parse_address(text: str) -> S3Address:
    """Read an address; StoreError if it names no bucket."""
    bucket, _, prefix = text.removeprefix(SCHEME).partition("/")
    if not text.startswith(SCHEME) or not bucket:
        raise StoreError(f"store {text}: write s3://bucket or s3://bucket/prefix")
    folders = [folder for folder in prefix.split("/") if folder]
    if {".", ".."} & set(folders):
        raise StoreError(f"store {text}: the prefix may not contain '.' or '..'")
    return S3Address(bucket, "".join(f"{folder}/" for folder in folders))


def check_key(key: str) -> None:
    """Refuse keys that would be another path on disk; StoreError."""
    if {"", ".", ".."} & set(key.split("/")):
        raise StoreError(f"key {key!r} leads outside the store")
