"""Statements and the words they are made of.

The stacks write exactly these statements, docs/aws-roles.md is printed from them, and the tests
compare both with the synthesized templates. Nothing is granted anywhere else.

S3 note: with a condition on ``s3:prefix`` a HEAD request for an absent object is answered 403, not
404, so all parts look for an object by listing its key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tracemill_schema import aws, layout
from tracemill_schema.tables import TABLES as DECLARED

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

RAW = f"{layout.RAW_PREFIX}*"
TABLES = f"{layout.TABLES_PREFIX}*"
JOBS = f"{layout.JOBS_PREFIX}*"
REPORTS = f"{layout.REPORTS_PREFIX}*"
WORK = f"{aws.WORK_PREFIX}*"
RESULTS = f"{ATHENA_PREFIX}*"
FAILURE = aws.failure_key("JOB").replace("JOB", "*")
CURATED = (TABLES, JOBS, REPORTS)
"""What people read: tables, the jobs' own objects, reports. Not the recordings."""


def list_keys(scope: Scope, reason: str, *patterns: str) -> Grant:
    """Listing of keys that match ``patterns``, and of no others."""
    prefixes = [f"{scope.config.key_prefix}{pattern}" for pattern in patterns]
    return Grant(
        "List",
        ("s3:ListBucket",),
        (scope.names.bucket_arn,),
        reason,
        {"StringLike": {"s3:prefix": prefixes}},
    )


def objects(scope: Scope, sid: str, action: str, reason: str, *patterns: str) -> Grant:
    """One action on the objects that match ``patterns``."""
    return Grant(sid, (action,), tuple(scope.names.objects_arn(p) for p in patterns), reason)


def read(scope: Scope, reason: str, *patterns: str) -> Grant:
    """Reading of objects."""
    return objects(scope, "Read", "s3:GetObject", reason, *patterns)


def write(scope: Scope, reason: str, *patterns: str) -> Grant:
    """Writing of objects, also in several parts."""
    return objects(scope, "Write", "s3:PutObject", reason, *patterns)


def delete(scope: Scope, reason: str, *patterns: str) -> Grant:
    """Removal of objects."""
    return objects(scope, "Delete", "s3:DeleteObject", reason, *patterns)


def store_key(scope: Scope, *, write: bool) -> tuple[Grant, ...]:
    """Use of the store's key; nothing if the store has none."""
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
            {"StringEquals": {"kms:ViaService": service_name(scope, "s3")}},
        ),
    )


def service_name(scope: Scope, service: str) -> str:
    """Name of a service as KMS sees it."""
    domain = "amazonaws.com.cn" if scope.config.partition == "aws-cn" else "amazonaws.com"
    return f"{service}.{scope.config.region}.{domain}"


def own_logs(scope: Scope, function: str) -> tuple[Grant, ...]:
    """Log and traces of a function."""
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


def glue_arns(names: Names) -> tuple[str, ...]:
    """ARNs that Glue checks for a call on one of our tables."""
    return (
        names.arn("glue", "catalog"),
        names.arn("glue", f"database/{names.database}"),
        *(names.arn("glue", f"table/{names.database}/{table.name}") for table in DECLARED),
    )
