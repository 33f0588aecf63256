from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tracemill_s3.cache import FileCache
from tracemill_s3.store import S3Store

from tests.support.aws.server import moto_server, new_bucket


@pytest.fixture(scope="session")
def aws() -> Iterator[str]:
    with moto_server() as address:
        yield address


@pytest.fixture
def bucket(aws: str) -> str:
    return new_bucket()


@pytest.fixture
def cache(tmp_path: Path) -> FileCache:
    return FileCache(tmp_path / "cache")


@pytest.fixture
def store(bucket: str, cache: FileCache) -> S3Store:
    return S3Store(f"s3://{bucket}/some/prefix", cache=cache)
