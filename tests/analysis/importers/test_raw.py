from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracemill_analysis.importers.base import DropCounter, ProcessResult, WorkItem
from tracemill_analysis.importers.raw.convert import convert
from tracemill_analysis.importers.raw.discover import discover_raw
from tracemill_analysis.importers.raw.segment import decode_columns, read_segment
from tracemill_analysis.parquet import read_table
from tracemill_analysis.store import LocalStore
from tracemill_schema import aws, layout, raw
from tracemill_schema.errors import NewerSchemaError, SegmentError
from tracemill_schema.tables import TABLE_BY_NAME
from tracemill_schema.vocab import DropReason, RankSource

from tests.support.tmraw_writer import SegmentWriter, _planes

JOB = "j"
EPOCH = 1_700_000_000_000_000_000


def segment_path(store: LocalStore, pid: int = 7, sequence: int = 0, node: str = "algo-1") -> Path:
    return store.root / layout.segment_key(layout.SegmentKey(JOB, node, pid, EPOCH, sequence))


def two_steps(writer: SegmentWriter) -> SegmentWriter:
    step, forward = writer.string("step"), writer.string("Forward")
    writer.rows(raw.CLOCK, [(1_000, EPOCH + 1_000, 5), (9_000, EPOCH + 9_007, 77)])
    return writer.rows(
        raw.ANNOTATIONS,
        [
            (11, forward, -1, 1, 2_100, 300),
            (11, step, 0, 0, 2_000, 500),
            (11, step, 1, 0, 2_600, 400),
        ],
        last_ns=3_000,
    )


def rows(store: LocalStore, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read_table(store, TABLE_BY_NAME[table], JOB).to_pylist()
    return found


def convert_only(store: LocalStore) -> ProcessResult:
    (item,) = discover_raw(store, JOB).items
    return convert(item, store, JOB)


@pytest.mark.parametrize("codec", list(raw.Codec))
def test_annotations_get_names_unix_times_and_order(tmp_path: Path, codec: raw.Codec) -> None:
    store = LocalStore(tmp_path)
    writer = two_steps(SegmentWriter(codec, rank=3, pid=7))
    writer.meta(end_reason="stopped").save(segment_path(store))

    result = convert_only(store)

    assert [(r["name"], r["series"], r["index"], r["start_ns"], r["dur_ns"], r["depth"]) for r in
            rows(store, "annotations")] == [
        ("step_0", "step", 0, EPOCH + 2_000, 500, 0),
        ("Forward", "Forward", None, EPOCH + 2_100, 300, 1),
        ("step_1", "step", 1, EPOCH + 2_600, 400, 0),
    ]  # fmt: skip
    assert {r["rank"] for r in rows(store, "annotations")} == {3}
    assert (result.start_ns, result.end_ns) == (EPOCH + 2_000, EPOCH + 3_000)
    assert (result.clock_offset_ns, result.clock_spread_ns) == (EPOCH, 7)
    assert (result.finished, result.complete, result.end_reason) == (True, True, "stopped")
    assert (result.events_read, result.events_kept) == (3, 3)


def test_samples_carry_metric_unit_and_scope(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    writer = SegmentWriter().rows(raw.CLOCK, [(0, EPOCH, 0)])
    writer.rows(
        raw.SAMPLES, [(1, 0, 10, 500), (4, -1, 10, 2**40), (1, 0, 20, 900), (999, -1, 20, 1)]
    )
    writer.save(segment_path(store))

    convert_only(store)

    assert [
        (r["metric"], r["unit"], r["scope"], r["index"], r["time_ns"] - EPOCH, r["value"])
        for r in rows(store, "samples")
    ] == [
        ("cpu_busy_ns", "ns", "cpu", 0, 10, 500.0),
        ("cpu_busy_ns", "ns", "cpu", 0, 20, 900.0),
        ("memory_used_bytes", "bytes", "node", -1, 10, float(2**40)),
        ("metric_999", "", "", -1, 20, 1.0),
    ]


def test_string_ids_of_each_segment_stand_for_themselves(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    for sequence, name in enumerate(["Forward", "Backward"]):
        writer = SegmentWriter()
        writer.string(name, string_id=1)
        writer.rows(raw.ANNOTATIONS, [(11, 1, -1, 0, 100 * sequence, 50)])
        writer.save(segment_path(store, sequence=sequence))

    convert_only(store)

    assert [r["name"] for r in rows(store, "annotations")] == ["Forward", "Backward"]


def test_a_killed_process_keeps_its_open_ranges_up_to_the_last_known_time(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    writer = SegmentWriter()
    epoch, step = writer.string("epoch"), writer.string("step")
    writer.rows(raw.OPEN_ANNOTATIONS, [(11, epoch, 0, 0, 100), (11, step, 4, 1, 700)])
    writer.rows(raw.ANNOTATIONS, [(11, step, 4, 1, 700, 50)], last_ns=900)
    writer.save(segment_path(store))

    result = convert_only(store)

    assert [(r["name"], r["start_ns"], r["dur_ns"]) for r in rows(store, "annotations")] == [
        ("epoch_0", 100, 800),
        ("step_4", 700, 50),
    ]
    assert result.drops.counts == {DropReason.UNFINISHED: 1}
    assert not result.finished


@pytest.mark.parametrize("cut", [1, 30, 47, 48, 60])
def test_a_cut_tail_costs_only_the_last_block(tmp_path: Path, cut: int) -> None:
    store = LocalStore(tmp_path)
    writer = two_steps(SegmentWriter())
    whole = len(writer.content)
    writer.rows(raw.ANNOTATIONS, [(11, 1, 2, 0, 4_000 + n, 7 * n * n) for n in range(40)])
    writer.content = writer.content[: whole + cut]
    writer.save(segment_path(store))

    result = convert_only(store)

    assert len(rows(store, "annotations")) == 3
    assert result.drops.counts == {DropReason.TRUNCATED: 1}
    assert f"byte {whole}" in result.drops.examples[DropReason.TRUNCATED]


def test_a_flipped_bit_is_noticed_and_what_stands_before_is_used(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    writer = two_steps(SegmentWriter())
    before = len(writer.content)
    writer.rows(raw.ANNOTATIONS, [(11, 1, 2, 0, 4_000, 1)])
    damaged = bytearray(writer.content)
    damaged[before + 50] ^= 1
    writer.content = bytes(damaged)
    writer.save(segment_path(store))

    result = convert_only(store)

    assert len(rows(store, "annotations")) == 3
    assert result.drops.counts == {DropReason.CHECKSUM: 1}
    assert not result.complete


def test_recorded_drops_are_counted_by_their_reason(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    writer = two_steps(SegmentWriter())
    full = writer.string("ring_full")
    writer.rows(raw.DROPS, [(full, 5)]).rows(raw.DROPS, [(full, 2)]).save(segment_path(store))

    result = convert_only(store)

    assert result.drops.counts == {DropReason.RING_FULL: 7}
    assert (result.events_read, result.events_kept) == (10, 3)


def test_bad_utf8_and_control_characters_in_names_are_replaced_and_counted(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    writer = SegmentWriter()
    bad = writer.string(b"a\xff\x07b")
    writer.rows(raw.ANNOTATIONS, [(1, bad, -1, 0, 1, 1)]).save(segment_path(store))

    result = convert_only(store)

    assert [r["name"] for r in rows(store, "annotations")] == ["a\ufffd\ufffdb"]
    assert result.drops.counts == {DropReason.REPAIRED_TEXT: 1}
    assert result.complete


def test_one_unreadable_segment_does_not_cost_the_others(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    two_steps(SegmentWriter()).save(segment_path(store, sequence=0))
    segment_path(store, sequence=1).write_bytes(
        b"no segment at all, but long enough for a frame......"
    )

    result = convert_only(store)

    assert len(rows(store, "annotations")) == 3
    assert result.drops.counts[DropReason.UNREADABLE_FILE] == 1


def test_processes_are_ordered_by_rank_and_unreadable_ones_are_named(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    for pid, rank in ((30, None), (20, 1), (10, 0)):
        SegmentWriter(rank=rank).save(segment_path(store, pid=pid))
    segment_path(store, pid=40).parent.mkdir(parents=True)
    segment_path(store, pid=40).write_bytes(b"junk" * 30)

    found = discover_raw(store, JOB)

    assert [(i.process_id, i.rank, i.rank_source) for i in found.items] == [
        (0, 0, RankSource.CONTENT),
        (1, 1, RankSource.CONTENT),
        (2, None, RankSource.NONE),
    ]
    assert [i.source_name for i in found.items][0] == f"node=algo-1/process=10-{EPOCH}"
    assert len(found.rejected) == 1 and "process=40-" in found.rejected[0][1]


def test_a_training_that_names_no_rank_is_rank_0(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    for pid in (30, 20):  # the second one is a helper process, begun at the same time
        SegmentWriter().save(segment_path(store, pid=pid))

    assert [(i.rank, i.rank_source) for i in discover_raw(store, JOB).items] == [
        (0, RankSource.ORDER),
        (None, RankSource.NONE),
    ]


def test_a_segment_that_was_uploaded_and_shipped_counts_once(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    writer = two_steps(SegmentWriter(rank=0, pid=7))
    uploaded = writer.save(segment_path(store))
    shipped = store.root / aws.shipped_prefix(JOB) / uploaded.relative_to(store.root)
    for sequence, cut in ((0, 40), (1, 0)):
        path = shipped.with_name(f"{sequence:06d}{layout.RAW_SUFFIX}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(writer.content[: len(writer.content) - cut])
    (item,) = discover_raw(store, JOB).items
    assert item.sources == (
        layout.segment_key(layout.SegmentKey(JOB, "algo-1", 7, EPOCH, 0)),
        str(path.relative_to(store.root)),
    )


def test_a_newer_format_says_what_to_do(tmp_path: Path) -> None:
    path = SegmentWriter().meta(x=1).save(tmp_path / "x.tmraw")
    writer = SegmentWriter.__new__(SegmentWriter)
    writer.codec, writer.content, writer.sequence, writer.ids = raw.Codec.NONE, b"", 0, {}
    writer.meta(format_version=raw.Codec.ZSTD + 98, kinds=[]).save(path)
    with pytest.raises(
        NewerSchemaError, match=r"x\.tmraw: written in raw format 99.*install a newer"
    ):
        read_segment(path, "x.tmraw", DropCounter())


def test_an_empty_file_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "e.tmraw").write_bytes(b"")
    with pytest.raises(SegmentError, match=r"e\.tmraw"):
        read_segment(tmp_path / "e.tmraw", "e.tmraw", DropCounter())


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=50),
    st.sampled_from([raw.Encoding.ZIGZAG, raw.Encoding.DELTA]),
)
def test_signed_columns_come_back_exactly(values: list[int], encoding: raw.Encoding) -> None:
    differences = [b - a for a, b in zip([0, *values], values, strict=False)]
    if encoding is raw.Encoding.DELTA and any(abs(d) >= 2**63 for d in differences):
        return
    payload = _planes(values, encoding)
    decoded = decode_columns(payload, len(values), [("v", str(encoding))])
    assert decoded["v"].tolist() == values


@given(st.binary(max_size=200), st.integers(0, 1000))
def test_any_payload_decodes_or_is_refused(payload: bytes, count: int) -> None:
    try:
        decoded = decode_columns(payload, count, [("a", "plain"), ("b", "delta")])
    except ValueError:
        return
    assert len(decoded["a"]) == len(decoded["b"]) == count


@given(st.data())
def test_a_damaged_segment_never_crashes_the_reader(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray(two_steps(SegmentWriter(rank=1)).content)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged") / "d.tmraw"
    path.write_bytes(bytes(content))
    drops = DropCounter()
    try:
        segment = read_segment(path, "d.tmraw", drops)
    except SegmentError as error:
        assert "d.tmraw" in str(error)
    else:
        assert segment.blocks >= 1


def test_the_work_item_names_no_path_of_the_machine(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    two_steps(SegmentWriter()).save(segment_path(store))
    item: WorkItem = discover_raw(store, JOB).items[0]
    assert str(tmp_path) not in item.source_name
