"""Names and ARNs of everything, derived from the configuration.

They are fixed so that roles can be written before the things they name exist, and so that a person
can guess them: the store of account 123456789012 in eu-west-1 is
``s3://tracemill-123456789012-eu-west-1``.
"""

from __future__ import annotations

from dataclasses import dataclass

from infra.config import Config

ATHENA_PREFIX = "athena/"
"""Results of queries; a lifecycle rule removes them after a few days."""


@dataclass(frozen=True)
class Names:
    """Names and ARNs of one installation."""

    config: Config

    @property
    def bucket(self) -> str:
        """Bucket of the store."""
        c = self.config
        return c.bucket or f"{c.name}-{c.account}-{c.region}"

    @property
    def log_bucket(self) -> str:
        """Bucket that takes the access log of a new store bucket."""
        return f"{self.config.name}-logs-{self.config.account}-{self.config.region}"

    @property
    def store_uri(self) -> str:
        """The store as every part of Tracemill is told it."""
        return f"s3://{self.bucket}/{self.config.prefix}".rstrip("/")

    @property
    def database(self) -> str:
        """Glue database; Athena wants no ``-`` in it."""
        return self.config.name.replace("-", "_")

    @property
    def workgroup(self) -> str:
        """Athena workgroup."""
        return self.config.name

    @property
    def state_machine(self) -> str:
        """State machine of the workflow."""
        return f"{self.config.name}-workflow"

    @property
    def topic(self) -> str:
        """SNS topic of verdicts, failures and alarms."""
        return f"{self.config.name}-notices"

    def function(self, name: str) -> str:
        """Lambda function called ``name`` in ``tracemill_schema.aws``."""
        return f"{self.config.name}-{name}"

    def log_group(self, function: str) -> str:
        """Log group of a Lambda function."""
        return f"/aws/lambda/{self.function(function)}"

    def dead_letters(self, function: str) -> str:
        """Queue of the events that a function could not be given or could not handle."""
        return f"{self.config.name}-{function}-dead-letters"

    def role(self, name: str) -> str:
        """IAM role; with the region, since role names are global."""
        return f"{self.config.name}-{name}-{self.config.region}"

    def arn(self, service: str, resource: str, *, region: bool = True) -> str:
        """ARN of something in this account (and region)."""
        c = self.config
        return f"arn:{c.partition}:{service}:{c.region if region else ''}:{c.account}:{resource}"

    @property
    def bucket_arn(self) -> str:
        """ARN of the store's bucket."""
        return f"arn:{self.config.partition}:s3:::{self.bucket}"

    def objects_arn(self, pattern: str) -> str:
        """ARN of the store's objects whose keys match ``pattern`` (``*`` allowed)."""
        return f"{self.bucket_arn}/{self.config.key_prefix}{pattern}"

    def function_arn(self, name: str) -> str:
        """ARN of a Lambda function."""
        return self.arn("lambda", f"function:{self.function(name)}")

    @property
    def state_machine_arn(self) -> str:
        """ARN of the state machine."""
        return self.arn("states", f"stateMachine:{self.state_machine}")

    @property
    def topic_arn(self) -> str:
        """ARN of the topic."""
        return self.arn("sns", self.topic)

    def training_job_arns(self) -> tuple[str, ...]:
        """ARNs of the training jobs to process; SageMaker writes names in ARNs in lower case."""
        pattern = self.config.job_name_pattern
        return tuple(
            self.arn("sagemaker", f"training-job/{p}")
            for p in dict.fromkeys((pattern.lower(), pattern))
        )
