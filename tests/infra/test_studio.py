from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.synth import Assembly, synthesize


def test_the_domain_starts_the_apps_image_and_ends_idle_apps(stacks: Assembly) -> None:
    domain = stacks.only("studio", "AWS::SageMaker::Domain")
    assert domain["AuthMode"] == "IAM"
    assert domain["AppNetworkAccessType"] == "PublicInternetOnly"
    for settings in (domain["DefaultUserSettings"], domain["DefaultSpaceSettings"]):
        lab = settings["JupyterLabAppSettings"]
        assert lab["CustomImages"] == [
            {"AppImageConfigName": "tracemill-app", "ImageName": "tracemill-app"}
        ]
        assert lab["AppLifecycleManagement"]["IdleSettings"] == {
            "LifecycleManagement": "ENABLED",
            "IdleTimeoutInMinutes": 120,
        }
        assert settings["ExecutionRole"].startswith("<access.studiouserRole")


def test_the_image_is_the_apps_and_is_told_its_store(stacks: Assembly) -> None:
    assets = json.loads((stacks.folder / "studio.assets.json").read_text())
    (image,) = assets["dockerImages"].values()
    assert image["source"]["dockerFile"] == "ui_app/Dockerfile"
    assert image["source"]["platform"] == "linux/amd64"
    folder = stacks.folder / image["source"]["directory"]
    assert not (folder / "ui_app" / "web" / "node_modules").exists()
    assert not (folder / "ui_app/server/src/tracemill_ui/static").exists()
    tag = next(iter(assets["dockerImages"]))
    version = stacks.only("studio", "AWS::SageMaker::ImageVersion")
    assert version["BaseImage"]["Fn::Sub"].endswith(f":{tag}")
    start = stacks.only("studio", "AWS::SageMaker::AppImageConfig")
    container = start["JupyterLabAppImageConfig"]["ContainerConfig"]
    assert container["ContainerEnvironmentVariables"] == [
        {
            "Key": "TRACEMILL_STORE",
            "Value": "s3://tracemill-123456789012-eu-central-1",
        }
    ]
    assert "ContainerEntrypoint" not in container


def test_the_small_network_has_no_way_out_and_nothing_billed_by_the_hour(stacks: Assembly) -> None:
    kinds = [r["Type"] for r in stacks.templates["studio"]["Resources"].values()]
    assert kinds.count("AWS::EC2::Subnet") == 2
    for absent in ("NatGateway", "InternetGateway", "Route", "EIP", "TransitGatewayAttachment"):
        assert f"AWS::EC2::{absent}" not in kinds
    endpoint = stacks.only("studio", "AWS::EC2::VPCEndpoint")
    assert endpoint["VpcEndpointType"] == "Gateway"
    assert endpoint["ServiceName"] == "com.amazonaws.eu-central-1.s3"
    for subnet in stacks.resources("studio", "AWS::EC2::Subnet").values():
        assert subnet["MapPublicIpOnLaunch"] is False


def test_an_existing_domain_gets_image_and_users_only(guest_stacks: Assembly) -> None:
    kinds = {r["Type"] for r in guest_stacks.templates["studio"]["Resources"].values()}
    assert "AWS::SageMaker::Domain" not in kinds
    assert not [kind for kind in kinds if kind.startswith("AWS::EC2::")]
    users = guest_stacks.resources("studio", "AWS::SageMaker::UserProfile").values()
    assert {user["UserProfileName"] for user in users} == {"anna", "ben"}
    for user in users:
        assert user["DomainId"] == "d-abc123"
        images = user["UserSettings"]["JupyterLabAppSettings"]["CustomImages"]
        assert images == [{"AppImageConfigName": "tm-two-app", "ImageName": "tm-two-app"}]
    policy = guest_stacks.only("studio", "AWS::IAM::RolePolicy")
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert statement["Resource"] == "arn:aws:sagemaker:eu-central-1:123456789012:app/d-abc123/*"


def test_a_given_network_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDK_VALIDATION", "false")
    given = synthesize(
        tmp_path,
        account="123456789012",
        region="eu-central-1",
        vpc_id="vpc-0123abcd",
        subnet_ids="subnet-0123abcd,subnet-4567abcd",
        vpc_only="true",
    )
    domain = given.only("studio", "AWS::SageMaker::Domain")
    assert (domain["VpcId"], domain["SubnetIds"]) == (
        "vpc-0123abcd",
        ["subnet-0123abcd", "subnet-4567abcd"],
    )
    assert domain["AppNetworkAccessType"] == "VpcOnly"
    assert given.resources("studio", "AWS::EC2::VPC") == {}
