from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from tests.support.synth import Assembly, synthesize

STACKS = {"storage", "catalog", "access", "pipeline", "studio"}


def test_all_stacks_are_written_for_a_concrete_place(stacks: Assembly) -> None:
    assert set(stacks.templates) == STACKS
    manifest = json.loads((stacks.folder / "manifest.json").read_text())
    assert not manifest.get("missing"), "synth would have to ask AWS"
    places = {
        name: artifact["environment"]
        for name, artifact in manifest["artifacts"].items()
        if artifact["type"] == "aws:cloudformation:stack"
    }
    assert places == dict.fromkeys(STACKS, "aws://123456789012/eu-central-1")


def test_stacks_depend_only_on_what_stands_before_them(stacks: Assembly) -> None:
    manifest = json.loads((stacks.folder / "manifest.json").read_text())
    depends = {
        name: {other for other in artifact.get("dependencies", []) if other in STACKS}
        for name, artifact in manifest["artifacts"].items()
        if name in STACKS
    }
    assert depends["storage"] == set()
    assert depends["access"] == {"storage"}
    assert depends["pipeline"] == {"storage", "access"}
    assert depends["studio"] == {"storage", "access"}


def test_everything_that_can_be_tagged_is(guest_stacks: Assembly) -> None:
    for kind in ("AWS::Lambda::Function", "AWS::SQS::Queue", "AWS::IAM::Role"):
        for resource in guest_stacks.all(kind):
            tags = {tag["Key"]: tag["Value"] for tag in resource["Tags"]}
            assert tags == {"team": "vision", "tracemill:system": "tm-two"}


def test_no_stack_brings_helper_functions_with_roles_of_their_own(
    stacks: Assembly, guest_stacks: Assembly
) -> None:
    for assembly in (stacks, guest_stacks):
        kinds = {r["Type"] for t in assembly.templates.values() for r in t["Resources"].values()}
        assert not [kind for kind in kinds if kind.startswith("Custom::")]
        assert "AWS::IAM::ManagedPolicy" not in kinds
        assert "AWS::IAM::Policy" not in kinds


def test_the_templates_pass_cfn_lint(stacks: Assembly, guest_stacks: Assembly) -> None:
    from cfnlint.api import ManualArgs, lint_file

    found = [
        str(match)
        for assembly in (stacks, guest_stacks)
        for path in sorted(assembly.folder.glob("*.template.json"))
        for match in lint_file(path, config=ManualArgs(regions=["eu-central-1"]))
    ]
    assert found == []


def acknowledged(assembly: Assembly) -> dict[tuple[str, str], str]:
    """Reason by construct path and rule."""
    return {
        (path.strip("/"), rule.removeprefix("Annotation::")): reason
        for file in assembly.folder.glob("*.metadata.json")
        for path, entries in json.loads(file.read_text()).items()
        for entry in entries
        if entry["type"] == "aws:cdk:acknowledged-rules"
        for rule, reason in entry["data"].items()
    }


def test_every_finding_of_cdk_nag_is_acknowledged_with_a_reason_and_no_other(
    stacks: Assembly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("infra.nag", "infra.constructs.triggers", "infra.constructs.network"):
        monkeypatch.setattr(f"{module}.acknowledge", lambda *_: None)
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        synthesize(tmp_path, account="123456789012", region="eu-central-1")
    report = json.loads((tmp_path / "validation-report.json").read_text())
    found = {
        (construct["constructPath"].removesuffix("/Resource"), violation["ruleName"])
        for plugin in report["pluginReports"]
        for violation in plugin["violations"]
        for construct in violation["violatingConstructs"]
    }
    reasons = acknowledged(stacks)
    assert set(reasons) == found
    assert all(len(reason) > 10 for reason in reasons.values())


def test_synth_makes_no_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CDK_VALIDATION", "false")
    assert set(synthesize(tmp_path, studio="no").templates) == STACKS - {"studio"}
