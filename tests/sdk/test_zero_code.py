from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import tmraw
from tests.support.recording import run, run_command, script

_CODE = """
import sys, tracemill
print(__name__, sys.argv[1:], sys.path[0])
with tracemill.step(1):
    pass
"""


def _tracemill(
    folder: Path, *arguments: str, check: bool = True, **env: str
) -> subprocess.CompletedProcess[str]:
    return run_command(folder, [sys.executable, "-m", "tracemill", *arguments], check=check, **env)


def test_a_script_is_run_as_if_alone(tmp_path: Path) -> None:
    path = script(tmp_path, _CODE)
    done = _tracemill(tmp_path, "--job", "mine", "--max-steps=5", str(path), "--lr", "1", "-x")
    assert done.stdout == f"__main__ ['--lr', '1', '-x'] {tmp_path}\n"
    segment = tmraw.read_one(tmp_path)
    assert segment.names() == ["step_1"]
    assert segment.meta["job"] == "mine"
    assert segment.meta["options"]["max_steps"] == 5
    assert segment.meta["command"] == "train"
    assert "--lr" not in str(segment.metas)
    assert (segment.meta["end_reason"], segment.meta["failed"]) == ("exit", False)


def test_a_module_is_run(tmp_path: Path) -> None:
    script(tmp_path, _CODE, "module_of_mine.py")
    done = _tracemill(tmp_path, "-m", "module_of_mine", "a", PYTHONPATH=str(tmp_path))
    assert done.stdout.startswith("__main__ ['a']")
    assert tmraw.read_one(tmp_path).names() == ["step_1"]


@pytest.mark.parametrize(
    ("ending", "code", "failed"),
    [("sys.exit(0)", 0, False), ("sys.exit(4)", 4, True), ("raise OSError('x')", 1, True)],
)
def test_the_exit_status_passes_through(
    tmp_path: Path, ending: str, code: int, failed: bool
) -> None:
    path = script(tmp_path, f"import sys\n{ending}\n")
    done = _tracemill(tmp_path, str(path), check=False)
    assert done.returncode == code
    assert tmraw.read_one(tmp_path).meta["failed"] is failed


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "no script to run"),
        (["--colour", "red", "x.py"], 2, "unknown option --colour"),
        (["--job"], 2, "option --job needs a value"),
        (["--max-steps", "many", "x.py"], 2, "option max_steps: expected a whole number"),
        (["absent.py"], 1, "no such script: absent.py"),
    ],
)
def test_wrong_usage_is_one_clear_line(
    tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    done = _tracemill(tmp_path, *arguments, check=False)
    assert done.returncode == code
    assert f"tracemill: {message}" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_lists_every_option(tmp_path: Path) -> None:
    shown = _tracemill(tmp_path, "--help").stdout
    assert "--max-steps" in shown
    assert "TRACEMILL_ROTATE_BYTES" in shown


def test_autostart_records_a_script_that_knows_nothing(tmp_path: Path) -> None:
    run(tmp_path, "import time\ntime.sleep(0.3)", TRACEMILL_AUTOSTART="1")
    segment = tmraw.read_one(tmp_path)
    assert segment.meta["command"] == "train"
    assert segment.meta["end_reason"] == "exit"
    assert len({row["time_ns"] for row in segment.rows["samples"]}) >= 3


@pytest.mark.parametrize("value", ["", "0", "false", "nonsense"])
def test_autostart_off(tmp_path: Path, value: str) -> None:
    done = run(tmp_path, "print(1)", TRACEMILL_AUTOSTART=value)
    assert done.stdout == "1\n"
    assert tmraw.read_all(tmp_path) == []
    assert ("recording was not started" in done.stderr) is (value == "nonsense")


def test_autostart_never_breaks_the_start_of_python(tmp_path: Path) -> None:
    env: dict[str, Any] = {"TRACEMILL_AUTOSTART": "1", "TRACEMILL_MAX_STEPS": "many"}
    done = run(tmp_path, "print(1)", TRACEMILL_OUTPUT="/proc/nowhere", **env)
    assert done.stdout == "1\n"
    assert "environment variable TRACEMILL_MAX_STEPS is not used" in done.stderr
    assert "cannot write to /proc/nowhere" in done.stderr


def test_processes_the_script_starts_join_the_job(tmp_path: Path) -> None:
    path = script(
        tmp_path,
        """
        import os, subprocess, sys
        del os.environ["TRACEMILL_OUTPUT"]
        subprocess.run([sys.executable, "-c", "import tracemill\\nwith tracemill.step(2): pass"])
        """,
    )
    store = str(tmp_path / "store")
    env: dict[str, Any] = {"TRACEMILL_OUTPUT": ""}
    command = [sys.executable, "-m", "tracemill", "--output", store, str(path)]
    run_command(tmp_path, command, TRACEMILL_JOB="", **env)
    jobs = {segment.meta["job"] for segment in tmraw.read_all(tmp_path)}
    assert len(jobs) == 1
    assert jobs.pop().startswith("train-")
