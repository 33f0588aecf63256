"""Training jobs of the last hours that have a recording in the store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tracemill_s3.store import S3Store
from tracemill_schema import aws, layout

from lambdas.common.executions import execution_name, matches

_RUNNING = "InProgress"


@dataclass(frozen=True)
class Due:
    """A job to process, and the name of the execution for it."""

    job_name: str
    execution: str


def due_jobs(
    sagemaker: Any, store: S3Store, pattern: str, now: datetime, hours: int
) -> Iterator[Due]:
    """Yield the jobs to process: finished ones once, running ones once an hour.

    A finished job's execution has the name that the starter gives it, so that one of both starts.
    """
    recorded = {
        layout.parse_job_dir(folder) or folder for folder in store.list_folders(layout.RAW_PREFIX)
    }
    pages = sagemaker.get_paginator("list_training_jobs").paginate(
        LastModifiedTimeAfter=now - timedelta(hours=hours)
    )
    for page in pages:
        for job in page["TrainingJobSummaries"]:
            name, arn, status = (
                job["TrainingJobName"],
                job["TrainingJobArn"],
                job["TrainingJobStatus"],
            )
            if name not in recorded or not matches(name, pattern):
                continue
            if status in aws.FINISHED_STATUSES:
                yield Due(name, execution_name(name, status, arn))
            elif status == _RUNNING:
                hour = now.strftime("%Y-%m-%dT%H")
                yield Due(name, execution_name(name, status, f"{arn} {hour}"))
