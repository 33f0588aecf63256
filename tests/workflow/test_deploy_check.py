"""`tracemill deploy-check` against the synthesized system, whole and with parts missing."""

from __future__ import annotations

import pytest
from tracemill_cli.main import main
from tracemill_s3 import deploy_check

from tests.support.aws.server import objects
from tests.support.aws.system import System


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deploy_check, "POLL_S", 0.1)


def check(system: System, *more: str) -> int:
    return main(["deploy-check", "--store", system.store_uri, *more])


def test_a_whole_system_passes_and_is_left_as_it_was(
    system: System, capsys: pytest.CaptureFixture[str]
) -> None:
    before = set(objects(system.bucket))
    assert check(system, "--job", "check-whole") == 0
    told = capsys.readouterr().out
    assert "report: there; the profile is" in told
    assert told.endswith("the deployed system works\n")
    assert set(objects(system.bucket)) == before


def test_an_absent_store_is_named(system: System, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deploy-check", "--store", "s3://no-such-bucket-here"]) == 1
    assert "no-such-bucket-here" in capsys.readouterr().err


def test_an_absent_function_is_named(
    system: System, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    assert check(system, "--name", "other", "--job", "check-absent") == 1
    assert ":function:other-starter: " in capsys.readouterr().err
    assert not [key for key in objects(system.bucket) if "check-absent" in key]


def test_a_failed_workflow_tells_the_failed_step(
    system: System,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    broken = tmp_path_factory.mktemp("probe") / "broken.tmraw"
    broken.write_bytes(b"no recording")
    monkeypatch.setattr(deploy_check, "PROBE", broken)
    assert check(system, "--job", "check-broken") == 1
    assert "workflow: FAILED in " in capsys.readouterr().err


def test_a_job_name_that_was_used_is_told(
    system: System, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(system, "--job", "check-twice", "--keep") == 0
    assert [key for key in objects(system.bucket) if "reports/job_name=check-twice/" in key]
    assert check(system, "--job", "check-twice") == 1
    assert "starter: left check-twice alone" in capsys.readouterr().err
    assert not [key for key in objects(system.bucket) if "check-twice" in key]


def test_a_workflow_that_does_not_end_is_given_up(
    system: System, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(system, "--job", "check-slow", "--timeout", "0") == 1
    assert "workflow: still running after 0 s" in capsys.readouterr().err


def test_a_folder_is_no_deployed_system(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deploy-check", "--store", "somewhere"]) == 2
    assert "a deployed system has its store in s3://" in capsys.readouterr().err
