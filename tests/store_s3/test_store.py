from __future__ import annotations

import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError
from moto.s3.models import s3_backends
from tracemill_analysis.store import open_store
from tracemill_s3 import store as module
from tracemill_s3.cache import FileCache
from tracemill_s3.store import S3Store
from tracemill_schema.errors import StoreBusyError, StoreError

from tests.support.aws.server import objects
from tests.support.synth import ACCOUNT


def test_objects_lie_below_the_prefix(store: S3Store, bucket: str) -> None:
    store.write_bytes("t/a/1", b"xyz")
    assert objects(bucket) == {"some/prefix/t/a/1": b"xyz"}
    assert store.read_bytes("t/a/1") == b"xyz"
    assert store.exists("t/a/1")
    assert not store.exists("t/a")
    assert not store.exists("t/a/2")


def test_listing_goes_over_pages_and_knows_size_and_time(store: S3Store, bucket: str) -> None:
    before_s = int(time.time())
    keys = [f"t/j{number % 7}/{number:04}" for number in range(1203)]
    backend = s3_backends[ACCOUNT]["aws"]
    for key in keys:
        backend.put_object(bucket, f"some/prefix/{key}", b"12")
    listed = store.list_objects("t/")
    assert [info.key for info in listed] == sorted(keys)
    assert {info.size_bytes for info in listed} == {2}
    assert all(before_s <= info.modified_ns / 1e9 <= time.time() + 1 for info in listed)
    assert store.list_folders("t/") == [f"j{number}" for number in range(7)]
    store.delete_prefix("t/j3")
    assert store.list_folders("t") == ["j0", "j1", "j2", "j4", "j5", "j6"]
    store.delete_prefix("")
    assert store.list_objects("") == []


def test_a_prefix_is_a_whole_folder(store: S3Store) -> None:
    store.write_bytes("jobs/job_name=a/x", b"")
    store.write_bytes("jobs/job_name=ab/x", b"")
    store.delete_prefix("jobs/job_name=a")
    assert [info.key for info in store.list_objects("jobs/")] == ["jobs/job_name=ab/x"]
    assert store.job_names() == ["ab"]


def test_folder_markers_of_consoles_are_no_objects(store: S3Store, bucket: str) -> None:
    boto3.client("s3").put_object(Bucket=bucket, Key="some/prefix/t/", Body=b"")
    assert store.list_objects("t/") == []


def test_a_failed_write_keeps_the_old_object(store: S3Store, bucket: str) -> None:
    store.write_bytes("k", b"old")
    with pytest.raises(RuntimeError), store.open_output("k") as output:
        output.write(b"new")
        raise RuntimeError
    assert objects(bucket) == {"some/prefix/k": b"old"}


def test_large_objects_go_in_parts_and_are_whole(
    store: S3Store, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MULTIPART_BYTES", 5 << 20)
    content = bytes(range(256)) * (12 << 12)
    store.write_bytes("big", content)
    head = boto3.client("s3").head_object(Bucket=bucket, Key="some/prefix/big")
    assert head["ETag"].endswith('-3"')
    assert store.local_file("big").read_bytes() == content


def test_a_part_that_fails_leaves_no_object(
    store: S3Store, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MULTIPART_BYTES", 5 << 20)
    calls = _Failing(store, "UploadPart", _answer("AccessDenied"))
    with pytest.raises(StoreError):
        store.write_bytes("big", bytes(11 << 20))
    assert calls.names.count("AbortMultipartUpload") == 1
    assert objects(bucket) == {}
    assert "Uploads" not in boto3.client("s3").list_multipart_uploads(Bucket=bucket)


def test_ranges(store: S3Store) -> None:
    store.write_bytes("k", b"0123456789")
    assert store.read_range("k", 0, 4) == b"0123"
    assert store.read_range("k", 8, 4) == b"89"
    assert store.read_range("k", 10, 4) == b""
    assert store.read_range("k", 3, 0) == b""
    with pytest.raises(StoreError, match="k2 in s3://.*no such object"):
        store.read_range("k2", 0, 4)


def test_a_local_file_keeps_the_end_of_the_key(store: S3Store) -> None:
    key = "tables/jobs/job_name=a/all.parquet"
    store.write_bytes(key, b"1")
    assert store.local_file(key).as_posix().endswith("/some/prefix/" + key)


def test_a_file_is_fetched_once_and_again_when_it_changes(store: S3Store) -> None:
    calls = _Failing(store, "", None)
    store.write_bytes("k", b"one")
    store.list_objects("")
    first = store.local_file("k")
    assert store.local_file("k") == first
    assert calls.names.count("GetObject") == 1
    assert calls.names == ["PutObject", "ListObjectsV2", "GetObject"]
    store.write_bytes("k", b"two")
    assert store.local_file("k").read_bytes() == b"two"
    assert first.read_bytes() == b"one"
    assert calls.names.count("GetObject") == 2


def test_several_files_at_once(store: S3Store) -> None:
    keys = [f"t/{number}" for number in range(30)]
    for key in keys:
        store.write_bytes(key, key.encode())
    assert [path.read_bytes().decode() for path in store.local_files(keys)] == keys
    with pytest.raises(StoreError, match="t/x"):
        store.local_files([*keys, "t/x"])


def test_an_object_that_changes_after_the_listing_is_read_as_it_is_now(
    store: S3Store, bucket: str
) -> None:
    store.write_bytes("k", b"one")
    store.list_objects("")
    boto3.client("s3").put_object(Bucket=bucket, Key="some/prefix/k", Body=b"three")
    assert store.local_file("k").read_bytes() == b"three"


def test_a_broken_download_goes_on_where_it_broke(store: S3Store) -> None:
    store.write_bytes("k", b"0123456789")
    ranges = _breaking_after(store, 4, times=2)
    assert store.local_file("k").read_bytes() == b"0123456789"
    assert ranges == [None, "bytes=4-", "bytes=8-"]


def test_a_connection_that_always_breaks_is_busy(store: S3Store, cache: FileCache) -> None:
    store.write_bytes("k", b"0123456789")
    _breaking_after(store, 1, times=99)
    with pytest.raises(StoreBusyError, match="breaks again and again"):
        store.local_file("k")
    assert [path for path in cache.folder.rglob("*") if path.is_file()] == [
        cache.folder / ".tracemill-lock"
    ]


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        ("AccessDenied", StoreError, "no access: these AWS credentials may not ListObjectsV2"),
        ("ExpiredToken", StoreError, "credentials are refused .ExpiredToken.: renew them"),
        ("PermanentRedirect", StoreError, "another region: set AWS_REGION"),
        ("SlowDown", StoreBusyError, "S3 is busy .SlowDown.: try again"),
        ("503", StoreBusyError, "S3 is busy"),
        ("Odd", StoreError, "S3 refuses ListObjectsV2: Odd"),
    ],
)
def test_what_s3_answers_is_said_in_one_line(
    store: S3Store, error: str, kind: type[StoreError], text: str
) -> None:
    _Failing(store, "ListObjectsV2", _answer(error))
    with pytest.raises(kind, match=text) as caught:
        store.list_objects("jobs/")
    assert type(caught.value) is kind
    assert store.address in str(caught.value)


@pytest.mark.parametrize(
    "error",
    [EndpointConnectionError(endpoint_url="u"), ReadTimeoutError(endpoint_url="u")],
)
def test_no_connection_is_busy(store: S3Store, error: Exception) -> None:
    _Failing(store, "GetObject", error)
    with pytest.raises(StoreBusyError, match="no connection to S3"):
        store.read_bytes("k")


def test_no_such_bucket(aws: str, cache: FileCache) -> None:
    missing = S3Store("s3://no-such-bucket-here", cache=cache)
    with pytest.raises(StoreError, match="store s3://no-such-bucket-here: no such bucket"):
        missing.check()
    with pytest.raises(StoreError, match="no such bucket"):
        missing.job_names()


def test_no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    bare = S3Store("s3://bucket", cache=FileCache(tmp_path / "cache"))
    with pytest.raises(StoreError, match="no AWS credentials: run 'aws configure'"):
        bare.check()


def test_a_name_that_can_be_no_bucket(aws: str, cache: FileCache) -> None:
    with pytest.raises(StoreError, match="not a usable name"):
        S3Store("s3://b a d", cache=cache).check()


def test_the_engine_finds_the_store_by_its_scheme(bucket: str) -> None:
    opened = open_store(f"s3://{bucket}/x/")
    assert isinstance(opened, S3Store)
    assert opened.address == f"s3://{bucket}/x"
    opened.check()


def test_other_schemes_say_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreError, match="gs:// addresses are not installed"):
        open_store("gs://b")
    monkeypatch.setattr("tracemill_analysis.store.entry_points", lambda **_: ())
    with pytest.raises(StoreError, match="pip install tracemill-s3"):
        open_store("s3://b")


class _Failing:
    """Replaces calls of one operation by an error and notes the names of all."""

    def __init__(self, store: S3Store, operation: str, error: Exception | None) -> None:
        self.names: list[str] = []
        inner = store._client._make_api_call

        def call(name: str, params: dict[str, Any]) -> Any:
            self.names.append(name)
            if name == operation and error is not None:
                raise error
            return inner(name, params)

        store._client._make_api_call = call


def _answer(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": ""}}, "ListObjectsV2")


class _Breaking(io.BytesIO):
    def __init__(self, content: bytes, after: int) -> None:
        super().__init__(content[:after])

    def iter_chunks(self, size: int) -> Iterator[bytes]:
        yield self.read()
        raise ReadTimeoutError(endpoint_url="u")


def _breaking_after(store: S3Store, count: int, times: int) -> list[str | None]:
    ranges: list[str | None] = []
    inner = store._client._make_api_call

    def call(name: str, params: dict[str, Any]) -> Any:
        answer = inner(name, params)
        if name == "GetObject":
            ranges.append(params.get("Range"))
            if len(ranges) <= times:
                answer["Body"] = _Breaking(answer["Body"].read(), count)
        return answer

    store._client._make_api_call = call
    return ranges
