from __future__ import annotations

import pytest
from tracemill_s3.address import S3Address, parse_address
from tracemill_schema.errors import StoreError


@pytest.mark.parametrize(
    ("text", "bucket", "prefix", "normal"),
    [
        ("s3://b", "b", "", "s3://b"),
        ("s3://b/", "b", "", "s3://b"),
        ("s3://b/p", "b", "p/", "s3://b/p"),
        ("s3://b//p//q/", "b", "p/q/", "s3://b/p/q"),
    ],
)
def test_address(text: str, bucket: str, prefix: str, normal: str) -> None:
    address = parse_address(text)
    assert address == S3Address(bucket, prefix)
    assert address.text == normal


@pytest.mark.parametrize("text", ["s3://", "s3:///p", "gs://b", "b", "s3://b/../c", "s3://b/./c"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(StoreError):
        parse_address(text)


@pytest.mark.parametrize("key", ["../x", "a/../x", "/a", "a//b", "a/", "", ".", "a/."])
def test_no_key_leads_elsewhere(key: str) -> None:
    with pytest.raises(StoreError, match="outside the store"):
        S3Address("b", "p/").whole_key(key)


def test_prefixes_are_whole_folders() -> None:
    address = S3Address("b", "p/")
    assert address.whole_prefix("") == "p/"
    assert address.whole_prefix("t/a") == address.whole_prefix("t/a/") == "p/t/a/"
