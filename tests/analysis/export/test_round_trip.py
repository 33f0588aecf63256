"""import(export(x)) keeps every event: counts, sums and times to the nanosecond."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tracemill_analysis.export import export_job, select
from tracemill_analysis.pipeline import import_traces
from tracemill_analysis.query import connect, run_query
from tracemill_analysis.store import LocalStore
from tracemill_schema.errors import UsageError
from tracemill_schema.tables import TABLE_BY_NAME

from tests.support import kineto
from tests.support.shared import shared_path

TABLES = ("kernels", "memory_ops", "api_calls", "operators", "annotations", "syncs", "collectives")
DLRM = "traces/param/dlrm_8rank/worker{}.pt.trace.json.gz"
TWO_RANKS = [DLRM.format("1_step_12.1694128201556"), DLRM.format("7_step_12.1694128201553")]
NOT_KEPT = {
    # Times that a recorder noted beside the annotation; worked out from the launches instead.
    "annotations": ("gpu_start_ns", "gpu_dur_ns"),
    "syncs": ("kind", "thread"),
}


def content(store: LocalStore, job: str, table: str) -> list[tuple[Any, ...]]:
    left_out = ("process_id", *NOT_KEPT.get(table, ()))
    columns = ", ".join(
        f'"{c.name}"' for c in TABLE_BY_NAME[table].columns if c.name not in left_out
    )
    connection = connect(store, job)
    try:
        return run_query(connection, f"SELECT {columns} FROM {table} ORDER BY ALL")[1]
    finally:
        connection.close()


def round_trip(store: LocalStore, folder: Path) -> None:
    path = folder / "out"
    done = export_job(store, "job", select(store, "job"), path, "chrome")
    import_traces(store, "back", list(done.paths) if len(done.paths) > 1 else [path])


@pytest.mark.parametrize(
    "traces",
    [
        TWO_RANKS,
        ["traces/hta/amd_trace__mi250_minitoy_train_ROCm6_2_kineto.json.gz"],
        ["traces/hta/nccl_parser_config__nccl_data.json.gz"],
    ],
    ids=["two ranks", "amd", "nccl metadata"],
)
def test_real_traces_come_back_equal(traces: list[str], tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "s")
    import_traces(store, "job", [shared_path(trace) for trace in traces])
    round_trip(store, tmp_path)
    for table in TABLES:
        assert content(store, "back", table) == content(store, "job", table), table


NS = st.integers(0, 10**6)
TIME = st.builds(lambda ns: kineto_us(1_694_128_201_545_000_000 + ns), NS)
DURATION = st.builds(lambda ns: kineto_us(ns), st.integers(0, 10**5))


def kineto_us(ns: int) -> bytes:
    return f"{ns // 1000}.{ns % 1000:03d}".encode()


@st.composite
def events(draw: Any) -> list[bytes]:
    found = []
    for number in range(draw(st.integers(20, 40))):
        one = kineto.launch(number, "TS", "DUR", tid=draw(st.integers(1, 3)))
        found.append(one)
        if draw(st.booleans()):
            found.append(kineto.kernel(number, "TS", "DUR", stream=draw(st.integers(0, 2))))
        found.append(kineto.event("cpu_op", draw(st.sampled_from("ab\u00e9")), "TS", "DUR"))
    found.append(kineto.event("user_annotation", "step_3", "TS", "DUR"))
    texts = []
    for one in found:
        text = kineto.json.dumps(one).encode()
        text = text.replace(b'"TS"', draw(TIME)).replace(b'"DUR"', draw(DURATION))
        texts.append(text)
    return texts


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(events())
def test_made_traces_come_back_equal(texts: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in.json").write_bytes(kineto.trace_text(texts))
        store = LocalStore(folder / "s")
        import_traces(store, "job", [folder / "in.json"])
        round_trip(store, folder)
        for table in TABLES:
            assert content(store, "back", table) == content(store, "job", table), table


def test_a_gz_name_is_compressed_and_several_ranks_need_a_folder(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "s")
    import_traces(store, "job", [shared_path(trace) for trace in TWO_RANKS])
    one = select(store, "job", ranks="7")
    (path,) = export_job(store, "job", one, tmp_path / "r7.json.gz", "chrome").paths
    assert gzip.decompress(path.read_bytes()).startswith(b'{"schemaVersion": 1')
    with pytest.raises(UsageError, match="several ranks are written into a folder"):
        export_job(store, "job", select(store, "job"), path, "chrome")
