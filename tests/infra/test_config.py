from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest
from tracemill_schema.aws import FUNCTIONS

from infra.config import Config, ConfigError, options_table
from infra.limits import FUNCTION_LIMITS, LONGEST_TIMEOUT_S
from infra.names import Names


def configured(**context: object) -> Config:
    return Config.from_context({"account": "123456789012", "region": "eu-central-1", **context}.get)


def test_no_option_gives_a_whole_system() -> None:
    config = configured()
    names = Names(config)
    assert names.bucket == "tracemill-123456789012-eu-central-1"
    assert names.store_uri == "s3://tracemill-123456789012-eu-central-1"
    assert names.database == names.workgroup == "tracemill"
    assert (config.job_name_pattern, config.raw_retention_days) == ("*", 30)
    assert config.studio_users == ("tracemill",)
    assert not config.destroy


def test_account_and_region_come_from_the_command_line_or_are_dummies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("CDK_DEFAULT_ACCOUNT", raising=False)
    monkeypatch.delenv("CDK_DEFAULT_REGION", raising=False)
    assert (Config().account, Config().region) == ("123456789012", "us-east-1")
    monkeypatch.setenv("CDK_DEFAULT_ACCOUNT", "210987654321")
    monkeypatch.setenv("CDK_DEFAULT_REGION", "ap-south-1")
    assert (Config().account, Config().region) == ("210987654321", "ap-south-1")


def test_strings_of_the_command_line_and_values_of_cdk_json_mean_the_same() -> None:
    texts = configured(
        studio="false", raw_retention_days="7", studio_users="a, b", tags='{"k": "v"}'
    )
    values = configured(
        studio=False, raw_retention_days=7, studio_users=["a", "b"], tags={"k": "v"}
    )
    assert texts == values
    assert (texts.studio, texts.raw_retention_days, texts.studio_users) == (False, 7, ("a", "b"))
    assert texts.tags == {"k": "v"}


@pytest.mark.parametrize(
    ("region", "partition"),
    [("eu-west-1", "aws"), ("cn-north-1", "aws-cn"), ("us-gov-west-1", "aws-us-gov")],
)
def test_arns_carry_the_partition_of_the_region(region: str, partition: str) -> None:
    names = Names(configured(region=region))
    assert names.state_machine_arn == (
        f"arn:{partition}:states:{region}:123456789012:stateMachine:tracemill-workflow"
    )


def test_a_prefix_stands_before_every_key() -> None:
    names = Names(configured(bucket="b-1", prefix="team/profiles"))
    assert names.store_uri == "s3://b-1/team/profiles"
    assert names.objects_arn("raw/*") == "arn:aws:s3:::b-1/team/profiles/raw/*"


def test_arns_of_training_jobs_in_both_spellings() -> None:
    start = "arn:aws:sagemaker:eu-central-1:123456789012:training-job/"
    assert Names(configured()).training_job_arns() == (f"{start}*",)
    assert Names(configured(job_name_pattern="Big-*")).training_job_arns() == (
        f"{start}big-*",
        f"{start}Big-*",
    )


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"account": "12"}, r"account='12': take twelve digits"),
        ({"region": "Frankfurt"}, "region='Frankfurt'"),
        ({"name": "Tracemill"}, "name='Tracemill': take 2 to 20"),
        ({"prefix": "/a"}, "without a slash at either end"),
        ({"job_name_pattern": "a*b"}, "job_name_pattern='a\\*b'"),
        ({"job_name_pattern": ""}, "job_name_pattern=''"),
        ({"raw_retention_days": "soon"}, "raw_retention_days='soon'"),
        ({"raw_retention_days": -1}, "take 0 to 3650"),
        ({"log_retention_days": 31}, "log_retention_days=31: take one of"),
        ({"studio": "maybe"}, "studio='maybe': take true or false"),
        ({"email": "nobody"}, "email='nobody'"),
        ({"tags": "[1]"}, "JSON object"),
        ({"tags": "{"}, "tags='{'"),
        ({"studio_users": "a_b"}, "studio_users"),
        ({"domain_id": "x"}, "domain_id='x'"),
        ({"vpc_id": "vpc-0123abcd"}, "vpc_id and subnet_ids: give both or none"),
        (
            {"vpc_id": "vpc-0123abcd", "subnet_ids": "subnet-0123abcd", "domain_id": "d-1"},
            "has its VPC already",
        ),
        ({"vpc_only": True}, "vpc_only"),
        ({"bucket_key_arn": "arn:aws:kms:eu-west-1:123456789012:key/1"}, "only with an existing"),
        ({"idle_minutes": 5}, "60 to 525600"),
        ({"architecture": "riscv"}, "x86_64 or arm64"),
        ({"removal": "snapshot"}, "retain or destroy"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_bad_option_is_named(context: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        configured(**context)


def test_the_configuration_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        configured().name = "other"  # type: ignore[misc]


def test_every_option_is_in_the_table_of_options() -> None:
    table = options_table()
    for option in fields(Config):
        assert f"| `{option.name}` |" in table
        assert option.metadata["doc"] in table


def test_every_function_has_limits_with_a_reason() -> None:
    assert set(FUNCTION_LIMITS) == {function.name for function in FUNCTIONS}
    for limits in FUNCTION_LIMITS.values():
        assert limits.reason
        assert 0 < limits.timeout_s <= LONGEST_TIMEOUT_S < 900
        assert 128 <= limits.memory_mib <= 10_240
        assert 512 <= limits.disk_mib <= 10_240
