"""Traces of others through the command line: one job with all ranks, partial input, refusals."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from tests.e2e.test_demo import query, tracemill
from tests.support.shared import shared_path


@pytest.fixture(scope="module")
def dlrm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("dlrm")
    tracemill("import", shared_path("traces/param/dlrm_8rank"), "--store", store, "--job", "dlrm")
    return store


def test_a_folder_of_eight_ranks_is_one_job(dlrm: Path) -> None:
    (job,) = query(dlrm, "SELECT ranks, processes, gpus, source FROM jobs", "dlrm")
    assert job == {"ranks": 8, "processes": 8, "gpus": 8, "source": "kineto"}
    rows = query(dlrm, "SELECT rank, rank_source FROM processes ORDER BY rank", "dlrm")
    assert [row["rank"] for row in rows] == list(range(8))


def test_its_time_breakdown_equals_the_known_values(dlrm: Path) -> None:
    expected = [
        json.loads(line)
        for line in shared_path("expected/interval-union.jsonl").read_text().splitlines()
    ]
    known = {Path(entry["file"]).name: entry for entry in expected if "dlrm_8rank" in entry["file"]}
    rows = query(
        dlrm,
        "SELECT p.source_file, b.* FROM time_breakdown b JOIN processes p USING (process_id) "
        "WHERE window_kind = 'all_gpu'",
        "dlrm",
    )
    assert len(rows) == len(known) == 8
    names = {
        "gpu_events": "gpu_events", "window_ns": "window_ns", "busy_ns": "busy_ns",
        "idle_ns": "idle_ns", "compute_ns": "compute_union_ns", "comm_ns": "comm_union_ns",
        "mem_ns": "mem_union_ns", "overlap_ns": "comp_comm_overlap_ns",
        "exposed_comm_ns": "exposed_comm_ns",
    }  # fmt: skip
    for row in rows:
        entry = known[Path(row["source_file"]).name]
        assert {n: row[n] for n in names} == {n: entry[e] for n, e in names.items()}


def test_the_order_of_the_files_does_not_matter(dlrm: Path, tmp_path: Path) -> None:
    files = sorted(shared_path("traces/param/dlrm_8rank").iterdir(), reverse=True)
    tracemill("import", *files, "--store", tmp_path, "--job", "dlrm")
    for folder in ("tables", "reports"):
        ours = {p.relative_to(tmp_path): p.read_bytes() for p in (tmp_path / folder).rglob("*.*")}
        theirs = {p.relative_to(dlrm): p.read_bytes() for p in (dlrm / folder).rglob("*.*")}
        assert ours == theirs


def test_one_damaged_rank_makes_the_job_partial_and_costs_no_other(tmp_path: Path) -> None:
    source = tmp_path / "ranks"
    source.mkdir()
    files = sorted(shared_path("traces/param/dlrm_8rank").iterdir())[:3]
    for path in files:
        shutil.copy(path, source)
    (source / files[1].name).write_bytes(b"\x1f\x8b not a gzip stream at all")

    done = tracemill("import", source, "--store", tmp_path / "s", "--job", "p", "--json")

    outcome = json.loads(done.stdout)
    assert outcome["partial"] is True and outcome["processes"] == 2
    assert [Path(r["path"]).name for r in outcome["rejected"]] == [files[1].name]
    assert files[1].name in done.stderr and "partial" in done.stderr
    (job,) = query(tmp_path / "s", "SELECT completeness FROM jobs", "p")
    assert job["completeness"] == "partial"


def test_nothing_readable_is_exit_code_1_and_one_line(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{}")
    done = tracemill("import", tmp_path / "bad.json", "--store", tmp_path / "s", check=False)
    assert done.returncode == 1
    assert "bad.json" in done.stderr and done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_a_job_is_not_overwritten_by_other_inputs(tmp_path: Path) -> None:
    first, second = sorted(shared_path("traces/param/dlrm_8rank").iterdir())[:2]
    store = tmp_path / "s"
    tracemill("import", first, "--store", store, "--job", "j")
    tracemill("import", first, "--store", store, "--job", "j")
    refused = tracemill("import", second, "--store", store, "--job", "j", check=False)
    assert refused.returncode == 2 and "--replace" in refused.stderr
    tracemill("import", second, "--store", store, "--job", "j", "--replace")
    assert query(store, "SELECT source_file FROM processes", "j")[0]["source_file"] == second.name


def test_a_name_with_markup_reaches_the_report_as_text(tmp_path: Path) -> None:
    name = "<script>alert(1)</script>" + "x" * 5_000
    event = {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 1, "dur": 5,
             "args": {"device": 0, "stream": 7, "correlation": 3}}  # fmt: skip
    with gzip.open(tmp_path / "t.json.gz", "wt") as file:
        json.dump({"traceEvents": [event]}, file)
    tracemill("import", tmp_path / "t.json.gz", "--store", tmp_path / "s", "--job", "j")
    page = (tmp_path / "s/reports/job_name=j/report.html").read_text()
    assert "<script>alert" not in page
    assert query(tmp_path / "s", "SELECT name FROM kernels", "j") == [{"name": name}]
