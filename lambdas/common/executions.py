"""Starts the workflow for a training job, once per job and state of it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from botocore.exceptions import ClientError
from tracemill_schema import aws

_NAME_LIMIT = 80


def execution_name(job: str, status: str, salt: str) -> str:
    """Name of the execution: the same for every event of one state of one job.

    ``salt`` tells jobs of one name apart (the ARN), or runs for one job (the hour).
    """
    digest = hashlib.sha256(salt.encode()).hexdigest()[:10]
    end = f"-{status}-{digest}"
    return job[: _NAME_LIMIT - len(end)] + end


def matches(job: str, pattern: str) -> bool:
    """Tell whether the installation processes this job: a name, or a beginning and ``*``."""
    return job.startswith(pattern[:-1]) if pattern.endswith("*") else job == pattern


def start(client: Any, state_machine_arn: str, job: str, name: str) -> bool:
    """Start the execution ``name``; False if it was started before, which is as good."""
    execution = aws.ExecutionInput(job_name=job)
    try:
        client.start_execution(
            stateMachineArn=state_machine_arn, name=name, input=json.dumps(execution)
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "ExecutionAlreadyExists":
            raise
        return False
    return True
