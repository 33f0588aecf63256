"""Aggregates computed by several workers: the same bytes, and errors that say what happened."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from tracemill_analysis.aggregates import build, parallel
from tracemill_analysis.aggregates.bins import capture_bins
from tracemill_analysis.aggregates.parallel import aggregate_processes
from tracemill_analysis.aggregates.source import open_source
from tracemill_analysis.pipeline import import_traces
from tracemill_analysis.store import LocalStore
from tracemill_schema.errors import StoreError, TracemillError

from tests.support.shared import shared_path

JOB = "dlrm"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> LocalStore:
    store = LocalStore(tmp_path_factory.mktemp("store"))
    folder = shared_path("traces/param/dlrm_8rank")
    import_traces(store, JOB, sorted(folder.iterdir())[:3])
    return store


def digests(store: LocalStore) -> dict[str, str]:
    files = sorted((store.root / "tables").rglob("*.parquet"))
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_two_workers_give_the_bytes_of_one(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = digests(store)
    monkeypatch.setattr(parallel, "_workers_for", lambda _source: 2)
    done: list[float] = []
    build(store, JOB, lambda _what, share: done.append(share))
    assert digests(store) == before
    assert done == [0.0, 1 / 3, 2 / 3, 1.0]


def test_a_small_job_and_little_memory_take_no_workers(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_source(store, JOB) as source:
        assert parallel._workers_for(source) == 1
        monkeypatch.setattr(parallel, "MIN_BYTES", 0)
        monkeypatch.setattr(parallel.os, "sched_getaffinity", lambda _pid: range(6))
        monkeypatch.setattr(parallel, "_free_memory_bytes", lambda: 1 << 40)
        assert parallel._workers_for(source) == 6
        monkeypatch.setattr(parallel, "_free_memory_bytes", lambda: 800 << 20)
        assert parallel._workers_for(source) == 2
        monkeypatch.setattr(parallel, "_free_memory_bytes", lambda: 0)
        assert parallel._workers_for(source) == 1


def test_an_unreadable_file_is_named_by_the_worker(store: LocalStore, tmp_path: Path) -> None:
    with open_source(store, JOB) as source:
        broken = tmp_path / "kernels" / "job_name=dlrm" / "process-000001.parquet"
        broken.parent.mkdir(parents=True)
        broken.write_bytes(b"PAR1 damaged")
        source.files["kernels"] = dict.fromkeys(source.files["kernels"], broken)
        with pytest.raises(StoreError, match=r"job dlrm in .*kernels/process-000001\.parquet"):
            list(aggregate_processes(source, capture_bins(source.processes), 2))


def test_a_worker_that_dies_is_an_error(store: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel.sys, "executable", "/bin/false")
    with (
        open_source(store, JOB) as source,
        pytest.raises(TracemillError, match=r"computed aggregates of processes .* status 1"),
    ):
        list(aggregate_processes(source, capture_bins(source.processes), 2))
