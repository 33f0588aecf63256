"""Clients of AWS services, made once per container."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from tracemill_s3.errors import is_busy
from tracemill_schema.errors import StoreBusyError


@cache
def client(service: str) -> Any:
    """Return the client of a service; throttling is waited out."""
    return boto3.client(service, config=Config(retries={"mode": "standard", "max_attempts": 8}))


@contextmanager
def may_be_busy(service: str) -> Iterator[None]:
    """Turn lasting throttling and silence into StoreBusyError, which the workflow waits out."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        if is_busy(error):
            raise StoreBusyError(f"{service} is busy: try again ({error})") from error
        raise
