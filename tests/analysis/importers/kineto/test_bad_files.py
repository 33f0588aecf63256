"""Files with faults: what is whole is kept, the rest is counted by reason with its place."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from tracemill_analysis.importers.discover import discover
from tracemill_analysis.importers.kineto import split
from tracemill_schema.vocab import DropReason, RankSource

from tests.support import kineto as k
from tests.support.shared import shared_path


def _pairs(count: int) -> list[dict[str, Any]]:
    """Launches and their kernels, 10 µs apart."""
    return [e for n in range(count) for e in (k.launch(n, 10 * n), k.kernel(n, 10 * n + 3))]


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("keep", [0.3, 0.5, 0.77])
def test_cut_in_the_middle_of_an_event(tmp_path: Path, suffix: str, keep: float) -> None:
    text = k.trace_text(_pairs(500))
    cut = text[: text.index(b'"cat"', int(len(text) * keep))]
    whole = cut.count(b'"ph"') - 1

    result, store = k.import_text(tmp_path, cut, f"trace.json{suffix}")

    assert k.drops(result)["truncated"] == 1
    assert result.events_read == whole + 1
    assert result.events_kept == whole
    assert not result.complete
    assert len(k.rows(store, "kernels")) == whole // 2


def test_cut_between_two_events_is_seen(tmp_path: Path) -> None:
    text = k.trace_text(_pairs(3))
    cut = text[: text.rindex(b"},\n") + 1]

    result, _ = k.import_text(tmp_path, cut)

    assert k.drops(result) == {"truncated": 1}
    assert (result.events_read, result.events_kept) == (6, 5)


def test_gzip_cut_in_the_middle(tmp_path: Path) -> None:
    source = shared_path("traces/param/dlrm_8rank/worker0_step_12.1694128201545.pt.trace.json.gz")
    compressed = source.read_bytes()
    path = tmp_path / "trace.json.gz"
    path.write_bytes(compressed[: len(compressed) // 2])
    readable = zlib.decompressobj(wbits=31).decompress(path.read_bytes())

    result, _ = k.import_file(path, tmp_path / "store")

    assert k.drops(result)["truncated"] == 1
    assert result.events_read == readable.count(b'"ph"')
    assert k.adds_up(result)


def test_gzip_damaged_in_the_middle(tmp_path: Path) -> None:
    compressed = bytearray(gzip.compress(k.trace_text(_pairs(20_000)), 1))
    compressed[len(compressed) // 2 :] = b"\x00" * (len(compressed) - len(compressed) // 2)
    path = tmp_path / "trace.json.gz"
    path.write_bytes(compressed)

    result, _ = k.import_file(path, tmp_path / "store")

    assert k.drops(result)["truncated"] == 1
    assert 1000 < result.events_kept < 40_000
    assert k.adds_up(result)


def test_bare_array_may_lack_its_end(tmp_path: Path) -> None:
    text = b"[\n" + b",\n".join(json.dumps(e).encode() for e in _pairs(2)) + b",\n"
    result, _ = k.import_text(tmp_path, text)
    assert (result.events_kept, k.drops(result)) == (4, {})

    result, _ = k.import_text(tmp_path, text.rstrip(b",\n") + b"]\n", "closed.json")
    assert (result.events_kept, k.drops(result)) == (4, {})


@pytest.mark.parametrize(
    ("bad", "stored"),
    [
        (b'"ge\x01mm"', "ge\ufffdmm"),
        (b'"ge\tmm"', "ge\ufffdmm"),
        (b'"ge\xffmm"', "ge\ufffdmm"),
        (b'"ge\\ud800mm"', "ge\ufffdmm"),
        (b'"ge"m"m"', 'ge"m"m'),
    ],
)
def test_bad_text_in_a_name_is_repaired(tmp_path: Path, bad: bytes, stored: str) -> None:
    good = _pairs(50)
    text = json.dumps(good[21]).encode().replace(b'"gemm"', bad)
    result, store = k.import_text(tmp_path, k.trace_text([*good[:21], text, *good[22:]]))

    assert k.drops(result) == {"repaired_text": 1}
    assert result.drops.examples[DropReason.REPAIRED_TEXT].startswith("byte ")
    assert result.events_kept == 100 and result.complete
    assert [r["name"] for r in k.rows(store, "kernels")].count(stored) == 1


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("dur", "NaN", "bad_time"),
        ("dur", "Infinity", "bad_time"),
        ("ts", "NaN", "bad_time"),
        ("dur", '"soon"', "bad_time"),
        ("ts", "null", "bad_time"),
        ("ts", "[1]", "bad_time"),
        ("ts", "1e30", "bad_time"),
        ("dur", "-0.001", "negative_duration"),
    ],
)
def test_unusable_time_drops_the_event(tmp_path: Path, field: str, value: str, reason: str) -> None:
    good = _pairs(20)
    text = json.dumps({**good[9], field: "@"}).replace('"@"', value).encode()
    result, store = k.import_text(tmp_path, k.trace_text([*good[:9], text, *good[10:]]))

    assert k.drops(result) == {reason: 1}
    assert (result.events_read, result.events_kept) == (40, 39)
    assert len(k.rows(store, "kernels")) == 19
    assert not result.complete


def test_time_as_text_is_read(tmp_path: Path) -> None:
    _, store = k.import_text(tmp_path, k.trace_text([k.kernel(1, "1716398122009853.422", "5.25")]))
    (row,) = k.rows(store, "kernels")
    assert (row["start_ns"], row["dur_ns"]) == (1716398122009853422, 5250)


@pytest.mark.parametrize("value", ["many", [1], True, 1.5, 1 << 70])
def test_unusable_field_is_left_out(tmp_path: Path, value: Any) -> None:
    bad = k.kernel(1, 5)
    bad["args"]["shared memory"] = value
    result, store = k.import_text(tmp_path, k.trace_text([k.launch(1, 2), bad, k.launch(2, 4)]))

    assert k.drops(result) == {"bad_field": 1}
    (row,) = k.rows(store, "kernels")
    assert row["shared_bytes"] is None and row["launch_start_ns"] == 2000
    assert result.events_kept == 3


def test_ids_as_text_and_above_int64_link(tmp_path: Path) -> None:
    high = (1 << 64) - 3
    trace = [k.launch("17", 1), k.kernel(17, 5), k.launch(high, 2), k.kernel(str(high), 9)]
    result, store = k.import_text(tmp_path, k.trace_text(trace))

    assert k.drops(result) == {}
    by_id = {r["correlation"]: r["launch_start_ns"] for r in k.rows(store, "kernels")}
    assert by_id == {17: 1000, -3: 2000}


def test_duplicated_launch_ids_link_nothing(tmp_path: Path) -> None:
    trace = [k.launch(1, 1), k.launch(1, 3), k.kernel(1, 5), k.kernel(1, 15), k.kernel(2, 25)]
    result, store = k.import_text(tmp_path, k.trace_text(trace))

    assert k.drops(result) == {"duplicate_id": 2, "unlinked": 1}
    assert result.events_kept == 5 and result.complete
    assert [r["launch_start_ns"] for r in k.rows(store, "kernels")] == [None] * 3
    assert [r["run_start_ns"] for r in k.rows(store, "api_calls")] == [None] * 2


def test_exact_copies_count_once(tmp_path: Path) -> None:
    trace = [k.launch(1, 1), k.kernel(1, 5), k.launch(1, 1), k.kernel(1, 5), k.kernel(1, 5, 6)]
    result, store = k.import_text(tmp_path, k.trace_text(trace))

    assert k.drops(result) == {"duplicate": 2}
    assert (result.events_read, result.events_kept) == (5, 3)
    assert [r["launch_start_ns"] for r in k.rows(store, "kernels")] == [1000, 1000]


def test_elements_that_are_no_events(tmp_path: Path) -> None:
    good = _pairs(2)
    trace = [good[0], b"7", good[1], b"null", b"{}", b'{"ph": 5}', good[2], good[3]]
    result, _ = k.import_text(tmp_path, k.trace_text(trace))

    assert k.drops(result) == {"bad_json": 2, "not_used": 2}
    assert (result.events_read, result.events_kept) == (8, 4)


def test_broken_events_do_not_cost_their_neighbours(tmp_path: Path) -> None:
    good = _pairs(300)
    broken = b'{"ph": "X", "cat": "kernel", "name": "a", "ts": 1 2, "dur": 4}'
    trace: list[Any] = list(good)
    for place in (0, 100, 101, 350, len(good)):
        trace.insert(place, broken)
    result, _ = k.import_text(tmp_path, k.trace_text(trace))

    assert k.drops(result) == {"bad_json": 5}
    assert (result.events_read, result.events_kept) == (605, 600)


def test_deep_nesting(tmp_path: Path) -> None:
    deep = b'{"ph": "X", "cat": "kernel", "ts": 1, "dur": 1, "args": ' + b"[" * 200_000
    deep += b"]" * 200_000 + b"}"
    good = _pairs(2)
    result, _ = k.import_text(tmp_path, k.trace_text([*good[:2], deep, *good[2:]]))

    assert k.drops(result) == {"bad_json": 1}
    assert (result.events_read, result.events_kept) == (5, 4)


def test_event_too_long(tmp_path: Path) -> None:
    huge = k.kernel(9, 5, name="x" * (split.MAX_EVENT_BYTES + (8 << 20)))
    good = _pairs(1000)
    result, _ = k.import_text(tmp_path, k.trace_text([*good[:10], huge, *good[10:]]))

    assert k.drops(result) == {"bad_json": 1}
    assert result.drops.examples[DropReason.BAD_JSON].endswith("an event longer than 16 MiB")
    assert (result.events_read, result.events_kept) == (2001, 2000)


def test_long_but_usable_event(tmp_path: Path) -> None:
    long = k.kernel(9, 5, name="x" * (2 * split.CHUNK_BYTES - 1000))
    result, store = k.import_text(tmp_path, k.trace_text([*_pairs(2), long, k.launch(9, 1)]))
    assert k.drops(result) == {} and result.events_kept == 6
    assert max(len(r["name"]) for r in k.rows(store, "kernels")) == 2 * split.CHUNK_BYTES - 1000


@pytest.mark.parametrize("filler", [b" ", b'"', b"a"])
def test_compressed_bomb_is_given_up(
    tmp_path: Path, filler: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(split, "GIVE_UP_BYTES", 8 << 20)
    monkeypatch.setattr(split, "MAX_EVENT_BYTES", 4 << 20)
    head = k.trace_text(_pairs(2)).split(b"\n  ]")[0] + b',\n{"ph": "X", "name": "'
    result, _ = k.import_text(tmp_path, head + filler * (64 << 20), "bomb.json.gz")

    assert result.events_kept == 4
    assert k.drops(result)["bad_json"] >= 1
    assert k.adds_up(result)


def test_bomb_without_events_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b'{"a": "' + b"x" * (64 << 20), mtime=0))
    ((_, message),) = discover([path]).rejected
    assert message.startswith("bomb.json.gz: JSON without traceEvents")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (gzip.compress(b"", mtime=0), "the file is empty"),
        (
            gzip.compress(b'{"traceEvents": [', mtime=0)[:14],
            "JSON without traceEvents (its first keys: none), not a Kineto trace; the compressed "
            "file is cut off",
        ),
        (b"\x1f\x8bgarbage", "the file is empty; the compressed file is damaged"),
        (b"hello", "not JSON, so not a Kineto trace"),
        (b"[1, 2, 3]", "a JSON array that does not hold trace events"),
        (b'{"other": 1}', "JSON without traceEvents (its first keys: other), not a Kineto trace"),
        (b'{"note": "\\"traceEvents\\": [", "b": 1}', "JSON without traceEvents"),
        (b'{"traceEvents": []}', "a Chrome trace, but with no event of a kind"),
    ],
)
def test_unreadable_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    ((_, said),) = discover([path]).rejected
    assert said.startswith(f"file.json: {message}")


def test_file_that_vanished() -> None:
    found = discover([Path("gone.json")])
    assert found.rejected == (("gone.json", "gone.json: no such file or folder"),)


def test_no_rank(tmp_path: Path) -> None:
    result, _ = k.import_text(tmp_path, k.trace_text(_pairs(1)), "some.json")
    assert (result.item.rank, result.item.rank_source) == (0, RankSource.ORDER)


def test_facts_behind_the_events(tmp_path: Path) -> None:
    events = b",".join(json.dumps(e).encode() for e in _pairs(2))
    text = b'{"traceEvents": [' + events + b"], "
    text += b'"deviceProperties": [{"id": 1, "name": "B"}, {"id": 0, "name": "A"}], '
    text += b'"distributedInfo": {"rank": 5, "world_size": 8, "pg_config": [{"ranks": [0, 1]}]}, '
    text += b'"baseTimeNanoseconds": 1711964646000000000}'
    result, store = k.import_text(tmp_path, text, "plain.json")
    packed, _ = k.import_text(tmp_path, text, "packed.json.gz")

    for got in (result, packed):
        assert (got.item.rank, got.item.rank_source) == (5, RankSource.CONTENT)
        assert (got.world_size, got.device_name, got.pid) == (8, "A", 42)
        assert (got.clock, got.clock_offset_ns) == ("unix", 1711964646000000000)
        assert got.start_ns == 1711964646000000000
    row = k.rows(store, "kernels")[0]
    assert row["start_ns"] == 1711964646000003000
    assert row["launch_start_ns"] == 1711964646000000000
