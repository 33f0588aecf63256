"""Names that the stacks and the Lambda functions share: functions, environment, documents.

The workflow, one line per state:

    Discover     find the recording of a finished training job, write the work manifest
    Convert      one process to event tables (Distributed Map over the manifest)
    Aggregate    processes, drops, aggregates of the whole job
    Report       findings, report, the job's manifest: the profile is there
    Catalog      partitions of the Glue tables
    Notify       SNS: the verdict, or what failed
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypedDict

from tracemill_schema import layout


class Env(StrEnum):
    """Environment variables of the Lambda functions."""

    STORE_URI = "TRACEMILL_STORE_URI"
    """``s3://bucket`` or ``s3://bucket/prefix`` of the store."""
    STATE_MACHINE_ARN = "TRACEMILL_STATE_MACHINE_ARN"
    TOPIC_ARN = "TRACEMILL_TOPIC_ARN"
    GLUE_DATABASE = "TRACEMILL_GLUE_DATABASE"
    JOB_NAME_PATTERN = "TRACEMILL_JOB_NAME_PATTERN"
    """Training jobs outside this pattern (``*`` at the end allowed) are left alone."""
    RECONCILE_HOURS = "TRACEMILL_RECONCILE_HOURS"
    """How far back the reconciler looks for missed jobs."""


APP_STORE_ENV = "TRACEMILL_STORE"
"""Tells the app behind JupyterLab's launcher which store to show."""


@dataclass(frozen=True)
class Function:
    """One Lambda function: module and attribute of its handler, the environment it needs."""

    name: str
    handler: str
    env: tuple[Env, ...]
    doc: str


FUNCTIONS: tuple[Function, ...] = (
    Function(
        "starter",
        "lambdas.starter.handler.handler",
        (Env.STATE_MACHINE_ARN, Env.JOB_NAME_PATTERN),
        "training-job event to one execution of the workflow",
    ),
    Function(
        "reconciler",
        "lambdas.reconciler.handler.handler",
        (Env.STORE_URI, Env.STATE_MACHINE_ARN, Env.JOB_NAME_PATTERN, Env.RECONCILE_HOURS),
        "on a schedule: jobs whose event was missed, and running jobs",
    ),
    Function(
        "discover",
        "lambdas.discover.handler.handler",
        (Env.STORE_URI,),
        "find the recording, write the work manifest",
    ),
    Function(
        "convert",
        "lambdas.convert.handler.handler",
        (Env.STORE_URI,),
        "one process to event tables",
    ),
    Function(
        "aggregate",
        "lambdas.aggregate.handler.handler",
        (Env.STORE_URI,),
        "processes, drops and aggregates of the job",
    ),
    Function(
        "report",
        "lambdas.report.handler.handler",
        (Env.STORE_URI,),
        "findings, report, manifest",
    ),
    Function(
        "catalog",
        "lambdas.catalog.handler.handler",
        (Env.STORE_URI, Env.GLUE_DATABASE),
        "Glue partitions of the job's tables",
    ),
)
FUNCTION_BY_NAME: dict[str, Function] = {function.name: function for function in FUNCTIONS}

WORK_PREFIX = "work/"
"""Objects of a run in progress; a lifecycle rule removes them after a few days."""


def shipped_prefix(job: str) -> str:
    """Prefix that SageMaker ships a job's output folder to if told ``<store>/raw`` as S3OutputPath.

    Below it lies a store of its own (``raw/job_name=…``), or whatever traces the job left there.
    """
    return f"{layout.RAW_PREFIX}{layout.check_name(job)}/profiler-output/"


def work_prefix(job: str) -> str:
    """Prefix of the objects of a job's run."""
    return f"{WORK_PREFIX}job_name={layout.check_name(job)}/"


def work_manifest_key(job: str) -> str:
    """Key of the work manifest: a JSON array with one small object per process (Map's items)."""
    return f"{work_prefix(job)}items.json"


def work_plan_key(job: str) -> str:
    """Key of what Discover found beside the items: the run's status, inputs it cannot read."""
    return f"{work_prefix(job)}plan.json"


def work_result_key(job: str, process_id: int) -> str:
    """Key of the result of converting one process (also a failed one)."""
    return f"{work_prefix(job)}results/{layout.process_part(process_id)}.json"


def failure_key(job: str) -> str:
    """Key of the record of a failed run: what failed, where, what to do."""
    return f"{layout.job_prefix(job)}failure.json"


class ExecutionInput(TypedDict):
    """Input of one execution: only the job, so that a duplicate event is the same input."""

    job_name: str


class Work(TypedDict):
    """Result of Discover, kept at ``$.work``. Keys are whole object keys, with the store's prefix.

    ``items`` 0: the training job has no recording; the execution ends well without a word.
    """

    bucket: str
    key: str
    items: int


class WorkItem(TypedDict):
    """What the state machine itself reads of one item of the work manifest (it may hold more).

    ``result_key`` is the whole key of ``work_result_key``: when Convert dies (time-out, memory) the
    state machine writes the quarantine record there.
    """

    process_id: int
    result_key: str


class ConvertInput(TypedDict):
    """Input of Convert: the job and one item of the manifest."""

    job_name: str
    item: WorkItem


class Quarantine(TypedDict):
    """What the state machine writes under ``result_key`` when Convert has failed for good."""

    status: str
    """``quarantined``; a result that Convert wrote itself has its own word."""
    process_id: int
    error: str
    cause: str


class Failure(TypedDict):
    """The failure record of a run (``failure_key``)."""

    job_name: str
    state: str
    error: str
    cause: str
    execution: str


class ReportResult(TypedDict):
    """What the state machine reads of Report's result, kept at ``$.report``."""

    message: str
    """Text of the notification."""


QUARANTINED = "quarantined"

TRANSIENT_ERRORS = ("StoreBusyError", "OutOfTimeError")
"""Error classes raised by the handlers that a retry may cure: a throttled or silent service; a
function that stopped itself just before its time-out. Every other class is final."""

# Discover is given ExecutionInput; Aggregate, Report and Catalog are given
# {"job_name": ..., "work": Work}.

TRAINING_EVENT_SOURCE = "aws.sagemaker"
TRAINING_EVENT_DETAIL_TYPE = "SageMaker Training Job State Change"
FINISHED_STATUSES = ("Completed", "Failed", "Stopped")
GLUE_DATABASE_DEFAULT = "tracemill"
