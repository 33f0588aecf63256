"""Least privilege both ways: every call is granted, and every grant is used by some call.

Functions, state machine, training job, Studio user and analyst do their work; each AWS call becomes
the permissions AWS would ask for, which are evaluated against the synthesized roles.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace

import pytest
from tracemill_schema import aws
from tracemill_schema.tables import TABLES

from tests.support.aws import people
from tests.support.aws.iam import Need, Statement, denied, like, role_statements
from tests.support.aws.needs import Place, arn, needs_of, object_arn, service_needs
from tests.support.aws.system import System
from tests.support.synth import Assembly

ROLES = (
    "starter", "reconciler", "discover", "convert", "aggregate", "report", "catalog",
    "workflow", "training", "studio-user", "analyst",
)  # fmt: skip
BUCKET = "tracemill-123456789012-eu-central-1"
JOB = "least"


@pytest.fixture(scope="module")
def needs(
    system: System, recorded: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[Need]]:
    """What every role needs for the work of a day."""
    folder = tmp_path_factory.mktemp("people")
    training = people.train(system, recorded, JOB, folder)
    event = system.train(JOB)
    # A process fails for good, then all is well: quarantine, and removal of what was before.
    system.fault("convert", "PutObject", "AccessDenied", f"job_name={JOB}/p00001")
    (missed,) = system.functions.result("reconciler", {})["started"]
    assert system.wait(system.execution_arn(missed)).status == "SUCCEEDED"
    assert system.deliver(event) == {"started": False, "execution": missed}
    assert system.execute(JOB).status == "SUCCEEDED"
    lost = system.process(system.train("least-lost", TRACEMILL_AUTOSTART="1"))
    assert lost.status == "FAILED"
    (domain_id,) = system.assembly.resources("studio", "AWS::SageMaker::Domain")
    studio = people.look_around(system, JOB, f"<studio.{domain_id}.DomainId>", folder)
    analyst = people.ask(system, JOB)

    place = Place.of(system.assembly)
    calls = [
        *system.calls(),
        *system.machine_calls,
        *training.calls,
        *studio.calls,
        *analyst.calls,
    ]
    found = [need for call in calls for need in needs_of(call, place)]
    by_role: dict[str, list[Need]] = {}
    for need in (*found, *service_needs(system)):
        by_role.setdefault(need.role, []).append(need)
    return by_role


@pytest.fixture(scope="module")
def roles(stacks: Assembly) -> dict[str, list[Statement]]:
    return role_statements(stacks)


def test_every_role_is_put_to_the_test(
    needs: dict[str, list[Need]], roles: dict[str, list[Statement]]
) -> None:
    assert set(needs) == set(ROLES)
    # SageMaker alone uses the app image's role: it pulls the image.
    assert set(roles) == {*ROLES, "app-image"}


@pytest.mark.parametrize("role", ROLES)
def test_every_call_is_granted(
    needs: dict[str, list[Need]], roles: dict[str, list[Statement]], role: str
) -> None:
    assert denied(roles[role], needs[role]) == []


@pytest.mark.parametrize("role", ROLES)
def test_nothing_can_be_taken_away(
    needs: dict[str, list[Need]], roles: dict[str, list[Statement]], role: str
) -> None:
    """Without any statement, action or resource of it, something is denied."""
    spare = []
    for statement in roles[role]:
        others = [one for one in roles[role] if one is not statement]
        for lacking, smaller in statement.without():
            rest = [*others, smaller] if smaller else others
            if not denied(rest, needs[role]):
                spare.append(lacking)
    # A job has the tables it has events for; the grant names all.
    tables = {arn("glue", f"table/tracemill/{table.name}") for table in TABLES}
    spare_tables = {one.partition(": ")[2] for one in spare} & tables
    assert len(spare) == len(spare_tables), spare
    assert spare_tables < tables


def test_the_table_of_who_uses_what(
    needs: dict[str, list[Need]], roles: dict[str, list[Statement]]
) -> None:
    """``pytest -s`` shows it."""
    lines = []
    for role in ROLES:
        for statement in roles[role]:
            for action in statement.actions:
                one = replace(statement, actions=(action,))
                users = Counter(need.why for need in needs[role] if one.allows(need))
                assert users, f"{role}: nothing uses {action} of {statement.sid}"
                text = ", ".join(f"{why} ×{count}" for why, count in sorted(users.items()))
                lines.append(f"{role:12} {statement.sid:12} {action:34} {text}")
    sys.stdout.write("\n".join(["", *lines, ""]))
    assert len(lines) == sum(len(one.actions) for role in ROLES for one in roles[role])


@pytest.mark.parametrize("role", ROLES)
def test_the_same_calls_elsewhere_are_denied(
    needs: dict[str, list[Need]], roles: dict[str, list[Statement]], role: str
) -> None:
    """Other bucket, other account, other region, another installation: nothing is granted."""
    for need in {need for need in needs[role] if need.resource != "*"}:
        for here, there in (
            (f":::{BUCKET}", ":::other-bucket"),
            (f":::{BUCKET}", f":::{BUCKET}-2"),
            (":123456789012:", ":210987654321:"),
            (":eu-central-1:", ":eu-west-1:"),
            ("tracemill", "tracemill-2"),
        ):
            elsewhere = need.resource.replace(here, there)
            if elsewhere != need.resource:
                moved = replace(need, resource=elsewhere)
                assert denied(roles[role], [moved]) == [moved]
        if need.context:
            bare = replace(need, context={})
            assert denied(roles[role], [bare]) == [bare]


def s3(role: str, action: str, key: str) -> Need:
    return Need(role, f"s3:{action}", object_arn(BUCKET, key), "")


def listing(role: str, **context: str) -> Need:
    where = {f"s3:{name}": value for name, value in context.items()}
    return Need(role, "s3:ListBucket", f"arn:aws:s3:::{BUCKET}", "", where)


@pytest.mark.parametrize(
    "need",
    [
        s3("training", "GetObject", f"raw/job_name={JOB}/node=a/process=1-1/000000.tmraw"),
        s3("training", "PutObject", "tables/jobs/job_name=x/all.parquet"),
        s3("training", "PutObject", "athena/x.csv"),
        s3("training", "DeleteObject", f"raw/job_name={JOB}/node=a/process=1-1/000000.tmraw"),
        listing("training", prefix="raw/"),
        s3("studio-user", "GetObject", f"raw/job_name={JOB}/node=a/process=1-1/000000.tmraw"),
        s3("studio-user", "GetObject", "athena/x.csv"),
        s3("studio-user", "GetObject", aws.work_manifest_key(JOB)),
        s3("studio-user", "PutObject", f"reports/job_name={JOB}/report.html"),
        s3("studio-user", "DeleteObject", f"jobs/job_name={JOB}/manifest.json"),
        listing("studio-user", prefix=""),
        listing("studio-user", prefix="athena/"),
        Need("studio-user", "sagemaker:CreateApp", arn("sagemaker", "app/d-other/a/b/c"), ""),
        Need("studio-user", "sagemaker:CreateTrainingJob", arn("sagemaker", "training-job/x"), ""),
        Need("studio-user", "states:StartExecution", arn("states", "stateMachine:tracemill"), ""),
        s3("analyst", "GetObject", f"raw/job_name={JOB}/node=a/process=1-1/000000.tmraw"),
        s3("analyst", "GetObject", f"jobs/job_name={JOB}/manifest.json"),
        s3("analyst", "PutObject", "tables/jobs/job_name=x/all.parquet"),
        Need("analyst", "athena:StartQueryExecution", arn("athena", "workgroup/primary"), ""),
        Need("analyst", "glue:GetTable", arn("glue", "table/other/jobs"), ""),
        Need("analyst", "glue:DeleteTable", arn("glue", "table/tracemill/jobs"), ""),
        s3("discover", "PutObject", f"tables/jobs/job_name={JOB}/all.parquet"),
        s3("discover", "DeleteObject", f"raw/job_name={JOB}/node=a/process=1-1/000000.tmraw"),
        s3("convert", "PutObject", f"jobs/job_name={JOB}/manifest.json"),
        s3("convert", "PutObject", f"raw/job_name={JOB}/node=a/process=1-1/000000.tmraw"),
        s3("aggregate", "GetObject", f"raw/job_name={JOB}/node=a/process=1-1/000000.tmraw"),
        s3("aggregate", "PutObject", f"reports/job_name={JOB}/report.html"),
        s3("report", "DeleteObject", f"jobs/job_name={JOB}/manifest.json"),
        s3("catalog", "GetObject", "tables/jobs/job_name=x/all.parquet"),
        Need("catalog", "glue:BatchCreatePartition", arn("glue", "table/tracemill/other"), ""),
        Need("starter", "states:StartExecution", arn("states", "stateMachine:other"), ""),
        Need("workflow", "lambda:InvokeFunction", arn("lambda", "function:tracemill-starter"), ""),
        Need("workflow", "lambda:InvokeFunction", arn("lambda", "function:other"), ""),
        s3("workflow", "GetObject", f"tables/jobs/job_name={JOB}/all.parquet"),
        s3("workflow", "PutObject", f"jobs/job_name={JOB}/manifest.json"),
        s3("workflow", "PutObject", aws.work_manifest_key(JOB)),
        Need("workflow", "sns:Publish", arn("sns", "other"), ""),
    ],
    ids=lambda need: f"{need.role} {need.action} {need.resource.rpartition(':')[2]}",
)
def test_what_is_nobodys_business_is_denied(roles: dict[str, list[Statement]], need: Need) -> None:
    assert denied(roles[need.role], [need]) == [need]


def test_wildcards_are_matched_as_iam_does() -> None:
    assert like("arn:aws:s3:::b/raw/*", "arn:aws:s3:::b/raw/a/b")
    assert not like("arn:aws:s3:::b/raw/*", "arn:aws:s3:::b/raw")
    assert like("a?c", "abc")
    assert not like("a.c", "abc")
