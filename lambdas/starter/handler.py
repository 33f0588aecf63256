"""From the event of a finished training job to one execution of the workflow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tracemill_schema import aws
from tracemill_schema.errors import UsageError

from lambdas.common.clients import client
from lambdas.common.env import read_environment
from lambdas.common.executions import execution_name, matches, start
from lambdas.common.observe import count, logger, metrics


@dataclass(frozen=True)
class Environment:
    """Environment of the function."""

    state_machine_arn: str
    job_name_pattern: str


@dataclass(frozen=True)
class TrainingJobEvent:
    """What is used of EventBridge's training-job event."""

    job_name: str
    arn: str
    status: str

    @classmethod
    def from_event(cls, event: dict[str, Any]) -> TrainingJobEvent:
        """Read the event; UsageError if it is another one."""
        if event.get("detail-type") != aws.TRAINING_EVENT_DETAIL_TYPE:
            raise UsageError(f"no training-job event: {event.get('detail-type')!r}")
        detail = event.get("detail") or {}
        try:
            return cls(
                detail["TrainingJobName"], detail["TrainingJobArn"], detail["TrainingJobStatus"]
            )
        except KeyError as error:
            raise UsageError(f"training-job event without {error}") from error


@logger.inject_lambda_context
@metrics.log_metrics
def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Start the workflow; a second event for the same end of a job changes nothing."""
    environment = read_environment(Environment)
    job = TrainingJobEvent.from_event(event)
    logger.append_keys(job_name=job.job_name, status=job.status)
    wanted = matches(job.job_name, environment.job_name_pattern)
    if job.status not in aws.FINISHED_STATUSES or not wanted:
        logger.info("left alone")
        count("EventsIgnored", 1)
        return {"started": False}
    name = execution_name(job.job_name, job.status, job.arn)
    started = start(client("stepfunctions"), environment.state_machine_arn, job.job_name, name)
    logger.info("started" if started else "was started before", execution=name)
    count("ExecutionsStarted", int(started))
    return {"started": started, "execution": name}
