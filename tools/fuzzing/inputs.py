"""Mutated inputs of each importer, made from small real files."""

from __future__ import annotations

import gzip
import json
import random
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import google_crc32c
import pyarrow as pa
import pyarrow.parquet as pq
from tracemill_schema import RAW_FORMAT_VERSION, layout, raw
from tracemill_schema.targets.sdk_python import kinds_document

from tools.fuzzing.mutate import bomb, damaged, value

JOB = "fuzz"
_KINETO = (
    "hta/call_stack__backward_thread.json",
    "hta/triton_example__triton_example.json.gz",
    "hta/trace_compare__base__base.json.gz",
    "hta/critical_path__cuda_event_sync__event_sync_trace.json.gz",
    "kineto-tb_plugin/docs__traces__after_fix_trace.json.gz",
)
_SQLITE = "nsys-ai/h100_2gpu_1s.sqlite.gz"
_XPLANE = "tracelens/test_data_jax_te_fused_attn_categorization__934987a2fc2f.xplane.pb.gz"
_TABLES = (
    "StringIds", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "TARGET_INFO_SESSION_START_TIME", "ANALYSIS_DETAILS",
)  # fmt: skip
_TABLE_ROWS = 60
_XPLANE_BYTES = 60_000


class Inputs:
    """Writes mutated inputs. ``traces`` is the folder of real traces."""

    def __init__(self, traces: Path) -> None:
        self._traces = traces

    def write(self, importer: str, rng: random.Random, folder: Path) -> Path:
        """Write one mutated input below ``folder``; return the file or folder to import."""
        return _WRITERS[importer](self, rng, folder)

    def _kineto(self, rng: random.Random, folder: Path) -> Path:
        text = _read(self._traces / rng.choice(_KINETO))
        if rng.random() < 0.5:
            text = _changed_json(text, rng)
        if rng.random() < 0.6:
            text = damaged(text, rng)
        return _maybe_zipped(folder / "t.json", text, rng)

    def _sqlite(self, rng: random.Random, folder: Path) -> Path:
        data = _small_sqlite(self._traces / _SQLITE)
        if rng.random() < 0.5:
            data = _changed_sqlite(data, rng, folder / "work")
        if rng.random() < 0.6:
            data = damaged(data, rng)
        return _maybe_zipped(folder / "t.sqlite", data, rng)

    def _parquet(self, rng: random.Random, folder: Path) -> Path:
        target = folder / "t"
        target.mkdir()
        tables = _arrow_tables(self._traces / _SQLITE)
        for name, table in tables.items():
            changed = _changed_table(table, rng) if rng.random() < 0.15 else table
            codec = rng.choice(("none", "zstd", "snappy"))
            pq.write_table(changed, target / f"{name}.parquet", compression=codec)
        for name in rng.sample(sorted(tables), rng.randint(1, 3)):
            path = target / f"{name}.parquet"
            path.write_bytes(damaged(path.read_bytes(), rng))
        return target

    def _xplane(self, rng: random.Random, folder: Path) -> Path:
        data = _small_xplane(self._traces / _XPLANE)
        for _ in range(rng.randint(1, 3)):
            data = damaged(data, rng) if rng.random() < 0.7 else _longer(data, rng)
        return _maybe_zipped(folder / "t.xplane.pb", data, rng)

    def _raw(self, rng: random.Random, folder: Path) -> Path:
        sound = _blocks(_segment())
        blocks = list(sound)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(blocks))
            kind, rows, payload = blocks[at]
            if kind == raw.META.id and rng.random() < 0.5 and payload == sound[at][2]:
                payload = json.dumps(_swapped(json.loads(payload), rng)).encode()
            else:
                payload = damaged(payload, rng)
            if rng.random() < 0.3:
                rows = max(0, min(rows + rng.choice((-1, 1, 1_000, 1 << 30)), (1 << 32) - 1))
            blocks[at] = (kind, rows, payload)
        data = b"".join(_block(*block) for block in blocks)
        if rng.random() < 0.3:
            data = damaged(data, rng)
        key = layout.segment_key(layout.SegmentKey(JOB, "node-0", 7, 1_000, 1))
        path = folder / "store" / key
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
        return folder / "store"


_WRITERS: dict[str, Callable[[Inputs, random.Random, Path], Path]] = {
    "kineto": Inputs._kineto,
    "nsys-sqlite": Inputs._sqlite,
    "nsys-parquet": Inputs._parquet,
    "xplane": Inputs._xplane,
    "raw": Inputs._raw,
}
IMPORTERS = tuple(sorted(_WRITERS))


@cache
def _read(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def _maybe_zipped(path: Path, data: bytes, rng: random.Random) -> Path:
    kind = rng.random()
    if kind < 0.01:
        data = bomb(data[: rng.choice((200, 5_000, len(data)))])
    elif kind < 0.15:
        data = gzip.compress(data, 1, mtime=0)
        data = damaged(data, rng) if rng.random() < 0.5 else data
    path.write_bytes(data)
    return path


def _changed_json(text: bytes, rng: random.Random) -> bytes:
    document = json.loads(text)
    events = document["traceEvents"] if isinstance(document, dict) else document
    for _ in range(rng.randint(1, 8)):
        event = rng.choice(events)
        if rng.random() < 0.1:
            # A place holder: no JSON writer nests this deeply.
            event["args"] = "DEEP"
        else:
            holder = event["args"] if isinstance(event.get("args"), dict) and event["args"] \
                and rng.random() < 0.5 else event  # fmt: skip
            holder[rng.choice(sorted(holder))] = _odd(rng)
    if isinstance(document, dict) and rng.random() < 0.2:
        document[rng.choice(sorted(document))] = _odd(rng)
    depth = rng.choice((50, 900, 100_000))
    nested = rng.choice((b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth))
    return json.dumps(document).encode().replace(b'"DEEP"', nested)


def _odd(rng: random.Random) -> Any:
    return rng.choice((value(rng), [value(rng)], {"a": value(rng)}, "\ud800", 10**400))


def _swapped(document: Any, rng: random.Random) -> Any:
    """Replace one value somewhere in a document."""
    if isinstance(document, dict) and document and rng.random() < 0.8:
        name = rng.choice(sorted(document))
        return {**document, name: _swapped(document[name], rng)}
    if isinstance(document, list) and document and rng.random() < 0.8:
        at = rng.randrange(len(document))
        return [*document[:at], _swapped(document[at], rng), *document[at + 1 :]]
    odd = value(rng)
    return odd if not isinstance(odd, float) or odd == 1.5 else [odd == odd]


@cache
def _rows_of(source: Path) -> dict[str, tuple[list[str], list[tuple[Any, ...]]]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(_read(source))
        tables = {}
        for table in _TABLES:
            cursor = connection.execute(f'SELECT * FROM "{table}" LIMIT {_TABLE_ROWS}')
            tables[table] = ([entry[0] for entry in cursor.description], cursor.fetchall())
    return tables


@cache
def _small_sqlite(source: Path) -> bytes:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("PRAGMA page_size = 1024")
        for table, (columns, rows) in _rows_of(source).items():
            connection.execute(f'CREATE TABLE "{table}" ({", ".join(columns)})')
            marks = ", ".join("?" * len(columns))
            connection.executemany(f'INSERT INTO "{table}" VALUES ({marks})', rows)
        connection.commit()
        return bytes(connection.serialize())


def _changed_sqlite(data: bytes, rng: random.Random, path: Path) -> bytes:
    path.write_bytes(data)
    with closing(sqlite3.connect(path)) as connection:
        for _ in range(rng.randint(1, 6)):
            table = rng.choice(_TABLES)
            columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]
            if not columns:
                continue
            column = rng.choice(columns)
            kind = rng.random()
            if kind < 0.05:
                connection.execute(f'DROP TABLE "{table}"')
            elif kind < 0.15 and len(columns) > 1:
                connection.execute(f'ALTER TABLE "{table}" DROP COLUMN "{column}"')
            else:
                odd = value(rng)
                if isinstance(odd, int) and not -(1 << 63) <= odd < 1 << 63:
                    odd = rng.randbytes(rng.choice((0, 5, 70_000)))
                where = "" if rng.random() < 0.3 else f"WHERE rowid % 7 = {rng.randrange(7)}"
                connection.execute(f'UPDATE "{table}" SET "{column}" = ? {where}', (odd,))
        connection.commit()
    return path.read_bytes()


@cache
def _arrow_tables(source: Path) -> dict[str, Any]:
    tables = {}
    for table, (columns, rows) in _rows_of(source).items():
        arrays = [pa.array([row[at] for row in rows]) for at in range(len(columns))]
        arrays = [a.cast(pa.int64()) if pa.types.is_null(a.type) else a for a in arrays]
        tables[table] = pa.table(arrays, names=columns)
    return tables


def _changed_table(table: Any, rng: random.Random) -> Any:
    at = rng.randrange(table.num_columns)
    rows = table.num_rows
    column = rng.choice(
        (
            pa.array([rng.choice(("a", "", None, "12", "x" * 50_000)) for _ in range(rows)]),
            pa.array([rng.random() * 1e300 for _ in range(rows)]),
            pa.array([[1, None]] * rows),
            pa.array([{"a": 1}] * rows),
            pa.array([rng.randrange(1 << 64) for _ in range(rows)], pa.uint64()),
            pa.array([rng.choice((True, None)) for _ in range(rows)], pa.bool_()),
            pa.array([rng.randbytes(3) for _ in range(rows)]),
            pa.nulls(rows),
            pa.array([rng.randrange(1 << 40) for _ in range(rows)], pa.timestamp("ns")),
            pa.array(["b" * 100_000] * rows).dictionary_encode(),
        )
    )
    return table.set_column(at, table.column_names[at], column)


@cache
def _small_xplane(source: Path) -> bytes:
    """Return the planes of the real profile that are small enough, names and all."""
    data = _read(source)
    kept = b""
    position = 0
    while position < len(data):
        start = position
        position += 1
        length = shift = 0
        while True:
            byte = data[position]
            position += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        position += length
        if position - start <= _XPLANE_BYTES:
            kept += data[start:position]
    return kept


def _longer(data: bytes, rng: random.Random) -> bytes:
    """Put a number or length that is far too large over some bytes."""
    at = rng.randrange(len(data) + 1)
    number = rng.choice((b"\xff" * 9 + b"\x01", b"\xff\xff\xff\xff\x0f", b"\x80" * 12, b"\xff\x7f"))
    return data[:at] + number + data[at + rng.choice((0, 1, len(number))) :]


@cache
def _segment() -> bytes:
    golden = Path(__file__).resolve().parents[2] / "tests/golden/v1/annotations.tmraw"
    meta = {"format_version": RAW_FORMAT_VERSION, "kinds": kinds_document(), "rank": 0}
    blocks = [(raw.META.id, 1, json.dumps(meta).encode())]
    text = b"kernel_name"
    blocks.append((raw.STRINGS.id, 1, struct.pack("<II", 1, len(text)) + text))
    rng = random.Random(1)
    for kind in raw.RAW_KINDS:
        if kind.columns:
            planes = b"".join(b"\x02" + rng.randbytes(2 * 20) for _ in kind.columns)
            blocks.append((kind.id, 20, planes))
    return golden.read_bytes() + b"".join(_block(*block) for block in blocks)


def _blocks(data: bytes) -> list[tuple[int, int, bytes]]:
    """Take a sound segment apart: kind, rows and decompressed payload of each block."""
    blocks, position = [], 0
    while position < len(data):
        fields = raw.FRAME.unpack_from(data, position)
        _, kind, codec, _, rows, stored, length, *_ = fields
        content = data[position + raw.FRAME.size : position + raw.FRAME.size + stored]
        if codec == raw.Codec.ZSTD:
            content = pa.Codec("zstd").decompress(content, decompressed_size=length, asbytes=True)
        blocks.append((kind, rows, content))
        position += raw.FRAME.size + stored
    return blocks


def _block(kind: int, rows: int, payload: bytes) -> bytes:
    """Put a block together, with the checksum it needs to be looked at."""
    fields = (raw.BLOCK_MAGIC, kind, int(raw.Codec.NONE), 0, rows, len(payload), len(payload))
    frame = raw.FRAME.pack(*fields, 0, 0, 0, 0, 0)
    crc = google_crc32c.value(frame + payload)
    return raw.FRAME.pack(*fields, 0, 0, 0, 0, crc) + payload
