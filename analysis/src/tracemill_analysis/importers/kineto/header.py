"""What stands around the events: the keys before and after the array, and where it begins."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from tracemill_schema.errors import UnknownFormatError

from tracemill_analysis.importers.source import Source

_HEADER_LIMIT_BYTES = 16 << 20
_READ_BYTES = 64 << 10
_EVENTS_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SPACE = b" \t\r\n"


@dataclass
class Header:
    """The start of a trace up to its array of events.

    ``rest`` are the bytes read beyond the opening bracket, which stands just before byte
    ``position`` of the file; ``bare`` says that the file is the array alone.
    """

    facts: dict[str, Any] = field(default_factory=dict)
    rest: bytes = b""
    position: int = 0
    bare: bool = False


def read_header(source: Source) -> Header:
    """Read up to the first event; UnknownFormatError if the file is no Chrome trace."""
    buffer = b""
    searched = 0
    while True:
        more = source.read(_READ_BYTES if len(buffer) < 1 << 20 else 1 << 20)
        buffer += more
        start = _skip(buffer, len(_BYTE_ORDER_MARK) if buffer.startswith(_BYTE_ORDER_MARK) else 0)
        if buffer[start : start + 1] == b"[":
            header = _bare_array(buffer, start, at_end=not more)
        elif buffer[start : start + 1] == b"{":
            header, searched = _object(buffer, start, searched)
        else:
            header = None
            if start < len(buffer):
                break
        if header is not None:
            return header
        if not more or len(buffer) > _HEADER_LIMIT_BYTES:
            break
    meaning = describe(buffer)
    if source.damaged:
        meaning += f"; {source.damaged}"
    raise UnknownFormatError(f"{source.path.name}: {meaning}")


def parse_facts(text: bytes) -> dict[str, Any]:
    """Parse the keys around the events, given as the text of one object; {} if impossible."""
    try:
        facts = json.loads(text.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def trailer_facts(text: bytes) -> dict[str, Any]:
    """Parse what follows the array's closing bracket; what can be found if it is cut off."""
    facts = parse_facts(b'{"":0' + text.strip(_SPACE))
    if facts:
        facts.pop("", None)
        return facts
    decoder = json.JSONDecoder(strict=False)
    plain = text.decode("utf-8", "replace")
    for key in ("distributedInfo", "baseTimeNanoseconds", "deviceProperties"):
        match = re.search(rf'"{key}"\s*:\s*', plain)
        if match:
            try:
                facts[key] = decoder.raw_decode(plain, match.end())[0]
            except (ValueError, RecursionError):
                continue
    return facts


def _skip(buffer: bytes, position: int) -> int:
    while position < len(buffer) and buffer[position] in _SPACE:
        position += 1
    return position


def _bare_array(buffer: bytes, start: int, *, at_end: bool) -> Header | None:
    first = _skip(buffer, start + 1)
    if buffer[first : first + 1] == b"{" or (at_end and buffer[first : first + 1] == b"]"):
        return Header(rest=buffer[start + 1 :], position=start + 1, bare=True)
    return None


def _object(buffer: bytes, start: int, searched: int) -> tuple[Header | None, int]:
    """Look for the key of the events at the top level, from ``searched`` on."""
    for match in _EVENTS_KEY.finditer(buffer, max(searched - 64, start)):
        before = buffer[start : match.start()]
        facts = parse_facts(before + b'"traceEvents":0}')
        if "traceEvents" in facts:
            facts.pop("traceEvents")
            return Header(facts, buffer[match.end() :], match.end()), match.end()
    return None, len(buffer)


def describe(buffer: bytes) -> str:
    """Say in a few words what a file that is no trace seems to be."""
    text = buffer.lstrip(_SPACE)
    if not text:
        return "the file is empty"
    if text.startswith(b"SQLite format 3"):
        return "an SQLite database, not a Kineto trace"
    if text.startswith(b"PAR1"):
        return "a Parquet file, not a Kineto trace"
    if text.startswith(b'{"Type"') or (b'"Dimension"' in text[:400] and b'"Type"' in text[:400]):
        return "a list of SageMaker Debugger metrics, not a Kineto trace"
    if text[:1] == b"[":
        return "a JSON array that does not hold trace events"
    if text[:1] != b"{":
        return "not JSON, so not a Kineto trace"
    return _describe_object(text)


def _describe_object(text: bytes) -> str:
    keys = re.findall(rb'"([^"\\]{1,40})"\s*:', text[:20_000])
    for key, meaning in (
        (b"rocprofiler-sdk-tool", "a rocprofv3 result"),
        (b"workload_graph", "a Chakra graph"),
        (b"nodes", "a PyTorch execution trace"),
    ):
        if key in keys[:60]:
            return f"{meaning}, not a Kineto trace (no traceEvents)"
    first = ", ".join(key.decode("utf-8", "replace") for key in keys[:3]) or "none"
    return f"JSON without traceEvents (its first keys: {first}), not a Kineto trace"
