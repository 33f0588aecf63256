"""On a schedule: starts the workflow for jobs whose event was missed, and for running jobs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lambdas.common.clients import client
from lambdas.common.env import read_environment
from lambdas.common.executions import start
from lambdas.common.observe import count, logger, metrics
from lambdas.common.storage import open_store
from lambdas.reconciler.jobs import due_jobs


@dataclass(frozen=True)
class Environment:
    """Environment of the function."""

    store_uri: str
    state_machine_arn: str
    job_name_pattern: str
    reconcile_hours: int


@logger.inject_lambda_context
@metrics.log_metrics
def handler(_event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Start what is due; what was started before is left alone."""
    environment = read_environment(Environment)
    due = due_jobs(
        client("sagemaker"),
        open_store(environment.store_uri),
        environment.job_name_pattern,
        datetime.now(UTC),
        environment.reconcile_hours,
    )
    started = [
        job.execution
        for job in due
        if start(
            client("stepfunctions"), environment.state_machine_arn, job.job_name, job.execution
        )
    ]
    logger.info("reconciled", executions=started)
    count("ExecutionsReconciled", len(started))
    return {"started": started}
