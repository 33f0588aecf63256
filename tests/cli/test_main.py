from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tracemill_cli.commands import COMMANDS
from tracemill_cli.commands.import_ import default_job_name
from tracemill_cli.main import main


def exit_code(*arguments: str) -> int:
    try:
        return main(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.NAME)
def test_every_verb_has_help(command: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(command.NAME, "--help") == 0  # type: ignore[attr-defined]
    assert "usage: tracemill" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("fly",),
        ("import", "--store", "s"),
        ("process", "--store", "s"),
        ("report", "--store", "s", "--job", "j", "--format", "pdf"),
        ("query", "--store", "s"),
        ("record",),
        ("record", "--job", "a/b", "--", "true"),
        ("ui", "--store", ".", "--port", "70000"),
    ],
)
def test_wrong_usage_exits_with_2(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(*arguments) == 2
    assert capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("import", "no-such.json", "--store", "s"), "no-such.json: no such file or folder"),
        (("process", "--store", "nowhere", "--job", "j"), "store nowhere: no such folder"),
        (("report", "--store", ".", "--job", "j"), "job j: the store . holds no jobs"),
        (("query", "SELECT 1", "--store", ".", "--job", "j"), "job j: the store . holds no jobs"),
        (("query", "DROP TABLE x", "--store", "."), "only SELECT is allowed"),
        (("record", "--store", "s", "--", "no-such-command"), "cannot run no-such-command"),
    ],
)
def test_what_cannot_be_done_is_one_clear_line_and_exit_code_1(
    arguments: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert exit_code(*arguments) == 1
    said = capsys.readouterr().err
    assert message in said and said.startswith("tracemill: ")
    assert said.count("\n") == 1


def test_query_without_a_store_of_jobs_still_knows_the_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sql = "SELECT count(*) AS n FROM kernels"
    assert exit_code("query", sql, "--store", str(tmp_path), "--format", "json") == 0
    assert json.loads(capsys.readouterr().out) == [{"n": 0}]


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    sql = "SELECT range FROM range(2000000)"
    command = [sys.executable, "-m", "tracemill_cli.main", "query", sql, "--store", str(tmp_path)]
    with subprocess.Popen(
        [*command, "--format", "csv"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 0


@pytest.mark.parametrize(
    ("path", "job"),
    [
        ("x/worker0.1623143089861.pt.trace.json.gz", "worker0.1623143089861"),
        ("my run/", "my-run"),
        ("trace.json", "trace"),
        ("???.json", "job"),
    ],
)
def test_a_job_is_named_after_its_first_path(path: str, job: str) -> None:
    assert default_job_name(Path(path)) == job
