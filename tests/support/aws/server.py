"""moto's server: AWS's HTTP interfaces on a loopback port, one server per test session."""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from moto.server import ThreadedMotoServer

from tests.support.synth import REGION

logging.getLogger("werkzeug").setLevel(logging.ERROR)  # not a line per request

_CLEARED = ("AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE")


@contextmanager
def moto_server() -> Iterator[str]:
    """Run the server; yields its address. The environment of this process points to it."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    with environment(endpoint(address)):
        try:
            yield address
        finally:
            server.stop()


def endpoint(address: str) -> dict[str, str]:
    """Environment that leads AWS SDKs to the server."""
    return {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_SESSION_TOKEN": "testing",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }


@contextmanager
def environment(values: dict[str, str]) -> Iterator[None]:
    """Set variables for the block."""
    before = {name: os.environ.get(name) for name in (*values, *_CLEARED)}
    for name in _CLEARED:
        os.environ.pop(name, None)
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def new_bucket(name: str = "") -> str:
    """Make a bucket in the region of the tests; returns its name."""
    bucket = name or f"tracemill-{secrets.token_hex(6)}"
    boto3.client("s3").create_bucket(
        Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": REGION}
    )
    return bucket


def objects(bucket: str, prefix: str = "") -> dict[str, bytes]:
    """Return all objects of a bucket below a prefix."""
    client: Any = boto3.client("s3")
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    return {
        item["Key"]: client.get_object(Bucket=bucket, Key=item["Key"])["Body"].read()
        for page in pages
        for item in page.get("Contents", [])
    }
