"""Who may do what: every permission of the system, as plain data with its reason.

The stacks write exactly these statements, docs/aws-roles.md is printed from them, and the tests
compare both with the synthesized templates. Nothing is granted anywhere else.

S3 note: with a condition on ``s3:prefix`` a HEAD request for an absent object is answered 403, not
404, so all parts look for an object by listing its key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tracemill_schema import aws, layout
from tracemill_schema.tables import TABLES

from infra.config import Config
from infra.names import ATHENA_PREFIX, Names

Conditions = Mapping[str, Mapping[str, str | list[str]]]


@dataclass(frozen=True)
class Grant:
    """One Allow statement. ``reason`` says what the principal does with it."""

    sid: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    reason: str
    conditions: Conditions = field(default_factory=dict)


@dataclass(frozen=True)
class Scope:
    """What statements are written for. The keys' ARNs are tokens until deployment."""

    config: Config
    own_key_arn: str
    """Key of the topic, and of the store unless an existing bucket is used."""

    @property
    def names(self) -> Names:
        """Names of the installation."""
        return Names(self.config)

    @property
    def store_key_arn(self) -> str:
        """Key of the store's bucket; empty if an existing bucket has none."""
        return self.config.bucket_key_arn if self.config.bucket else self.own_key_arn


UNSCOPABLE: dict[str, str] = {
    "xray:PutTraceSegments": "X-Ray has no resource for it",
    "xray:PutTelemetryRecords": "X-Ray has no resource for it",
    "xray:GetSamplingRules": "X-Ray has no resource for it",
    "xray:GetSamplingTargets": "X-Ray has no resource for it",
    "sagemaker:Search": "SageMaker has no resource for it",
    "sagemaker:ListTrainingJobs": "SageMaker has no resource for it",
    "ecr:GetAuthorizationToken": "ECR has no resource for it",
    "logs:CreateLogDelivery": "vended log delivery has no resource for it",
    "logs:GetLogDelivery": "vended log delivery has no resource for it",
    "logs:UpdateLogDelivery": "vended log delivery has no resource for it",
    "logs:DeleteLogDelivery": "vended log delivery has no resource for it",
    "logs:ListLogDeliveries": "vended log delivery has no resource for it",
    "logs:PutResourcePolicy": "vended log delivery has no resource for it",
    "logs:DescribeResourcePolicies": "vended log delivery has no resource for it",
    "logs:DescribeLogGroups": "Step Functions asks for it on all groups",
}
"""The only actions that may be granted on ``*``, each because AWS offers nothing narrower."""

_RAW = f"{layout.RAW_PREFIX}*"
_TABLES = f"{layout.TABLES_PREFIX}*"
_JOBS = f"{layout.JOBS_PREFIX}*"
_REPORTS = f"{layout.REPORTS_PREFIX}*"
_WORK = f"{aws.WORK_PREFIX}*"
_RESULTS = f"{ATHENA_PREFIX}*"
_FAILURE = aws.failure_key("JOB").replace("JOB", "*")
CURATED = (_TABLES, _JOBS, _REPORTS)
"""What people read: tables, the jobs' own objects, reports. Not the recordings."""


# --- statements -------------------------------------------------------------------------------


def _list(scope: Scope, reason: str, *patterns: str) -> Grant:
    prefixes = [f"{scope.config.key_prefix}{pattern}" for pattern in patterns]
    return Grant(
        "List",
        ("s3:ListBucket",),
        (scope.names.bucket_arn,),
        reason,
        {"StringLike": {"s3:prefix": prefixes}},
    )


def _objects(scope: Scope, sid: str, action: str, reason: str, *patterns: str) -> Grant:
    return Grant(sid, (action,), tuple(scope.names.objects_arn(p) for p in patterns), reason)


def _read(scope: Scope, reason: str, *patterns: str) -> Grant:
    return _objects(scope, "Read", "s3:GetObject", reason, *patterns)


def _write(scope: Scope, reason: str, *patterns: str) -> Grant:
    return _objects(scope, "Write", "s3:PutObject", reason, *patterns)


def _delete(scope: Scope, reason: str, *patterns: str) -> Grant:
    return _objects(scope, "Delete", "s3:DeleteObject", reason, *patterns)


def _keys(scope: Scope, *, write: bool) -> tuple[Grant, ...]:
    if not scope.store_key_arn:
        return ()
    # Decrypt serves reading, and the parts of an upload in several parts.
    actions = ("kms:Decrypt", "kms:GenerateDataKey") if write else ("kms:Decrypt",)
    return (
        Grant(
            "StoreKey",
            actions,
            (scope.store_key_arn,),
            "the store's objects are encrypted with this key; only by way of S3",
            {"StringEquals": {"kms:ViaService": _service(scope, "s3")}},
        ),
    )


def _service(scope: Scope, service: str) -> str:
    """Name of a service as KMS sees it."""
    domain = "amazonaws.com.cn" if scope.config.partition == "aws-cn" else "amazonaws.com"
    return f"{service}.{scope.config.region}.{domain}"


def _own_logs(scope: Scope, function: str) -> tuple[Grant, ...]:
    group = scope.names.arn("logs", f"log-group:{scope.names.log_group(function)}:*")
    return (
        Grant(
            "Logs",
            ("logs:CreateLogStream", "logs:PutLogEvents"),
            (group,),
            "streams of its own log group",
        ),
        Grant(
            "Traces",
            ("xray:PutTraceSegments", "xray:PutTelemetryRecords"),
            ("*",),
            "X-Ray traces of its own calls",
        ),
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


# --- functions --------------------------------------------------------------------------------


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
        _list(scope, "which jobs have a recording, which a profile", _RAW, _JOBS),
    )


def _discover(scope: Scope) -> tuple[Grant, ...]:
    return (
        Grant(
            "DescribeJob",
            ("sagemaker:DescribeTrainingJob",),
            scope.names.training_job_arns(),
            "status, instance type and output of the job",
        ),
        _list(scope, "recordings of the job; results of an earlier run", _RAW, _WORK),
        _read(scope, "the head of each recording: node, process, rank", _RAW),
        _write(scope, "the work manifest", _WORK),
        _delete(scope, "results of an earlier run", _WORK),
        *_keys(scope, write=True),
    )


def _convert(scope: Scope) -> tuple[Grant, ...]:
    return (
        _list(scope, "recordings of the process; its tables of an earlier run", _RAW, _TABLES),
        _read(scope, "recordings of the process", _RAW),
        _write(scope, "event tables of the process; the result", _TABLES, _WORK),
        _delete(scope, "tables of an earlier run", _TABLES),
        *_keys(scope, write=True),
    )


def _aggregate(scope: Scope) -> tuple[Grant, ...]:
    return (
        _list(scope, "event tables of the job; results of the processes", _TABLES, _WORK),
        _read(scope, "event tables of the job; results of the processes", _TABLES, _WORK),
        _write(scope, "aggregates", _TABLES),
        _delete(scope, "tables of processes that are gone", _TABLES),
        *_keys(scope, write=True),
    )


def _report(scope: Scope) -> tuple[Grant, ...]:
    return (
        _list(scope, "tables of the job; results of the processes", _TABLES, _WORK, _JOBS),
        _read(scope, "tables of the job; results of the processes", _TABLES, _WORK),
        _write(scope, "jobs and findings tables, report, manifest", _TABLES, _REPORTS, _JOBS),
        _delete(scope, "failure record of an earlier run", _FAILURE),
        *_keys(scope, write=True),
    )


def _catalog(scope: Scope) -> tuple[Grant, ...]:
    return (
        _list(scope, "which tables the job has", _TABLES),
        Grant(
            "Partitions",
            ("glue:BatchCreatePartition", "glue:GetPartitions"),
            glue_arns(scope.names),
            "one partition per table and job",
        ),
    )


def glue_arns(names: Names) -> tuple[str, ...]:
    """ARNs that Glue checks for a call on one of our tables."""
    return (
        names.arn("glue", "catalog"),
        names.arn("glue", f"database/{names.database}"),
        *(names.arn("glue", f"table/{names.database}/{table.name}") for table in TABLES),
    )


# --- the state machine ------------------------------------------------------------------------


def _state_machine(scope: Scope) -> tuple[Grant, ...]:
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
        _read(scope, "the work manifest", f"{aws.WORK_PREFIX}job_name=*/items.json"),
        _write(
            scope,
            "quarantine record of a process, failure record of a run",
            f"{aws.WORK_PREFIX}job_name=*/results/*",
            _FAILURE,
        ),
        *_keys(scope, write=True),
        Grant("Announce", ("sns:Publish",), (names.topic_arn,), "verdicts and failures"),
        Grant(
            "TopicKey",
            ("kms:Decrypt", "kms:GenerateDataKey"),
            (scope.own_key_arn,),
            "the topic is encrypted with this key; only by way of SNS",
            {"StringEquals": {"kms:ViaService": _service(scope, "sns")}},
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


# --- people and training jobs -----------------------------------------------------------------


def _training(scope: Scope) -> tuple[Grant, ...]:
    return (
        _write(scope, "recordings, and nothing else; not even reading them back", _RAW),
        _objects(
            scope,
            "EndUpload",
            "s3:AbortMultipartUpload",
            "clean up after an upload in several parts that broke off",
            _RAW,
        ),
        *_keys(scope, write=True),
    )


def _studio_user(scope: Scope) -> tuple[Grant, ...]:
    listed = (*CURATED, _RAW)
    return (
        _list(scope, "profiles, and which jobs have a recording", *listed),
        _read(scope, "profiles and reports", *CURATED),
        *_keys(scope, write=False),
        Grant(
            "DescribeJob",
            ("sagemaker:DescribeTrainingJob",),
            scope.names.training_job_arns(),
            "details of a job beside its profile",
        ),
        Grant(
            "SearchJobs",
            ("sagemaker:Search",),
            ("*",),
            "jobs by name, time and status (SearchTrainingJobs in the original's list)",
        ),
    )


def studio_apps(scope: Scope, domain_id: str) -> tuple[Grant, ...]:
    """What a Studio user may do in the domain; its id is known only once the domain exists."""
    return (
        Grant(
            "Apps",
            ("sagemaker:CreateApp", "sagemaker:DeleteApp"),
            (scope.names.arn("sagemaker", f"app/{domain_id}/*"),),
            "start and stop the app in the user's own spaces of this domain",
        ),
    )


def _analyst(scope: Scope) -> tuple[Grant, ...]:
    names = scope.names
    return (
        Grant(
            "Queries",
            (
                "athena:StartQueryExecution",
                "athena:StopQueryExecution",
                "athena:GetQueryExecution",
                "athena:GetQueryResults",
                "athena:GetWorkGroup",
                "athena:ListNamedQueries",
                "athena:GetNamedQuery",
            ),
            (names.arn("athena", f"workgroup/{names.workgroup}"),),
            "run queries and the named ones in the workgroup",
        ),
        Grant(
            "Tables",
            ("glue:GetDatabase", "glue:GetTable", "glue:GetTables", "glue:GetPartitions"),
            glue_arns(names),
            "columns and partitions",
        ),
        Grant(
            "FindBucket",
            ("s3:GetBucketLocation",),
            (names.bucket_arn,),
            "Athena checks where its results go",
        ),
        _list(scope, "files of the tables, results of queries", _TABLES, _RESULTS),
        _read(scope, "files of the tables, results of queries", _TABLES, _RESULTS),
        _write(scope, "results of queries", _RESULTS),
        _objects(scope, "EndUpload", "s3:AbortMultipartUpload", "an ended query", _RESULTS),
        *_keys(scope, write=True),
    )


def app_image(scope: Scope, repository_arn: str) -> tuple[Grant, ...]:
    """What SageMaker needs to take the app's image from the repository of CDK's assets."""
    del scope
    return (
        Grant(
            "Pull",
            (
                "ecr:BatchCheckLayerAvailability",
                "ecr:BatchGetImage",
                "ecr:GetDownloadUrlForLayer",
            ),
            (repository_arn,),
            "the app's image",
        ),
        Grant("Login", ("ecr:GetAuthorizationToken",), ("*",), "before any pull"),
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
    return (*FUNCTION_GRANTS[function](scope), *_own_logs(scope, function))


def state_machine_grants(scope: Scope) -> tuple[Grant, ...]:
    """All statements of the state machine's role."""
    return _state_machine(scope)


PEOPLE_GRANTS: dict[str, Callable[[Scope], tuple[Grant, ...]]] = {
    "training": _training,
    "studio-user": _studio_user,
    "analyst": _analyst,
}
"""Roles that are not the system's own: training jobs, Studio users, analysts."""
