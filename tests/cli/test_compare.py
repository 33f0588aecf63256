from __future__ import annotations

import json
from pathlib import Path

import pytest
from tracemill_analysis.store import LocalStore
from tracemill_cli.main import main

from tests.support.profiles import write_cpu_job, write_gpu_job


@pytest.fixture
def store(tmp_path: Path) -> Path:
    write_gpu_job(LocalStore(tmp_path / "s"))
    write_cpu_job(LocalStore(tmp_path / "s"))
    return tmp_path / "s"


def test_compare_prints_and_writes(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "--store", str(store), "gpu-job", "cpu-job"]) == 0
    assert capsys.readouterr().out.startswith("A: gpu-job (")
    page = tmp_path / "c.html"
    arguments = ["compare", "--store", str(store), "gpu-job", "cpu-job", "--format", "html"]
    assert main([*arguments, "-o", str(page)]) == 0
    assert page.read_text().startswith("<!doctype html>")
    assert main(["compare", "--store", str(store), "cpu-job", "cpu-job", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["same"] is True


@pytest.mark.parametrize(
    ("jobs", "message"),
    [
        (("gpu-job", "nope"), "job nope: not in the store"),
        (("../x", "cpu-job"), "job name '../x' cannot be used"),
    ],
)
def test_bad_input_exits_with_2(
    jobs: tuple[str, str], message: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "--store", str(store), *jobs]) == 2
    assert message in capsys.readouterr().err
    assert main(["compare", "--store", str(store / "none"), *jobs]) == 2


def test_a_file_that_cannot_be_written_is_one_clear_line(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = str(store / "no" / "such.html")
    assert main(["compare", "--store", str(store), "cpu-job", "cpu-job", "-o", target]) == 1
    assert "cannot write the comparison" in capsys.readouterr().err
