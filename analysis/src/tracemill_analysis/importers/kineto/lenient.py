"""Reads single events that are not valid JSON, as far as they can be repaired."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from msgspec import Raw

from tracemill_analysis.importers.kineto.model import ABSENT, NO_ARGS, UNUSED, Args, Complete

_FORBIDDEN = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_STRUCTURAL = re.compile(rb'["{}\[\]]')
_STRING_END = re.compile(rb'["\\]')

# A string value from its opening quote to a quote that is followed by the next key or the end.
_STRING_VALUE = re.compile(r'(:\s*")(.*?)("\s*(?:,\s*"[^"\n]{1,64}"\s*:|[}\]]))', re.DOTALL)


class LenientEvent:
    """An event and what had to be done to read it."""

    def __init__(self, event: Any, repaired: bool, bad_fields: int) -> None:
        self.event = event
        self.repaired = repaired
        self.bad_fields = bad_fields


def read_event(text: bytes) -> LenientEvent | None:
    """Read one event from its text; None if it cannot be understood.

    Bad UTF-8 and control characters become U+FFFD; NaN and infinity are read as such; quotes that
    stand unescaped inside a text are escaped.
    """
    for repair in (_unchanged, _escape_inner_quotes):
        candidate = repair(text)
        if candidate is None:
            continue
        loaded = _load(candidate)
        if isinstance(loaded, dict):
            return _to_event(loaded, damaged=repair is not _unchanged)
    return None


def object_end(buffer: bytes, start: int) -> int | None:
    """Return the position behind the object that begins at ``start``; None if it does not end."""
    depth = 0
    position = start
    while match := _STRUCTURAL.search(buffer, position):
        position = match.end()
        mark = match.group()
        if mark == b'"':
            end = _string_end(buffer, position)
            if end is None:
                return None
            position = end
        elif mark in b"{[":
            depth += 1
        else:
            depth -= 1
            if depth <= 0:
                return position
    return None


def _string_end(buffer: bytes, position: int) -> int | None:
    while match := _STRING_END.search(buffer, position):
        if match.group() == b'"':
            return match.end()
        position = match.end() + 1
    return None


def _unchanged(text: bytes) -> bytes | None:
    return text


def _escape_inner_quotes(text: bytes) -> bytes | None:
    plain = text.decode("utf-8", "surrogateescape")

    def escaped(match: re.Match[str]) -> str:
        inner = re.sub(r'(?<!\\)((?:\\\\)*)"', r"\1\\" + '"', match.group(2))
        return match.group(1) + inner + match.group(3)

    repaired = _STRING_VALUE.sub(escaped, plain)
    return None if repaired == plain else repaired.encode("utf-8", "surrogateescape")


def _load(text: bytes) -> Any:
    try:
        return json.loads(
            text.decode("utf-8", "replace"),
            strict=False,
            parse_float=Decimal,
            parse_int=_whole,
            parse_constant=lambda _name: None,
        )
    except (ValueError, RecursionError, ArithmeticError):
        return None


def _whole(digits: str) -> int | Decimal:
    return int(digits) if len(digits) < 40 else Decimal(digits)


def _to_event(loaded: dict[str, Any], *, damaged: bool) -> LenientEvent:
    if loaded.get("ph") != "X":
        return LenientEvent(UNUSED, False, 0)
    fields = _Fields()
    arguments = loaded.get("args")
    event = Complete(
        name=fields.text(loaded.get("name")) or "",
        cat=fields.text(loaded.get("cat")) or "",
        pid=fields.number(loaded.get("pid")),
        tid=fields.number(loaded.get("tid")),
        ts=_time(loaded.get("ts")),
        dur=_time(loaded.get("dur")),
        args=_args(arguments, fields) if isinstance(arguments, dict) else NO_ARGS,
    )
    if arguments is not None and not isinstance(arguments, dict):
        fields.bad += 1
    return LenientEvent(event, fields.repaired or damaged, fields.bad)


class _Fields:
    """Brings fields to usable types and counts what was repaired or unusable."""

    def __init__(self) -> None:
        self.repaired = False
        self.bad = 0

    def text(self, value: Any) -> str | None:
        if value is None:
            return None
        if not isinstance(value, (str, int, float, Decimal)):
            self.bad += 1
            return None
        clean = _FORBIDDEN.sub("\ufffd", str(value))
        self.repaired |= "\ufffd" in clean
        return clean

    def number(self, value: Any) -> int | str | None:
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        if isinstance(value, Decimal):
            return str(value)
        if isinstance(value, str):
            return self.text(value)
        self.bad += 1
        return None

    def numbers(self, value: Any) -> list[int] | str | None:
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, list) and all(type(v) is int for v in value):
            return value
        self.bad += 1
        return None

    def raw(self, value: Any) -> Raw:
        return ABSENT if value is None else Raw(json.dumps(value, default=str).encode())


def _args(loaded: dict[str, Any], fields: _Fields) -> Args:
    values: dict[str, Any] = {}
    for name, key in _ARG_KEYS.items():
        if key in loaded:
            values[name] = _CONVERSIONS[name](fields, loaded[key])
    return Args(**values)


_ARG_KEYS = dict(zip(Args.__struct_fields__, Args.__struct_encode_fields__, strict=True))

_CONVERSIONS: dict[str, Callable[[_Fields, Any], Any]] = {
    **dict.fromkeys(_ARG_KEYS, _Fields.number),
    "grid": _Fields.numbers,
    "block": _Fields.numbers,
    "shapes": _Fields.raw,
    **dict.fromkeys(
        ("kind", "direction", "sync_kind", "module", "collective", "dtype", "group"), _Fields.text
    ),
}


def _time(value: Any) -> Raw:
    if isinstance(value, (int, Decimal, str)) and not isinstance(value, bool):
        return Raw(str(value).encode("utf-8", "replace").replace(b"\n", b"?"))
    return ABSENT
