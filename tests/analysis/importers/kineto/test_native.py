"""The native decoder gives what the general one gives, or leaves the chunk to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracemill_analysis.events.strings import StringPool, distinct
from tracemill_analysis.importers.base import DropCounter
from tracemill_analysis.importers.kineto import native
from tracemill_analysis.importers.kineto.columns import EventSorter
from tracemill_analysis.importers.kineto.repair import decode_events
from tracemill_schema.columns import Table

from tests.support import kineto as k
from tests.support.shared import shared_path, shared_root

pytestmark = pytest.mark.skipif(
    not native.AVAILABLE, reason="built without the native decoder (make setup builds it)"
)

_TRACES = (
    "hta/amd_trace__mi250_minitoy_train_ROCm6_2_kineto.json.gz",
    "hta/call_stack__backward_thread.json",
    "hta/critical_path__cuda_event_sync__event_sync_trace.json.gz",
    "hta/mtia_inference_trace__mtia_inference_rank_0.json.gz",
    "hta/nccl_parser_config__nccl_data.json.gz",
    "hta/rank_non_gpu__rank_non_gpu.json.gz",
    "hta/triton_example__triton_example.json.gz",
    "hta/with_gpu_user_annotation__step_based_trace_2543932.json.gz",
    "param/resnet_kineto.json.gz",
)


class _Sink:
    """Collects rows as the writer of event tables takes them, texts in full."""

    def __init__(self, folder: Path) -> None:
        self.strings = StringPool(folder, 1 << 20)
        self.rows: list[tuple[str, dict[str, list[Any]]]] = []

    def add(self, table: Table, columns: dict[str, Any], rows: int) -> None:
        found = {name: self._values(values, rows) for name, values in columns.items()}
        # A column without any value may be left out.
        self.rows.append(
            (table.name, {n: v for n, v in found.items() if any(x is not None for x in v)})
        )

    def add_gpu_annotations(self, columns: dict[str, Any], rows: int) -> None:
        self.rows.append(("gpu", {n: self._values(v, rows) for n, v in columns.items()}))

    def _values(self, values: Any, rows: int) -> list[Any]:
        if values is None:
            return [None] * rows
        if isinstance(values, np.ndarray) and values.dtype == np.int32:
            return self.strings.array(values).to_pylist()
        assert len(values) == rows
        return values.tolist() if isinstance(values, np.ndarray) else values.to_pylist()


def _sorted_out(events: Any, folder: Path) -> Any:
    sink, drops = _Sink(folder), DropCounter()
    sorter = EventSorter(sink, drops)  # type: ignore[arg-type]
    sorter.add(events)
    return sink.rows, drops.counts, (sorter.kept, sorter.unknown, sorter.complete, sorter.pid)


_ODD = st.sampled_from(
    [None, True, 1.5, "7", "stream 7", [1], {}, -1, 1 << 31, 1 << 63, (1 << 64) - 1, 1 << 64, 0.0]
)
_INT = st.integers(0, 9) | st.integers(-(1 << 63), (1 << 64) - 1)
_SMALL = st.integers(-(1 << 31), (1 << 31) - 1)
_WORD = st.sampled_from(
    ["", "Memcpy HtoD (Pinned -> Device)", "Memset (Device)", "ProfilerStep#3", "event_wait", "ab"]
) | st.text(max_size=6)
_TIME = st.decimals(0, 1 << 50, places=3) | st.integers(0, 1 << 50) | st.integers(0, 9)
_SIZES = st.lists(st.integers(0, 1 << 20), min_size=3, max_size=3)
_ARGS = st.fixed_dictionaries(
    {},
    optional={
        "correlation": _INT, "device": _SMALL, "stream": _INT, "bytes": _INT, "size": _INT,
        "kind": _WORD, "direction": st.just("DEVICE_TO_HOST"), "grid": _SIZES,
        "block": _SIZES | st.lists(_SMALL, max_size=2) | st.none() | _WORD,
        "registers per thread": _SMALL, "shared memory": _INT, "graph node id": _INT,
        "External id": _INT, "cuda_sync_kind": _WORD,
        "Input Dims": st.lists(st.lists(st.integers(0, 9), max_size=2), max_size=2) | st.none(),
        "Module Hierarchy": _WORD, "Collective name": _WORD, "In msg nelems": st.integers(0, 99),
        "Out msg nelems": st.integers(0, 1 << 58), "dtype": st.sampled_from(["Half", "x", "Int8"]),
        "Process Group Name": _WORD, "Group size": _SMALL, "other": _ODD | _WORD,
    },
)  # fmt: skip
_CATEGORY = st.sampled_from(
    ["kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver", "cuda_sync", "cpu_op",
     "user_annotation", "gpu_user_annotation", "Operator", "mtia_ccp_events", "Trace", "other", ""]
)  # fmt: skip
_COMPLETE = st.fixed_dictionaries(
    {"ph": st.just("X"), "cat": _CATEGORY, "name": _WORD, "ts": _TIME, "dur": _TIME},
    optional={"pid": _SMALL, "tid": _INT, "args": _ARGS | st.none(), "id": _ODD},
)
_OTHER = st.fixed_dictionaries({"ph": st.sampled_from("sfMiC"), "ts": _ODD, "args": _ODD})
_EVENT = st.one_of(_COMPLETE, _COMPLETE, _COMPLETE, _OTHER)


def _text(events: list[dict[str, Any]], *, ascii_only: bool, spaced: bool) -> bytes:
    separators = (" ,\n", " : ") if spaced else (",", ":")
    text = json.dumps(
        events, ensure_ascii=ascii_only, separators=separators, default=lambda value: _Time(value)
    )
    return text[1:-1].encode("utf-8", "surrogatepass")


class _Time(float):
    """Writes a decimal digit by digit."""

    def __repr__(self) -> str:
        return str(self.text)

    def __new__(cls, value: Any) -> _Time:
        self = super().__new__(cls, value)
        self.text = value
        return self


@settings(max_examples=120, deadline=None)
@given(st.lists(_EVENT, min_size=1, max_size=6), st.booleans(), st.booleans())
def test_plain_events_become_the_same_columns(
    tmp_path_factory: pytest.TempPathFactory,
    events: list[dict[str, Any]],
    ascii_only: bool,
    spaced: bool,
) -> None:
    folder = tmp_path_factory.getbasetemp()
    text = _text(events, ascii_only=ascii_only, spaced=spaced)
    plain = native.decode_plain(text, len(text))
    decoded = decode_events(text)
    if plain is None:
        return
    assert decoded is not None

    assert len(plain) == len(decoded) == len(events)
    assert _sorted_out(plain, folder) == _sorted_out(decoded, folder)


@settings(max_examples=120, deadline=None)
@given(
    st.lists(_EVENT, min_size=1, max_size=3),
    st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=2), st.integers(0, 2)), max_size=3),
)
def test_damaged_text_is_never_taken_for_something_else(
    tmp_path_factory: pytest.TempPathFactory,
    events: list[dict[str, Any]],
    damages: list[tuple[float, bytes, int]],
) -> None:
    text = _text(events, ascii_only=False, spaced=False)
    for where, put_in, left_out in damages:
        place = int(where * len(text))
        text = text[:place] + put_in + text[place + left_out :]
    plain = native.decode_plain(text, len(text))
    if plain is None:
        return
    decoded = decode_events(text)

    assert decoded is not None
    folder = tmp_path_factory.getbasetemp()
    assert _sorted_out(plain, folder) == _sorted_out(decoded, folder)


@pytest.mark.parametrize(
    "event",
    [
        b'{"ph":"X","cat":"kernel","ts":1,"dur":1,"pid":"7"}',
        b'{"ph":"X","cat":"kernel","ts":"1","dur":1}',
        b'{"ph":"X","cat":"kernel","ts":1e3,"dur":1}',
        b'{"ph":"X","cat":"kernel","ts":1}',
        b'{"ph":"X","cat":"kernel","ts":1,"dur":-1}',
        b'{"ph":"X","cat":"kernel","ts":1,"dur":1,"args":{"grid":[1,1,true]}}',
        b'{"ph":"X","cat":"kernel","ts":1,"dur":1,"args":{"registers per thread":1.0}}',
        b'{"ph":"X","cat":"kernel","ts":NaN,"dur":1}',
        b'{"ph":"X","cat":"kernel","name":"\xff","ts":1,"dur":1}',
        b'{"ph":"X","cat":"kernel","name":"\xed\xa0\x80","ts":1,"dur":1}',
        b'{"ph":"X","cat":"kernel","name":"\\ud800","ts":1,"dur":1}',
        b'{"ph":"X","cat":"kernel","name":"\t","ts":1,"dur":1}',
        b'{"ph":"X","cat":"kernel","name":5,"ts":1,"dur":1}',
        b'{"ph":"?","ts":1}',
        b'{"ph":"X","ph":"X","ts":1,"dur":1}',
        b'{"ts":1,"dur":1}',
        b'{"ph":"M","args":{"a":01}}',
        b'{"ph":"M","args":' + b"[" * 100 + b"]" * 100 + b"}",
        b'{"ph":"M"},',
        b'{"ph":"M"',
        b"7",
        b"",
    ],
)
def test_what_is_not_plain_is_left_to_the_general_decoder(event: bytes) -> None:
    assert native.decode_plain(event, len(event)) is None


def test_odd_values_of_events_that_are_not_stored_do_not_matter() -> None:
    event = b'{"ph":"X","cat":"Trace","ts":"?","pid":"Spans","tid":"PyTorch Profiler"}'

    plain = native.decode_plain(event, len(event))

    assert plain is not None and (len(plain), plain.rows) == (1, 1)


@pytest.mark.parametrize("name", _TRACES)
def test_real_traces_become_the_same_bytes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shared_path(f"traces/{name}")
    fast, _ = k.import_file(path, tmp_path / "fast")
    monkeypatch.setattr(native, "decode_plain", lambda _buffer, _end: None)
    general, _ = k.import_file(path, tmp_path / "general")

    assert fast == general
    assert _content(tmp_path / "fast") == _content(tmp_path / "general")


def test_most_real_traces_are_plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    taken = []
    decode = native.decode_plain

    def noted(buffer: bytes, end: int) -> Any:
        plain = decode(buffer, end)
        taken.append(plain is not None)
        return plain

    monkeypatch.setattr(native, "decode_plain", noted)
    for number, name in enumerate(_TRACES):
        k.import_file(shared_root() / "traces" / name, tmp_path / str(number))

    assert sum(taken) >= 0.9 * len(taken)


@given(st.lists(st.integers(-1, 40) | st.integers(-1, (1 << 31) - 1), max_size=20))
def test_distinct_ids_are_those_of_numpy(ids: list[int]) -> None:
    array = np.array(ids, np.int32)

    found, places = distinct(array)

    expected, inverse = np.unique(array, return_inverse=True)
    assert found.tolist() == expected.tolist()
    assert places.tolist() == inverse.tolist()
    assert pa.array(places).type == pa.int64()


def _content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*.parquet"))}
