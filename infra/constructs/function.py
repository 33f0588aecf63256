"""One Lambda function of the image that all functions share."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import Duration, IgnoreMode, RemovalPolicy, Size
from aws_cdk import aws_ecr_assets as assets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct
from tracemill_schema.aws import FUNCTION_BY_NAME, Env

from infra.config import Config
from infra.context import FUNCTION_IMAGE_PARTS, REPOSITORY_ROOT, ignore_patterns
from infra.limits import EVENT_MAX_AGE_S, FUNCTION_LIMITS
from infra.names import Names


class FunctionImage(Construct):
    """The container image of all functions; built when it is published, not at synth."""

    def __init__(self, scope: Construct, construct_id: str, config: Config) -> None:
        super().__init__(scope, construct_id)
        arm = config.architecture == "arm64"
        self.architecture = lambda_.Architecture.ARM_64 if arm else lambda_.Architecture.X86_64
        self.asset = assets.DockerImageAsset(
            self,
            "Image",
            directory=str(REPOSITORY_ROOT),
            file=str(Path("lambdas", "Dockerfile")),
            exclude=ignore_patterns(FUNCTION_IMAGE_PARTS),
            ignore_mode=IgnoreMode.DOCKER,
            platform=assets.Platform.LINUX_ARM64 if arm else assets.Platform.LINUX_AMD64,
        )

    def code(self, handler: str) -> lambda_.DockerImageCode:
        """Return the image with ``handler`` as its command."""
        return lambda_.DockerImageCode.from_ecr(
            self.asset.repository, tag_or_digest=self.asset.image_tag, cmd=[handler]
        )


def environment(names: Names, function: str) -> dict[str, str]:
    """Values of exactly the variables that ``tracemill_schema.aws`` declares for the function."""
    values = {
        Env.STORE_URI: names.store_uri,
        Env.STATE_MACHINE_ARN: names.state_machine_arn,
        Env.TOPIC_ARN: names.topic_arn,
        Env.GLUE_DATABASE: names.database,
        Env.JOB_NAME_PATTERN: names.config.job_name_pattern,
        Env.RECONCILE_HOURS: str(names.config.reconcile_hours),
    }
    return {str(env): values[env] for env in FUNCTION_BY_NAME[function].env}


class SystemFunction(Construct):
    """A function with its log group, its own role, its limits and its declared environment."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        names: Names,
        function: str,
        image: FunctionImage,
        role: iam.IRole,
        dead_letters: sqs.IQueue | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        config = names.config
        declared = FUNCTION_BY_NAME[function]
        limits = FUNCTION_LIMITS[function]
        log_group = logs.LogGroup(
            self,
            "Log",
            log_group_name=names.log_group(function),
            retention=log_retention(config),
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.function = lambda_.DockerImageFunction(
            self,
            "Function",
            function_name=names.function(function),
            description=declared.doc,
            code=image.code(declared.handler),
            architecture=image.architecture,
            memory_size=limits.memory_mib,
            timeout=Duration.seconds(limits.timeout_s),
            ephemeral_storage_size=Size.mebibytes(limits.disk_mib),
            environment=environment(names, function),
            role=role,
            log_group=log_group,
            tracing=lambda_.Tracing.ACTIVE,
        )
        if dead_letters is not None:
            lambda_.CfnEventInvokeConfig(
                self,
                "Events",
                function_name=self.function.function_name,
                qualifier="$LATEST",
                maximum_event_age_in_seconds=EVENT_MAX_AGE_S,
                maximum_retry_attempts=2,
                destination_config=lambda_.CfnEventInvokeConfig.DestinationConfigProperty(
                    on_failure=lambda_.CfnEventInvokeConfig.OnFailureProperty(
                        destination=dead_letters.queue_arn
                    )
                ),
            )


def log_retention(config: Config) -> logs.RetentionDays:
    """Return CDK's word for the configured number of days."""
    return _RETENTION[config.log_retention_days]


_RETENTION = {
    1: logs.RetentionDays.ONE_DAY,
    3: logs.RetentionDays.THREE_DAYS,
    5: logs.RetentionDays.FIVE_DAYS,
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    60: logs.RetentionDays.TWO_MONTHS,
    90: logs.RetentionDays.THREE_MONTHS,
    120: logs.RetentionDays.FOUR_MONTHS,
    150: logs.RetentionDays.FIVE_MONTHS,
    180: logs.RetentionDays.SIX_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
    400: logs.RetentionDays.THIRTEEN_MONTHS,
    545: logs.RetentionDays.EIGHTEEN_MONTHS,
    731: logs.RetentionDays.TWO_YEARS,
    1827: logs.RetentionDays.FIVE_YEARS,
    3653: logs.RetentionDays.TEN_YEARS,
}
