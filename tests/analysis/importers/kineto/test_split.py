"""The splitter finds exactly the events of ``json.loads``, wherever chunks end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracemill_analysis.importers.base import DropCounter
from tracemill_analysis.importers.kineto.model import Complete
from tracemill_analysis.importers.kineto.split import EventSplitter

_NASTY = st.sampled_from(
    ['},{"ph":"X"', '}, {"name":', "}]", '"', "\\", '\\"', "]", "{", "\u20ac", "\U0001f680", ", "]
) | st.text(max_size=8)
_TEXT = st.lists(_NASTY, max_size=4).map("".join)
_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 70), 1 << 70) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=6,
)
_COMPLETE = st.builds(
    lambda name, ts, extra, first: (
        {"args": {"x": extra}, "ph": "X", "name": name, "ts": ts, "dur": 1}
        if first
        else {"ph": "X", "name": name, "ts": ts, "dur": 1, "args": {"x": extra}}
    ),
    _TEXT,
    st.integers(0, 1 << 50),
    _VALUE,
    st.booleans(),
)
_OTHER = st.builds(
    lambda phase, extra: {"ph": phase, "id": extra}, st.sampled_from(list("sfMiCBE")), _VALUE
)


def _split(
    text: bytes, chunk_bytes: int, *, bare: bool = False
) -> tuple[EventSplitter, list[Any], DropCounter]:
    place = 0

    def read(count: int) -> bytes:
        nonlocal place
        part = text[place : place + count]
        place += count
        return part

    drops = DropCounter()
    splitter = EventSplitter(read, b"", 0, drops, bare=bare, chunk_bytes=chunk_bytes)
    return splitter, [event for events in splitter for event in events], drops


@settings(max_examples=300, deadline=None)
@given(
    st.lists(_COMPLETE | _OTHER, max_size=12),
    st.integers(1, 400),
    st.sampled_from([(",", ":"), (", ", ": "), (" ,\n  ", " : ")]),
    st.sampled_from(
        [b"]}", b'], "traceName": "a}], b"}', b'\n],\n"pg": [{"id": 1}, {"id": 2}]\n}\n']
    ),
    st.booleans(),
)
def test_finds_the_events_of_json_loads(
    events: list[dict[str, Any]],
    chunk_bytes: int,
    separators: tuple[str, str],
    end: bytes,
    ascii_only: bool,
) -> None:
    text = json.dumps(events, separators=separators, ensure_ascii=ascii_only).encode()
    splitter, found, drops = _split(text[1:-1] + end, chunk_bytes)

    assert drops.counts == {}
    assert splitter.elements == len(found) == len(events)
    for event, known in zip(found, events, strict=True):
        assert isinstance(event, Complete) == (known["ph"] == "X")
        if isinstance(event, Complete):
            assert (event.name, bytes(event.ts)) == (known["name"], str(known["ts"]).encode())
    assert splitter.trailer.strip() == end.strip()[1:].strip()


@settings(max_examples=200, deadline=None)
@given(
    st.lists(_COMPLETE, min_size=1, max_size=8), st.integers(1, 300), st.floats(0, 1), st.booleans()
)
def test_a_cut_costs_only_the_event_it_hits(
    events: list[dict[str, Any]], chunk_bytes: int, where: float, bare: bool
) -> None:
    parts = [json.dumps(event).encode() for event in events]
    body = b", ".join(parts)
    cut = body[: int(len(body) * where)]
    ends = [len(b", ".join(parts[: n + 1])) for n in range(len(parts))]
    whole = sum(end <= len(cut) for end in ends)

    splitter, found, drops = _split(cut, chunk_bytes, bare=bare)

    rest = cut[ends[whole - 1] if whole else 0 :].strip(b", ")
    lost = int(bool(rest) or not bare)
    assert [event.name for event in found] == [event["name"] for event in events[:whole]]
    assert {str(r): n for r, n in drops.counts.items()} == ({"truncated": 1} if lost else {})
    assert splitter.elements == whole + lost


@pytest.mark.parametrize("chunk_bytes", [16, 64, 200, 1 << 20])
def test_broken_events_anywhere(chunk_bytes: int) -> None:
    good = [{"ph": "X", "name": f"n{n}", "ts": n, "dur": 1} for n in range(40)]
    parts = [json.dumps(event).encode() for event in good]
    for place in (40, 25, 24, 0):
        parts.insert(place, b'{"ph": "X", "name": oops}')
    text = b",\n".join(parts) + b'], "x": 1}'

    splitter, found, drops = _split(text, chunk_bytes)

    assert [event.name for event in found] == [event["name"] for event in good]
    assert {str(r): n for r, n in drops.counts.items()} == {"bad_json": 4}
    assert splitter.elements == 44
    assert splitter.trailer == b', "x": 1}'


@pytest.mark.parametrize("cut", ["}]", "}]}", "} ] }", "}, {", "[]"])
@pytest.mark.parametrize("bare", [True, False])
def test_a_cut_in_a_text_behind_something_like_the_end(cut: str, bare: bool) -> None:
    whole = b'{"ph": "X", "name": "a", "ts": 1, "dur": 1}, '
    text = whole * 3 + b'{"ph": "X", "name": "b' + cut.encode()

    splitter, found, drops = _split(text, 50, bare=bare)

    assert [event.name for event in found] == ["a"] * 3
    assert {str(r): n for r, n in drops.counts.items()} == {"truncated": 1}
    assert splitter.elements == 4


def test_an_unreadable_last_event_does_not_hide_what_follows_the_array() -> None:
    text = b'{"ph": "X", "name": "a", "ts": 1, "dur": 1}, {"ph": "X", "name": x"b}], "x": 1}'
    splitter, found, drops = _split(text, 1 << 20)
    assert len(found) == 1
    assert {str(r): n for r, n in drops.counts.items()} == {"bad_json": 1}
    assert (splitter.elements, splitter.trailer) == (2, b', "x": 1}')
