"""What training jobs, Studio and people may do."""

from __future__ import annotations

from collections.abc import Callable

from infra.grants.base import (
    CURATED,
    RAW,
    RESULTS,
    TABLES,
    Grant,
    Scope,
    glue_arns,
    list_keys,
    objects,
    read,
    store_key,
    write,
)


def _training(scope: Scope) -> tuple[Grant, ...]:
    return (
        write(scope, "recordings, and nothing else; not even reading them back", RAW),
        *store_key(scope, write=True),
    )


def _studio_user(scope: Scope) -> tuple[Grant, ...]:
    listed = (*CURATED, RAW)
    return (
        list_keys(scope, "profiles, and which jobs have a recording", *listed),
        read(scope, "profiles and reports", *CURATED),
        *store_key(scope, write=False),
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
        list_keys(scope, "files of the tables, results of queries", TABLES, RESULTS),
        read(scope, "files of the tables, results of queries", TABLES, RESULTS),
        write(scope, "results of queries", RESULTS),
        objects(scope, "EndUpload", "s3:AbortMultipartUpload", "an ended query", RESULTS),
        *store_key(scope, write=True),
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


PEOPLE_GRANTS: dict[str, Callable[[Scope], tuple[Grant, ...]]] = {
    "training": _training,
    "studio-user": _studio_user,
    "analyst": _analyst,
}
"""Roles that are not the system's own: training jobs, Studio users, analysts."""
