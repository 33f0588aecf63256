"""The store's bucket with its key and access log."""

from __future__ import annotations

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct
from tracemill_schema import aws, layout

from infra.config import Config
from infra.limits import ATHENA_RESULT_DAYS, INCOMPLETE_UPLOAD_DAYS
from infra.names import ATHENA_PREFIX, Names


def removal_policy(config: Config) -> RemovalPolicy:
    """What happens to data when a stack is destroyed."""
    return RemovalPolicy.DESTROY if config.destroy else RemovalPolicy.RETAIN


def lifecycle_rules(config: Config) -> list[s3.LifecycleRule]:
    """Recordings and intermediate objects go; tables, reports and manifests stay."""
    rules = [
        s3.LifecycleRule(
            id="unfinished-uploads",
            abort_incomplete_multipart_upload_after=Duration.days(INCOMPLETE_UPLOAD_DAYS),
        ),
        s3.LifecycleRule(
            id="work",
            prefix=f"{config.key_prefix}{aws.WORK_PREFIX}",
            expiration=Duration.days(config.work_retention_days),
        ),
        s3.LifecycleRule(
            id="query-results",
            prefix=f"{config.key_prefix}{ATHENA_PREFIX}",
            expiration=Duration.days(ATHENA_RESULT_DAYS),
        ),
    ]
    if config.raw_retention_days:
        rules.append(
            s3.LifecycleRule(
                id="recordings",
                prefix=f"{config.key_prefix}{layout.RAW_PREFIX}",
                expiration=Duration.days(config.raw_retention_days),
            )
        )
    return rules


class SystemKey(Construct):
    """The KMS key of store and topic. IAM policies of the account decide who uses it."""

    def __init__(self, scope: Construct, construct_id: str, config: Config) -> None:
        super().__init__(scope, construct_id)
        self.key = kms.Key(
            self,
            "Key",
            alias=f"alias/{config.name}",
            description="Profiles and notices of Tracemill",
            enable_key_rotation=True,
            removal_policy=removal_policy(config),
        )
        self.key.add_to_resource_policy(
            iam.PolicyStatement(
                sid="AlarmsToTopic",
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["kms:Decrypt", "kms:GenerateDataKey"],
                resources=["*"],
                conditions={"StringEquals": {"aws:SourceAccount": config.account}},
            )
        )


class StoreBucket(Construct):
    """A new store: encrypted with the key, TLS only, not public, access logged, bounded in time."""

    def __init__(self, scope: Construct, construct_id: str, names: Names, key: kms.IKey) -> None:
        super().__init__(scope, construct_id)
        config = names.config
        self.log_bucket = s3.Bucket(
            self,
            "AccessLog",
            bucket_name=names.log_bucket,
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            lifecycle_rules=[
                s3.LifecycleRule(
                    id="access-log", expiration=Duration.days(config.log_retention_days)
                )
            ],
            removal_policy=removal_policy(config),
        )
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            bucket_name=names.bucket,
            encryption=s3.BucketEncryption.KMS,
            encryption_key=key,
            bucket_key_enabled=True,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            server_access_logs_bucket=self.log_bucket,
            lifecycle_rules=lifecycle_rules(config),
            removal_policy=removal_policy(config),
        )
