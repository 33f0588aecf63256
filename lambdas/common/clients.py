"""Clients of AWS services, made once per container."""

from __future__ import annotations

from functools import cache
from typing import Any

import boto3
from botocore.config import Config


@cache
def client(service: str) -> Any:
    """Return the client of a service; throttling is waited out."""
    return boto3.client(service, config=Config(retries={"mode": "standard", "max_attempts": 8}))
