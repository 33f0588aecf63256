"""The main job end to end: record the demo's real training, process it, ask it."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRACEMILL = [sys.executable, "-m", "tracemill_cli.main"]
DEMO = ROOT / "examples" / "demo_training.py"


def tracemill(*arguments: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*TRACEMILL, *map(str, arguments)], capture_output=True, text=True, timeout=240
    )
    if check:
        assert done.returncode == 0, done.stderr
    return done


def query(store: Path, sql: str, job: str = "demo") -> list[dict[str, Any]]:
    done = tracemill("query", sql, "--store", store, "--job", job, "--format", "json")
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("store")
    recorded = tracemill("record", "--store", store, "--job", "demo", "--", sys.executable, DEMO)
    assert "40 steps" in recorded.stdout
    assert "recorded 1 process(es)" in recorded.stderr
    tracemill("process", "--store", store, "--job", "demo")
    return store


def test_all_forty_steps_and_their_phases_are_there(store: Path) -> None:
    rows = query(store, "SELECT series, count FROM annotation_summary ORDER BY series")
    assert {row["series"]: row["count"] for row in rows} == {
        "Backward": 40, "Forward": 40, "Loss": 40, "Optimizer": 40, "step": 40,
    }  # fmt: skip
    steps = query(store, "SELECT step FROM step_summary ORDER BY occurrence")
    assert [row["step"] for row in steps] == list(range(40))


def test_the_planted_slow_step_is_the_slowest_and_the_report_names_it(store: Path) -> None:
    (slowest,) = query(store, "SELECT step FROM step_summary ORDER BY dur_ns DESC LIMIT 1")
    assert slowest["step"] == 17
    report = tracemill("report", "--store", store, "--job", "demo", "--format", "txt").stdout
    assert "step_17" in report
    titles = [
        row["title"]
        for row in query(store, "SELECT title FROM findings WHERE rule = 'outlier_steps'")
    ]
    assert any("step_17" in title and "Backward" in title for title in titles), titles


def test_the_planted_slow_input_is_found_with_its_steps(store: Path) -> None:
    rows = query(store, "SELECT title, abstained, evidence FROM findings WHERE rule = 'slow_input'")
    # A machine that stalls elsewhere may add steps or a phase; the planted four are found anyway.
    assert rows and not any(row["abstained"] for row in rows)
    found = [{item["step"] for item in json.loads(row["evidence"])} for row in rows]
    assert any({27, 28, 29, 30} <= steps for steps in found), rows
    waited = query(store, "SELECT step FROM step_summary ORDER BY gap_before_ns DESC LIMIT 4")
    assert sorted(row["step"] for row in waited) == [27, 28, 29, 30]


def test_the_machine_was_sampled_while_it_trained(store: Path) -> None:
    rows = query(store, "SELECT metric, samples FROM cpu_summary WHERE index = -1")
    sampled = {row["metric"]: row["samples"] for row in rows}
    assert sampled["cpu_utilization"] >= 5
    assert {"memory_used_bytes", "process_cpu_ns", "process_rss_bytes"} <= set(sampled)


def test_every_format_of_the_report_is_there(store: Path, tmp_path: Path) -> None:
    model = json.loads(
        tracemill("report", "--store", store, "--job", "demo", "--format", "json").stdout
    )
    target = tmp_path / "report.html"
    tracemill("report", "--store", store, "--job", "demo", "--format", "html", "-o", target)
    page = target.read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert "step_17" in page and model["verdict"][0]


def test_processing_again_changes_no_byte(store: Path) -> None:
    def digests() -> dict[str, str]:
        return {
            str(path.relative_to(store)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(store.rglob("*"))
            if path.is_file()
        }

    before = digests()
    tracemill("process", "--store", store, "--job", "demo")
    assert digests() == before


def test_the_job_is_complete_and_nothing_was_lost(store: Path) -> None:
    (job,) = query(
        store,
        "SELECT status, completeness, source, steps, ranks, events_dropped, simulated FROM jobs",
    )
    assert job == {
        "status": "Completed", "completeness": "complete", "source": "tracemill", "steps": 40,
        "ranks": job["ranks"], "events_dropped": 0, "simulated": False,
    }  # fmt: skip


def test_a_killed_training_still_gives_a_report(tmp_path: Path) -> None:
    script = tmp_path / "endless.py"
    script.write_text(
        "import itertools, time, tracemill\n"
        "print('up', flush=True)\n"
        "for i in itertools.count():\n"
        "    with tracemill.step(i):\n"
        "        time.sleep(0.02)\n"
    )
    environment = {
        **os.environ,
        "TRACEMILL_AUTOSTART": "1",
        "TRACEMILL_OUTPUT": str(tmp_path / "store"),
        "TRACEMILL_JOB": "killed",
    }
    with subprocess.Popen(
        [sys.executable, str(script)], env=environment, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(2.5)
        process.send_signal(signal.SIGKILL)

    time.sleep(5.5)  # a recording that was written to a moment ago counts as running
    done = tracemill("process", "--store", tmp_path / "store", "--job", "killed", "--json")
    assert json.loads(done.stdout)["job"] == "killed"
    (job,) = query(tmp_path / "store", "SELECT status, steps FROM jobs", job="killed")
    assert job["status"] == "Stopped"
    assert job["steps"] >= 60


def test_a_failing_command_passes_its_exit_code_on(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import tracemill, sys; tracemill.start(); sys.exit(7)"]
    done = tracemill("record", "--store", tmp_path, "--job", "j", "--", *command, check=False)
    assert done.returncode == 7


def test_a_command_that_records_nothing_says_why(tmp_path: Path) -> None:
    done = tracemill("record", "--store", tmp_path, "--job", "j", "--", "true", check=False)
    assert done.returncode == 1
    assert "is the tracemill SDK installed" in done.stderr
