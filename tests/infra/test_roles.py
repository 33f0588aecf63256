from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from infra import grants
from infra.config import Config
from infra.pages import roles_page
from tests.support.aws.iam import Need, denied, role_statements
from tests.support.synth import Assembly

BUCKET = "arn:aws:s3:::tracemill-123456789012-eu-central-1"
Statement = dict[str, Any]


def statements(assembly: Assembly) -> dict[str, list[Statement]]:
    """All statements by role, inline and added ones."""
    found: dict[str, list[Statement]] = {}
    for role in assembly.all("AWS::IAM::Role"):
        assert "ManagedPolicyArns" not in role
        documents = [p["PolicyDocument"] for p in role.get("Policies", [])]
        found[role["RoleName"]] = [s for d in documents for s in d["Statement"]]
    for policy in assembly.all("AWS::IAM::RolePolicy"):
        found[policy["RoleName"]] += policy["PolicyDocument"]["Statement"]
    return found


def many(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def pairs(statement: Statement) -> Iterator[tuple[str, str]]:
    for action in many(statement["Action"]):
        for resource in many(statement["Resource"]):
            yield action, resource


def short(role: str) -> str:
    return role.removeprefix("tracemill-").removesuffix("-eu-central-1")


@pytest.fixture(scope="module")
def by_role(stacks: Assembly) -> dict[str, list[Statement]]:
    return {short(role): found for role, found in statements(stacks).items()}


def test_there_is_one_role_per_principal(by_role: dict[str, list[Statement]]) -> None:
    assert set(by_role) == {
        *grants.FUNCTION_GRANTS,
        "workflow",
        *grants.PEOPLE_GRANTS,
        "app-image",
    }


def test_templates_hold_exactly_the_declared_grants(
    stacks: Assembly, by_role: dict[str, list[Statement]]
) -> None:
    (key_id,) = stacks.resources("storage", "AWS::KMS::Key")
    scope = grants.Scope(
        Config(account="123456789012", region="eu-central-1"), f"<storage.{key_id}.Arn>"
    )
    (domain_id,) = stacks.resources("studio", "AWS::SageMaker::Domain")
    repository = "arn:aws:ecr:eu-central-1:123456789012:repository/{}".format(
        "cdk-hnb659fds-container-assets-123456789012-eu-central-1"
    )
    declared = {
        **{name: grants.function_grants(scope, name) for name in grants.FUNCTION_GRANTS},
        "workflow": grants.state_machine_grants(scope),
        **{name: make(scope) for name, make in grants.PEOPLE_GRANTS.items()},
        "app-image": grants.app_image(scope, repository),
    }
    declared["studio-user"] += grants.studio_apps(scope, f"<studio.{domain_id}.DomainId>")
    for role, expected in declared.items():
        assert [
            (
                s["Sid"],
                tuple(many(s["Action"])),
                tuple(many(s["Resource"])),
                s.get("Condition", {}),
            )
            for s in by_role[role]
        ] == [(g.sid, g.actions, g.resources, dict(g.conditions)) for g in expected], role


def test_no_action_holds_a_star_and_all_statements_allow(
    stacks: Assembly, guest_stacks: Assembly
) -> None:
    for assembly in (stacks, guest_stacks):
        for found in statements(assembly).values():
            for statement in found:
                assert statement["Effect"] == "Allow"
                assert "NotAction" not in statement
                assert "NotResource" not in statement
                assert not [a for a in many(statement["Action"]) if "*" in a]


def test_a_star_as_resource_only_where_aws_has_nothing_narrower(
    stacks: Assembly, guest_stacks: Assembly
) -> None:
    used = {
        action
        for assembly in (stacks, guest_stacks)
        for found in statements(assembly).values()
        for statement in found
        for action, resource in pairs(statement)
        if resource == "*"
    }
    assert used == set(grants.UNSCOPABLE)
    assert all(grants.UNSCOPABLE.values())


def test_other_stars_stand_only_at_the_end_or_for_a_job_name(
    by_role: dict[str, list[Statement]],
) -> None:
    for found in by_role.values():
        for statement in found:
            for _, resource in pairs(statement):
                if resource != "*" and "*" in resource:
                    assert "*" not in resource[:-1].replace("job_name=*", ""), resource
                    assert resource.split(":")[2] in {"s3", "logs", "sagemaker", "states"}


def test_listing_is_always_bound_to_prefixes(by_role: dict[str, list[Statement]]) -> None:
    listings = [
        s for found in by_role.values() for s in found if "s3:ListBucket" in many(s["Action"])
    ]
    assert len(listings) == 8  # reconciler, five steps, studio-user, analyst
    for statement in listings:
        prefixes = statement["Condition"]["StringLike"]["s3:prefix"]
        assert prefixes
        assert all(prefix.endswith("/*") and len(prefix) > 2 for prefix in many(prefixes))


def allowed(found: list[Statement], action: str) -> set[str]:
    return {
        resource.removeprefix(f"{BUCKET}/")
        for statement in found
        for name, resource in pairs(statement)
        if name == action
    }


def test_a_training_job_puts_recordings_and_can_do_nothing_else(
    by_role: dict[str, list[Statement]],
) -> None:
    actions = {a for s in by_role["training"] for a in many(s["Action"])}
    assert actions == {"s3:PutObject", "kms:Decrypt", "kms:GenerateDataKey"}
    assert allowed(by_role["training"], "s3:PutObject") == {"raw/*"}


def test_a_studio_user_has_the_six_permissions_and_the_key(
    by_role: dict[str, list[Statement]],
) -> None:
    actions = {a for s in by_role["studio-user"] for a in many(s["Action"])}
    assert actions == {
        "sagemaker:CreateApp",
        "sagemaker:DeleteApp",
        "sagemaker:DescribeTrainingJob",
        "sagemaker:Search",
        "s3:GetObject",
        "s3:ListBucket",
        "kms:Decrypt",
    }
    assert allowed(by_role["studio-user"], "s3:GetObject") == {"tables/*", "jobs/*", "reports/*"}
    (apps,) = allowed(by_role["studio-user"], "sagemaker:CreateApp")
    assert apps.startswith("arn:aws:sagemaker:eu-central-1:123456789012:app/<studio.")


def test_only_convert_and_discover_read_recordings_and_nobody_of_us_writes_them(
    by_role: dict[str, list[Statement]],
) -> None:
    readers = {r for r, found in by_role.items() if "raw/*" in allowed(found, "s3:GetObject")}
    writers = {r for r, found in by_role.items() if "raw/*" in allowed(found, "s3:PutObject")}
    assert readers == {"convert", "discover"}
    assert writers == {"training"}


def test_only_the_report_writes_what_makes_a_profile_complete(
    by_role: dict[str, list[Statement]],
) -> None:
    writers = {r for r, found in by_role.items() if "jobs/*" in allowed(found, "s3:PutObject")}
    assert writers == {"report"}


def test_an_analyst_writes_only_results_of_queries(by_role: dict[str, list[Statement]]) -> None:
    assert allowed(by_role["analyst"], "s3:PutObject") == {"athena/*"}
    assert not allowed(by_role["analyst"], "s3:DeleteObject")


def test_only_the_state_machine_calls_functions_and_only_those_of_its_steps(
    by_role: dict[str, list[Statement]],
) -> None:
    callers = {r for r, found in by_role.items() if allowed(found, "lambda:InvokeFunction")}
    assert callers == {"workflow"}
    start = "arn:aws:lambda:eu-central-1:123456789012:function:tracemill-"
    assert allowed(by_role["workflow"], "lambda:InvokeFunction") == {
        f"{start}{name}" for name in ("discover", "convert", "aggregate", "report", "catalog")
    }


def test_keys_are_used_by_way_of_the_service_only(by_role: dict[str, list[Statement]]) -> None:
    for found in by_role.values():
        for statement in found:
            if any(action.startswith("kms:") for action in many(statement["Action"])):
                (service,) = statement["Condition"]["StringEquals"].values()
                assert service in {
                    "s3.eu-central-1.amazonaws.com",
                    "sns.eu-central-1.amazonaws.com",
                }


def test_an_existing_bucket_and_prefix_bound_all_grants(guest_stacks: Assembly) -> None:
    seen = {
        resource
        for found in statements(guest_stacks).values()
        for statement in found
        for _, resource in pairs(statement)
        if resource.startswith("arn:aws:s3:::")
    }
    bucket = "arn:aws:s3:::existing-bucket"
    assert bucket in seen
    assert all(r == bucket or r.startswith(f"{bucket}/team/profiles/") for r in seen)
    keys = {
        resource
        for found in statements(guest_stacks).values()
        for statement in found
        for action, resource in pairs(statement)
        if action == "kms:Decrypt" and resource.startswith("arn:")
    }
    assert keys == {"arn:aws:kms:eu-central-1:123456789012:key/0a1b"}


@pytest.mark.parametrize("role", ["discover", "studio-user"])
def test_a_pattern_of_job_names_bounds_what_may_be_described(
    guest_stacks: Assembly, role: str
) -> None:
    (name,) = [r for r in role_statements(guest_stacks) if f"-{role}-" in f"-{r}-"]
    found = role_statements(guest_stacks)[name]

    def described(job: str, region: str = "eu-central-1") -> bool:
        job_arn = f"arn:aws:sagemaker:{region}:123456789012:training-job/{job}"
        return not denied(found, [Need(role, "sagemaker:DescribeTrainingJob", job_arn, "")])

    assert described("train-7")
    assert described("Train-7")
    assert not described("other-7")
    assert not described("my-train-7")
    assert not described("train-7", "eu-west-1")


def test_a_bucket_without_a_key_needs_no_grant_for_one() -> None:
    scope = grants.Scope(
        Config(account="123456789012", region="eu-central-1", bucket="plain"), "own-key"
    )
    for make in grants.PEOPLE_GRANTS.values():
        assert "kms" not in json.dumps([g.actions for g in make(scope)])
    by_sid = {g.sid: g for g in grants.state_machine_grants(scope)}
    assert by_sid["TopicKey"].resources == ("own-key",)
    assert "StoreKey" not in by_sid


@pytest.mark.parametrize(
    ("role", "service"),
    [
        *((name, "lambda.amazonaws.com") for name in grants.FUNCTION_GRANTS),
        ("workflow", "states.amazonaws.com"),
        ("training", "sagemaker.amazonaws.com"),
        ("studio-user", "sagemaker.amazonaws.com"),
        ("app-image", "sagemaker.amazonaws.com"),
    ],
)
def test_a_role_trusts_its_service_only(stacks: Assembly, role: str, service: str) -> None:
    (found,) = [r for r in stacks.all("AWS::IAM::Role") if short(r["RoleName"]) == role]
    (trust,) = found["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": service}
    if role == "workflow":
        assert trust["Condition"]["StringEquals"] == {"aws:SourceAccount": "123456789012"}


def test_people_of_the_account_may_become_analysts(stacks: Assembly) -> None:
    (found,) = [r for r in stacks.all("AWS::IAM::Role") if short(r["RoleName"]) == "analyst"]
    (trust,) = found["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"AWS": "arn:aws:iam::123456789012:root"}


def test_the_page_of_roles_names_every_grant() -> None:
    page = roles_page()
    scope = grants.Scope(Config(account="123456789012", region="eu-central-1"), "key")
    for name in grants.FUNCTION_GRANTS:
        for grant in grants.function_grants(scope, name):
            assert grant.reason in page
            for action in grant.actions:
                assert f"`{action}`" in page
