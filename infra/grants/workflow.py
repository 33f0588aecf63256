"""What the state machine may do."""

from __future__ import annotations

from tracemill_schema import aws

from infra.grants.base import (
    FAILURE,
    UNSCOPABLE,
    Grant,
    Scope,
    read,
    service_name,
    store_key,
    write,
)


def state_machine_grants(scope: Scope) -> tuple[Grant, ...]:
    """All statements of the state machine's role."""
    names = scope.names
    steps = ("discover", "convert", "aggregate", "report", "catalog")
    return (
        Grant(
            "Steps",
            ("lambda:InvokeFunction",),
            tuple(names.function_arn(step) for step in steps),
            "the functions of the steps",
        ),
        Grant(
            "MapRuns",
            ("states:StartExecution",),
            (names.state_machine_arn,),
            "the Distributed Map starts one child execution per process",
        ),
        Grant(
            "MapChildren",
            ("states:DescribeExecution", "states:StopExecution"),
            (names.arn("states", f"execution:{names.state_machine}/*"),),
            "and watches and ends them",
        ),
        read(scope, "the work manifest", f"{aws.WORK_PREFIX}job_name=*/items.json"),
        write(
            scope,
            "quarantine record of a process, failure record of a run",
            f"{aws.WORK_PREFIX}job_name=*/results/*",
            FAILURE,
        ),
        *store_key(scope, write=True),
        Grant("Announce", ("sns:Publish",), (names.topic_arn,), "verdicts and failures"),
        Grant(
            "TopicKey",
            ("kms:Decrypt", "kms:GenerateDataKey"),
            (scope.own_key_arn,),
            "the topic is encrypted with this key; only by way of SNS",
            {"StringEquals": {"kms:ViaService": service_name(scope, "sns")}},
        ),
        Grant(
            "LogDelivery",
            tuple(action for action in UNSCOPABLE if action.startswith("logs:")),
            ("*",),
            "Step Functions sets up the delivery of its execution log",
        ),
        Grant(
            "Traces",
            tuple(action for action in UNSCOPABLE if action.startswith("xray:")),
            ("*",),
            "X-Ray traces of executions",
        ),
    )
