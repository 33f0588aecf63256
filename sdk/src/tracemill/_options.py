"""Resolves options: keyword of the call, else environment, else default (table in _generated)."""

from __future__ import annotations

import os
import re
from typing import Any

from tracemill import _generated
from tracemill._guard import UsageError, say

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off", "")

_LIMITS = {
    "max_steps": (0, 2**62),
    "max_bytes": (0, 2**62),
    "flush_interval_ms": (10, 3_600_000),
    "cpu_interval_ms": (0, 3_600_000),
    "cpu_duration_s": (0, 10**9),
    "ring_events": (16, 2**24),
    "rotate_bytes": (0, 2**62),
    "rotate_s": (0, 10**9),
    "gpu_buffer_bytes": (2**22, 2**36),
    "nvml_interval_ms": (0, 3_600_000),
    "upload_interval_ms": (10, 3_600_000),
    "upload_retry_ms": (10, 3_600_000),
    "upload_deadline_s": (0, 86_400),
}
_MIN_CPU_INTERVAL_MS = 10
_UPLOAD_ROTATE_S = 60
_S3_URI = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(.*))?")


def resolve(given: dict[str, Any]) -> dict[str, Any]:
    """Return every option with its value in force.

    Raises UsageError (a ValueError) for a keyword that is no option or has an unusable value. An
    unusable value in the environment is said on stderr and the default is taken.
    """
    unknown = sorted(set(given) - set(_generated.OPTIONS))
    if unknown:
        known = ", ".join(_generated.OPTIONS)
        raise UsageError(f"unknown option {unknown[0]!r}; the options are {known}")
    values: dict[str, Any] = {}
    for name, (env, kind, default, _) in _generated.OPTIONS.items():
        if name in given and given[name] is not None:
            values[name] = parse(name, kind, given[name])
        elif env in os.environ:
            try:
                values[name] = parse(name, kind, os.environ[env])
            except UsageError as error:
                say(f"environment variable {env} is not used: {error}")
                values[name] = default
        else:
            values[name] = default
    rotate_given = given.get("rotate_s") is not None or "TRACEMILL_ROTATE_S" in os.environ
    if values["s3_uri"] and not rotate_given:
        values["rotate_s"] = _UPLOAD_ROTATE_S
    return values


def parse(name: str, kind: type, value: Any) -> Any:
    """Return ``value`` as the option's type; strings are read. UsageError if that cannot be."""
    if kind is bool:
        return _parse_bool(name, value)
    if kind is int:
        return _parse_int(name, value)
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise UsageError(f"option {name}: expected a non-empty text, not {value!r}")
    if name == "s3_uri":
        split_s3_uri(os.fspath(value))
    return os.fspath(value)


def split_s3_uri(uri: str) -> tuple[str, str]:
    """Split ``s3://bucket/prefix`` into bucket and key prefix (empty, or with a slash at its end).

    Raises UsageError if it is something else.
    """
    match = _S3_URI.fullmatch(uri)
    if match is None:
        raise UsageError(f"option s3_uri: expected s3://bucket or s3://bucket/prefix, not {uri!r}")
    prefix = (match.group(2) or "").strip("/")
    return match.group(1), prefix + "/" if prefix else ""


def _parse_bool(name: str, value: Any) -> bool:
    text = str(value).strip().lower()
    if isinstance(value, (bool, int, str)) and text in _TRUE + _FALSE:
        return text in _TRUE
    raise UsageError(f"option {name}: expected 1 or 0, not {value!r}")


def _parse_int(name: str, value: Any) -> int:
    try:
        if isinstance(value, (bool, float)):
            raise TypeError
        number = int(value.strip() if isinstance(value, str) else value)
    except (TypeError, ValueError):
        raise UsageError(f"option {name}: expected a whole number, not {value!r}") from None
    low, high = _LIMITS[name]
    if name == "cpu_interval_ms" and 0 < number < _MIN_CPU_INTERVAL_MS:
        raise UsageError(f"option {name}: take 0 (off) or at least {_MIN_CPU_INTERVAL_MS}")
    if not low <= number <= high:
        raise UsageError(f"option {name}: {number} is outside {low}..{high}")
    return number
