"""What starts the workflow: the event of a finished training job, and a schedule."""

from __future__ import annotations

from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct
from tracemill_schema import aws

from infra.config import Config
from infra.limits import DEAD_LETTER_DAYS, EVENT_MAX_AGE_S, EVENT_RETRIES
from infra.nag import acknowledge
from infra.names import Names


def finished_job_pattern(job_name_pattern: str) -> dict[str, list[Any]]:
    """Detail of the event pattern: finished jobs whose names match."""
    detail: dict[str, list[Any]] = {"TrainingJobStatus": list(aws.FINISHED_STATUSES)}
    if job_name_pattern.endswith("*"):
        if beginning := job_name_pattern[:-1]:
            detail["TrainingJobName"] = [{"prefix": beginning}]
    else:
        detail["TrainingJobName"] = [job_name_pattern]
    return detail


class DeadLetters(Construct):
    """Queue of events that could not be delivered or handled."""

    def __init__(self, scope: Construct, construct_id: str, names: Names, function: str) -> None:
        super().__init__(scope, construct_id)
        self.queue = sqs.Queue(
            self,
            "Queue",
            queue_name=names.dead_letters(function),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.days(DEAD_LETTER_DAYS),
        )
        acknowledge(self.queue, {"SQS3": "this is a queue of dead letters itself"})


class Triggers(Construct):
    """The event rule to the starter and the schedule to the reconciler."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: Config,
        starter: lambda_.IFunction,
        starter_dead_letters: sqs.IQueue,
        reconciler: lambda_.IFunction,
        reconciler_dead_letters: sqs.IQueue,
    ) -> None:
        super().__init__(scope, construct_id)
        events.Rule(
            self,
            "FinishedJob",
            rule_name=f"{config.name}-finished-job",
            description="A training job has finished",
            event_pattern=events.EventPattern(
                source=[aws.TRAINING_EVENT_SOURCE],
                detail_type=[aws.TRAINING_EVENT_DETAIL_TYPE],
                detail=finished_job_pattern(config.job_name_pattern),
            ),
            targets=[_target(starter, starter_dead_letters)],
        )
        if config.reconcile_minutes:
            events.Rule(
                self,
                "Reconcile",
                rule_name=f"{config.name}-reconcile",
                description="Look for missed and running training jobs",
                schedule=events.Schedule.rate(Duration.minutes(config.reconcile_minutes)),
                targets=[_target(reconciler, reconciler_dead_letters)],
            )


def _target(function: lambda_.IFunction, dead_letters: sqs.IQueue) -> targets.LambdaFunction:
    return targets.LambdaFunction(
        function,
        dead_letter_queue=dead_letters,
        max_event_age=Duration.seconds(EVENT_MAX_AGE_S),
        retry_attempts=EVENT_RETRIES,
    )
