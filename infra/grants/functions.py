"""What each Lambda function may do."""

from __future__ import annotations

from collections.abc import Callable

from infra.grants.base import (
    JOBS,
    RAW,
    REPORTS,
    TABLES,
    WORK,
    Grant,
    Scope,
    delete,
    glue_arns,
    list_keys,
    own_logs,
    read,
    store_key,
    write,
)


def _start(scope: Scope) -> Grant:
    return Grant(
        "Start",
        ("states:StartExecution",),
        (scope.names.state_machine_arn,),
        "start the workflow of a job",
    )


def _dead_letters(scope: Scope, function: str) -> Grant:
    return Grant(
        "DeadLetters",
        ("sqs:SendMessage",),
        (scope.names.arn("sqs", scope.names.dead_letters(function)),),
        "Lambda puts the events aside that the function could not handle",
    )


def _starter(scope: Scope) -> tuple[Grant, ...]:
    return (_start(scope), _dead_letters(scope, "starter"))


def _reconciler(scope: Scope) -> tuple[Grant, ...]:
    return (
        _start(scope),
        _dead_letters(scope, "reconciler"),
        Grant(
            "FindJobs",
            ("sagemaker:ListTrainingJobs",),
            ("*",),
            "finished and running jobs of the last hours",
        ),
        list_keys(scope, "which jobs have a recording", RAW),
    )


def _discover(scope: Scope) -> tuple[Grant, ...]:
    return (
        Grant(
            "DescribeJob",
            ("sagemaker:DescribeTrainingJob",),
            scope.names.training_job_arns(),
            "status, instance type and output of the job",
        ),
        list_keys(scope, "recordings of the job; what an earlier run left", RAW, WORK, JOBS),
        read(scope, "the head of each recording: node, process, rank", RAW),
        write(scope, "the work manifest", WORK),
        delete(scope, "results, manifest and failure record of an earlier run", WORK, JOBS),
        *store_key(scope, write=True),
    )


def _convert(scope: Scope) -> tuple[Grant, ...]:
    return (
        list_keys(scope, "recordings of the process; its tables of an earlier run", RAW, TABLES),
        read(scope, "recordings of the process", RAW),
        write(scope, "event tables of the process; the result", TABLES, WORK),
        delete(scope, "tables of an earlier run", TABLES),
        *store_key(scope, write=True),
    )


def _aggregate(scope: Scope) -> tuple[Grant, ...]:
    return (
        list_keys(scope, "event tables of the job; results of the processes", TABLES, WORK),
        read(scope, "event tables of the job; results of the processes", TABLES, WORK),
        write(scope, "aggregates", TABLES),
        delete(scope, "tables of processes that are gone", TABLES),
        *store_key(scope, write=True),
    )


def _report(scope: Scope) -> tuple[Grant, ...]:
    return (
        list_keys(scope, "tables of the job; results of the processes", TABLES, WORK),
        read(scope, "tables of the job; results of the processes", TABLES, WORK),
        write(scope, "jobs and findings tables, report, manifest", TABLES, REPORTS, JOBS),
        *store_key(scope, write=True),
    )


def _catalog(scope: Scope) -> tuple[Grant, ...]:
    return (
        list_keys(scope, "which tables the job has", TABLES),
        Grant(
            "Partitions",
            ("glue:BatchCreatePartition", "glue:BatchUpdatePartition"),
            glue_arns(scope.names),
            "one partition per table and job",
        ),
    )


FUNCTION_GRANTS: dict[str, Callable[[Scope], tuple[Grant, ...]]] = {
    "starter": _starter,
    "reconciler": _reconciler,
    "discover": _discover,
    "convert": _convert,
    "aggregate": _aggregate,
    "report": _report,
    "catalog": _catalog,
}


def function_grants(scope: Scope, function: str) -> tuple[Grant, ...]:
    """All statements of a function's role."""
    return (*FUNCTION_GRANTS[function](scope), *own_logs(scope, function))
