from __future__ import annotations

import json
from typing import Any

import pytest
from moto.events.models import EventPattern
from tracemill_schema.aws import FUNCTION_BY_NAME, FUNCTIONS

from infra.constructs.triggers import finished_job_pattern
from infra.limits import FUNCTION_LIMITS
from tests.support.synth import Assembly, Resource

ARN = "arn:aws:{}:eu-central-1:123456789012:{}"


@pytest.fixture(scope="module")
def functions(stacks: Assembly) -> dict[str, Resource]:
    return {
        f["FunctionName"].removeprefix("tracemill-"): f
        for f in stacks.resources("pipeline", "AWS::Lambda::Function").values()
    }


def test_there_is_one_function_per_declared_one(functions: dict[str, Resource]) -> None:
    assert set(functions) == {f.name for f in FUNCTIONS}


@pytest.mark.parametrize("name", FUNCTION_BY_NAME)
def test_a_function_has_its_handler_role_limits_and_log(
    functions: dict[str, Resource], name: str
) -> None:
    function, limits = functions[name], FUNCTION_LIMITS[name]
    assert function["PackageType"] == "Image"
    assert function["ImageConfig"]["Command"] == [FUNCTION_BY_NAME[name].handler]
    assert function["Role"].startswith(f"<access.{name}Role")
    assert function["MemorySize"] == limits.memory_mib
    assert function["Timeout"] == limits.timeout_s
    assert function.get("EphemeralStorage", {"Size": 512})["Size"] == limits.disk_mib
    assert function["TracingConfig"] == {"Mode": "Active"}


def test_all_functions_share_one_image(stacks: Assembly, functions: dict[str, Resource]) -> None:
    assert len({json.dumps(f["Code"]) for f in functions.values()}) == 1
    assets = json.loads((stacks.folder / "pipeline.assets.json").read_text())
    (image,) = assets["dockerImages"].values()
    assert image["source"]["dockerFile"] == "lambdas/Dockerfile"
    assert {f["Architectures"][0] for f in functions.values()} <= {"x86_64", "arm64"}


def test_the_image_is_made_of_the_parts_it_needs(stacks: Assembly) -> None:
    assets = json.loads((stacks.folder / "pipeline.assets.json").read_text())
    (image,) = assets["dockerImages"].values()
    folder = stacks.folder / image["source"]["directory"]
    assert {path.name for path in folder.iterdir()} == {
        "constraints.txt",
        "schema",
        "analysis",
        "store_s3",
        "lambdas",
    }
    assert not [p for p in folder.rglob("*") if p.name == "__pycache__" or ".egg-info" in p.name]


@pytest.mark.parametrize("name", FUNCTION_BY_NAME)
def test_a_function_sees_exactly_the_declared_environment(
    functions: dict[str, Resource], name: str
) -> None:
    given = functions[name]["Environment"]["Variables"]
    assert set(given) == {str(env) for env in FUNCTION_BY_NAME[name].env}
    assert all(given.values())


def test_values_of_the_environment(guest_stacks: Assembly) -> None:
    seen: dict[str, str] = {}
    for function in guest_stacks.resources("pipeline", "AWS::Lambda::Function").values():
        seen |= function["Environment"]["Variables"]
    assert seen == {
        "TRACEMILL_STORE_URI": "s3://existing-bucket/team/profiles",
        "TRACEMILL_STATE_MACHINE_ARN": ARN.format("states", "stateMachine:tm-two-workflow"),
        "TRACEMILL_GLUE_DATABASE": "tm_two",
        "TRACEMILL_JOB_NAME_PATTERN": "Train-*",
        "TRACEMILL_RECONCILE_HOURS": "24",
    }


# --- what starts the workflow ---------------------------------------------------------------------


def finished_rule(assembly: Assembly) -> Resource:
    (rule,) = [
        r
        for r in assembly.resources("pipeline", "AWS::Events::Rule").values()
        if "EventPattern" in r
    ]
    return rule


def event(status: str = "Completed", job: str = "Train-1", **changes: Any) -> dict[str, Any]:
    """An event in the shape SageMaker sends; only what matters to a pattern is varied."""
    job_arn = ARN.format("sagemaker", f"training-job/{job.lower()}")
    return {
        "version": "0",
        "id": "844e2571-85d4-695f-b930-0153b71dcb42",
        "detail-type": "SageMaker Training Job State Change",
        "source": "aws.sagemaker",
        "account": "123456789012",
        "time": "2026-11-20T16:39:28Z",
        "region": "eu-central-1",
        "resources": [job_arn],
        "detail": {
            "TrainingJobName": job,
            "TrainingJobArn": job_arn,
            "TrainingJobStatus": status,
            "SecondaryStatus": status,
            "HyperParameters": {},
            "AlgorithmSpecification": {"TrainingImage": "image", "TrainingInputMode": "File"},
            "RoleArn": "arn:aws:iam::123456789012:role/train",
            "InputDataConfig": [],
            "OutputDataConfig": {"S3OutputPath": "s3://bucket/out"},
            "ResourceConfig": {
                "InstanceType": "ml.p4d.24xlarge",
                "InstanceCount": 2,
                "VolumeSizeInGB": 100,
            },
            "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
            "CreationTime": 1763656000000,
            "LastModifiedTime": 1763656768000,
            "SecondaryStatusTransitions": [],
            "Tags": {},
        },
        **changes,
    }


def matches(rule: Resource, candidate: dict[str, Any]) -> bool:
    pattern = EventPattern.load(json.dumps(rule["EventPattern"]))
    return bool(pattern.matches_event(candidate))


@pytest.mark.parametrize("status", ["Completed", "Failed", "Stopped"])
def test_every_end_of_a_training_job_counts(stacks: Assembly, status: str) -> None:
    assert matches(finished_rule(stacks), event(status))


@pytest.mark.parametrize(
    "candidate",
    [
        event("InProgress"),
        event("Stopping"),
        event(source="aws.batch"),
        event(**{"detail-type": "SageMaker Transform Job State Change"}),
        event(**{"detail-type": "SageMaker Processing Job State Change"}),
    ],
    ids=["running", "stopping", "other service", "transform job", "processing job"],
)
def test_other_events_do_not(stacks: Assembly, candidate: dict[str, Any]) -> None:
    assert not matches(finished_rule(stacks), candidate)


def test_only_jobs_of_the_pattern(guest_stacks: Assembly) -> None:
    rule = finished_rule(guest_stacks)
    assert matches(rule, event(job="Train-7"))
    assert not matches(rule, event(job="train-7"))
    assert not matches(rule, event(job="My-Train-7"))


def test_a_pattern_without_a_star_is_one_job() -> None:
    rule = {"EventPattern": {"detail": finished_job_pattern("one")}}
    assert matches(rule, event(job="one"))
    assert not matches(rule, event(job="one-more"))


def test_the_rule_reaches_the_starter_and_puts_lost_events_aside(stacks: Assembly) -> None:
    (target,) = finished_rule(stacks)["Targets"]
    assert target["RetryPolicy"] == {"MaximumEventAgeInSeconds": 21_600, "MaximumRetryAttempts": 10}
    (queue_id,) = [
        name
        for name, queue in stacks.resources("pipeline", "AWS::SQS::Queue").items()
        if queue["QueueName"] == "tracemill-starter-dead-letters"
    ]
    assert target["DeadLetterConfig"] == {"Arn": f"<pipeline.{queue_id}.Arn>"}
    starters = [
        name
        for name, f in stacks.resources("pipeline", "AWS::Lambda::Function").items()
        if f["FunctionName"] == "tracemill-starter"
    ]
    assert target["Arn"] == f"<pipeline.{starters[0]}.Arn>"


def test_the_schedule_reaches_the_reconciler_unless_it_is_off(
    stacks: Assembly, guest_stacks: Assembly
) -> None:
    def schedules(assembly: Assembly) -> list[str]:
        rules = assembly.resources("pipeline", "AWS::Events::Rule").values()
        return [r["ScheduleExpression"] for r in rules if "ScheduleExpression" in r]

    assert schedules(stacks) == ["rate(1 hour)"]
    assert schedules(guest_stacks) == []


def test_only_the_rules_may_call_the_functions_from_outside(stacks: Assembly) -> None:
    permissions = stacks.resources("pipeline", "AWS::Lambda::Permission").values()
    assert len(permissions) == 2
    for permission in permissions:
        assert permission["Principal"] == "events.amazonaws.com"
        assert permission["Action"] == "lambda:InvokeFunction"
        assert permission["SourceArn"].startswith("<pipeline.Triggers")


def test_failed_events_of_both_event_functions_go_to_their_queues(stacks: Assembly) -> None:
    configs = stacks.resources("pipeline", "AWS::Lambda::EventInvokeConfig").values()
    assert {c["FunctionName"] for c in configs} == {"tracemill-starter", "tracemill-reconciler"}
    for config in configs:
        assert config["MaximumRetryAttempts"] == 2
        assert "dead-letters".replace("-", "") in config["DestinationConfig"]["OnFailure"][
            "Destination"
        ].replace("-", "")


def test_queues_are_encrypted_kept_and_tls_only(stacks: Assembly) -> None:
    queues = stacks.resources("pipeline", "AWS::SQS::Queue")
    assert len(queues) == 2
    for queue in queues.values():
        assert queue["SqsManagedSseEnabled"] is True
        assert queue["MessageRetentionPeriod"] == 14 * 86_400
    denied = [
        statement
        for policy in stacks.resources("pipeline", "AWS::SQS::QueuePolicy").values()
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Deny"
    ]
    assert len(denied) == 2


# --- notices, alarms ------------------------------------------------------------------------------


def test_the_topic_is_encrypted_and_tells_whom_it_should(
    stacks: Assembly, guest_stacks: Assembly
) -> None:
    topic = stacks.only("pipeline", "AWS::SNS::Topic")
    assert topic["TopicName"] == "tracemill-notices"
    assert topic["KmsMasterKeyId"].startswith("<storage.Key")
    assert stacks.resources("pipeline", "AWS::SNS::Subscription") == {}
    subscription = guest_stacks.only("pipeline", "AWS::SNS::Subscription")
    assert (subscription["Protocol"], subscription["Endpoint"]) == ("email", "someone@example.com")


def test_alarms_may_use_the_topic(stacks: Assembly) -> None:
    statements = stacks.only("pipeline", "AWS::SNS::TopicPolicy")["PolicyDocument"]["Statement"]
    allowed = [s for s in statements if s["Effect"] == "Allow"]
    assert [s["Principal"] for s in allowed] == [{"Service": "cloudwatch.amazonaws.com"}]
    assert [s["Action"] for s in allowed] == ["sns:Publish"]


def test_every_alarm_says_what_to_do_and_tells_the_topic(stacks: Assembly) -> None:
    alarms = {
        a["AlarmName"]: a for a in stacks.resources("pipeline", "AWS::CloudWatch::Alarm").values()
    }
    assert set(alarms) == {
        f"tracemill-{name}"
        for name in (
            "ExecutionsFailed",
            "ExecutionsTimedOut",
            "ExecutionsAborted",
            "starter-dead-letters",
            "reconciler-dead-letters",
            "starter-errors",
            "reconciler-errors",
            "convert-throttles",
            "convert-slow",
        )
    }
    for alarm in alarms.values():
        assert alarm["AlarmDescription"]
        assert alarm["TreatMissingData"] == "notBreaching"
        (action,) = alarm["AlarmActions"]
        assert action.startswith("<pipeline.Notices")
    assert alarms["tracemill-convert-slow"]["Threshold"] == pytest.approx(0.8 * 840_000)


def test_the_dashboard_shows_every_function(stacks: Assembly) -> None:
    body = json.dumps(stacks.only("pipeline", "AWS::CloudWatch::Dashboard")["DashboardBody"])
    for title in ("Profiles", "Time of a step", "Errors and throttles", "Events not handled"):
        assert title in body
    for function in FUNCTIONS:
        assert f"{function.name} errors" in body


def test_logs_are_not_kept_for_ever(stacks: Assembly) -> None:
    groups = {
        g["LogGroupName"]: g["RetentionInDays"]
        for g in stacks.resources("pipeline", "AWS::Logs::LogGroup").values()
    }
    assert groups == {
        **{f"/aws/lambda/tracemill-{f.name}": 30 for f in FUNCTIONS},
        "/aws/vendedlogs/states/tracemill-workflow": 30,
    }
