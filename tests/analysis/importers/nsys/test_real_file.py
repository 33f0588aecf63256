"""The real export of two H100 processes: every figure against SQL over the file itself."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tracemill_analysis.importers.base import ProcessResult
from tracemill_analysis.parquet import read_table
from tracemill_analysis.pipeline import import_traces
from tracemill_analysis.store import LocalStore
from tracemill_schema.tables import TABLE_BY_NAME
from tracemill_schema.vocab import RankSource

from tests.support import kineto as k
from tests.support import nsys
from tests.support.shared import shared_path

_PIDS = (111, 112)
_STARTED_NS = 1_779_630_014_975_716_426 - 35_255_823_190


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nsys.unpacked(tmp_path_factory.mktemp("nsys"))


@pytest.fixture(scope="module")
def sql(file: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def imported(
    file: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[ProcessResult], LocalStore]:
    return nsys.convert_all(file, tmp_path_factory.mktemp("store"))


def _of(process_id: int, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["process_id"] == process_id]


def test_two_processes_are_two_ranks(imported: tuple[list[ProcessResult], LocalStore]) -> None:
    results, _ = imported
    assert [(r.item.rank, r.item.rank_source, r.pid, r.devices) for r in results] == [
        (0, RankSource.ORDER, 111, (0,)),
        (1, RankSource.ORDER, 112, (1,)),
    ]
    for result in results:
        assert (result.events_read, result.events_kept) == (13_595, 13_595)
        assert k.drops(result) == {"unlinked": 1_138}
        assert (result.clock, result.clock_offset_ns) == ("unix", _STARTED_NS)
        assert result.framework == "PyTorch"
        assert result.item.source_name == f"h100.sqlite (process {result.pid})"


@pytest.mark.parametrize("process_id", [0, 1])
def test_kernels(
    process_id: int,
    sql: sqlite3.Connection,
    imported: tuple[list[ProcessResult], LocalStore],
) -> None:
    statement = """
        SELECT k.start, k.end - k.start, k.deviceId, k.streamId, s.value, gridX, gridY, gridZ,
               blockX, blockY, blockZ, registersPerThread, staticSharedMemory + dynamicSharedMemory,
               graphNodeId, k.correlationId, r.start, r.end - r.start, r.globalTid & 0xFFFFFF
        FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = demangledName
        LEFT JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId
            AND r.globalTid >> 24 = k.globalPid >> 24
        WHERE k.globalPid = ?"""
    expected = sql.execute(statement, (nsys.pid(_PIDS[process_id]),)).fetchall()

    rows = _of(process_id, k.rows(imported[1], "kernels"))

    got = [
        (
            r["start_ns"] - _STARTED_NS, r["dur_ns"], r["device"], r["stream"], r["name"],
            r["grid_x"], r["grid_y"], r["grid_z"], r["block_x"], r["block_y"], r["block_z"],
            r["registers"], r["shared_bytes"], r["graph_node"], r["correlation"],
            None if r["launch_start_ns"] is None else r["launch_start_ns"] - _STARTED_NS,
            r["launch_dur_ns"], r["launch_thread"],
        )
        for r in rows
    ]  # fmt: skip
    assert len(expected) == 1_721
    assert Counter(got) == Counter(expected)


@pytest.mark.parametrize("process_id", [0, 1])
def test_copies_sets_calls_and_syncs(
    process_id: int,
    sql: sqlite3.Connection,
    imported: tuple[list[ProcessResult], LocalStore],
) -> None:
    owner = nsys.pid(_PIDS[process_id])
    _, store = imported

    def counted(table: str, *columns: str) -> Counter[tuple[Any, ...]]:
        return Counter(
            tuple(row[c] for c in columns) for row in _of(process_id, k.rows(store, table))
        )

    moved = sql.execute(
        "SELECT o.label, s.label, d.label, bytes, end - start, streamId FROM "
        "CUPTI_ACTIVITY_KIND_MEMCPY JOIN ENUM_CUDA_MEMCPY_OPER o ON o.id = copyKind "
        "JOIN ENUM_CUDA_MEM_KIND s ON s.id = srcKind JOIN ENUM_CUDA_MEM_KIND d ON d.id = dstKind "
        "WHERE globalPid = ?",
        (owner,),
    ).fetchall()
    kinds = {"Host-to-Device": "HtoD", "Device-to-Host": "DtoH", "Device-to-Device": "DtoD"}
    expected = Counter((kinds[o], s.lower(), d.lower(), b, t, n) for o, s, d, b, t, n in moved)
    sets = sql.execute(
        "SELECT 'memset', NULL, lower(d.label), bytes, end - start, streamId "
        "FROM CUPTI_ACTIVITY_KIND_MEMSET JOIN ENUM_CUDA_MEM_KIND d ON d.id = memKind "
        "WHERE globalPid = ?",
        (owner,),
    ).fetchall()
    expected.update(Counter(sets))
    columns = ("kind", "src_kind", "dst_kind", "bytes", "dur_ns", "stream")
    assert sum(expected.values()) == 463
    assert counted("memory_ops", *columns) == expected

    calls = sql.execute(
        "SELECT substr(value, 1, instr(value, '_v') - 1), start + ?, end - start, correlationId "
        "FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId WHERE globalTid >> 24 = ?",
        (_STARTED_NS, owner >> 24),
    ).fetchall()
    assert counted("api_calls", "name", "start_ns", "dur_ns", "correlation") == Counter(calls)
    assert {row["api"] for row in k.rows(store, "api_calls")} == {"runtime"}

    waits = sql.execute(
        "SELECT CASE syncType WHEN 2 THEN 'stream_wait_event' WHEN 3 THEN 'stream' END, streamId, "
        "end - start, deviceId FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION WHERE globalPid = ?",
        (owner,),
    ).fetchall()
    on_device = [r for r in _of(process_id, k.rows(store, "syncs")) if r["side"] == "device"]
    got = Counter((r["kind"], r["stream"], r["dur_ns"], r["device"]) for r in on_device)
    assert got == Counter(waits)


def test_pytorch_ranges_are_operators_without_their_numbers(
    sql: sqlite3.Connection, imported: tuple[list[ProcessResult], LocalStore]
) -> None:
    expected = Counter(
        (text.rpartition(", op_id = ")[0], start + _STARTED_NS, end - start, thread & 0xFFFFFF)
        for text, start, end, thread in sql.execute(
            "SELECT text, start, end, globalTid FROM NVTX_EVENTS"
        )
    )
    rows = k.rows(imported[1], "operators")
    got = Counter((r["name"], r["start_ns"], r["dur_ns"], r["thread"]) for r in rows)
    assert len(rows) == 16_782
    assert got == expected
    assert {r["category"] for r in rows} == {"nvtx"}
    assert k.rows(imported[1], "annotations") == []


def test_time_breakdown_equals_the_union_of_the_files_intervals(
    file: Path, sql: sqlite3.Connection, tmp_path: Path
) -> None:
    store = LocalStore(tmp_path)
    import_traces(store, k.JOB, [file])

    rows = read_table(store, TABLE_BY_NAME["time_breakdown"], k.JOB).to_pylist()
    found = {row["device"]: row for row in rows if row["window_kind"] == "all_gpu"}

    assert sorted(found) == [0, 1]
    for device, row in found.items():

        def spans(table: str, device: int = device) -> list[tuple[int, int]]:
            return sql.execute(
                f"SELECT start, end FROM CUPTI_ACTIVITY_KIND_{table} WHERE deviceId = {device}"
            ).fetchall()

        communication = sql.execute(
            "SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName"
            f" WHERE value LIKE '%nccl%' AND deviceId = {device}"
        ).fetchall()
        kernels, memory = spans("KERNEL"), spans("MEMCPY") + spans("MEMSET")
        compute = list((Counter(kernels) - Counter(communication)).elements())
        everything = kernels + memory
        window = max(e for _, e in everything) - min(s for s, _ in everything)
        known = {
            "gpu_events": len(everything),
            "window_ns": window,
            "busy_ns": k.length(everything),
            "idle_ns": window - k.length(everything),
            "compute_ns": k.length(compute),
            "comm_ns": k.length(communication),
            "mem_ns": k.length(memory),
            "overlap_ns": k.overlap(compute, communication),
        }
        assert {name: row[name] for name in known} == known


def test_parquet_export_of_the_same_report_gives_the_same_bytes(
    file: Path, imported: tuple[list[ProcessResult], LocalStore], tmp_path: Path
) -> None:
    folder = nsys.to_parquet(file, tmp_path / "h100.pqtdir")

    results, store = nsys.convert_all(folder, tmp_path / "store")

    assert [r.item.format for r in results] == ["nsys-parquet"] * 2
    assert [len(r.item.sources) for r in results] == [9, 9]
    assert nsys.stored_bytes(store) == nsys.stored_bytes(imported[1])
    for ours, theirs in zip(results, imported[0], strict=True):
        assert (ours.events_read, ours.drops) == (theirs.events_read, theirs.drops)


def test_compressed_and_plain_file_give_the_same_bytes(
    imported: tuple[list[ProcessResult], LocalStore], tmp_path: Path
) -> None:
    _, store = nsys.convert_all(shared_path(nsys.H100), tmp_path)
    assert nsys.stored_bytes(store) == nsys.stored_bytes(imported[1])


def test_host_user_and_environment_are_not_stored(
    imported: tuple[list[ProcessResult], LocalStore],
) -> None:
    everything = b"".join(nsys.stored_bytes(imported[1]).values())
    assert len(everything) > 100_000
    for word in ("rich-wsl", "DESKTOP", "FastVideo", "modal", "dumb-init"):
        assert word.encode() not in everything
