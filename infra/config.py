"""What can be set with ``cdk deploy -c name=value``: one frozen value, read and checked once.

Everything has a default, so ``cdk deploy --all`` with no option gives a working system.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

DUMMY_ACCOUNT = "123456789012"
"""Account of a synth without credentials; the CDK command line sets the real one."""
DEFAULT_REGION = "us-east-1"


class ConfigError(ValueError):
    """A context value cannot be used; the message names it and says what is allowed."""


def _builder_architecture() -> str:
    return "arm64" if platform.machine().lower() in ("arm64", "aarch64") else "x86_64"


def _option(default: Any, doc: str) -> Any:
    """Field of the configuration with the text that docs/aws-deploy.md shows."""
    if callable(default):
        return field(default_factory=default, metadata={"doc": doc})
    return field(default=default, metadata={"doc": doc})


@dataclass(frozen=True)
class Config:
    """One installation. Names are those of the CDK context."""

    account: str = _option(
        lambda: os.environ.get("CDK_DEFAULT_ACCOUNT", DUMMY_ACCOUNT),
        "account to deploy to; default: that of the credentials in use",
    )
    region: str = _option(
        lambda: os.environ.get("CDK_DEFAULT_REGION", DEFAULT_REGION),
        "region to deploy to; default: that of the credentials in use",
    )
    name: str = _option("tracemill", "first part of all resource names; lets two systems coexist")
    bucket: str = _option("", "existing bucket to use as the store; default: a new one")
    bucket_key_arn: str = _option("", "KMS key the existing bucket is encrypted with, if any")
    prefix: str = _option("", "prefix of the store within the bucket, for example `profiles`")
    job_name_pattern: str = _option("*", "training jobs to process: a name, or a beginning and `*`")
    raw_retention_days: int = _option(30, "recordings are deleted after this many days; 0: never")
    work_retention_days: int = _option(
        3, "intermediate objects of a run are deleted after this many days"
    )
    log_retention_days: int = _option(30, "days that logs are kept")
    reconcile_minutes: int = _option(
        60, "how often missed and running jobs are looked for; 0: never"
    )
    reconcile_hours: int = _option(24, "how far back the reconciler looks")
    email: str = _option("", "address that gets verdicts, failures and alarms")
    max_concurrency: int = _option(100, "processes of one job that are converted at the same time")
    scan_limit_gb: int = _option(100, "Athena ends a query that reads more than this")
    studio: bool = _option(True, "make the SageMaker Studio part")
    domain_id: str = _option("", "existing SageMaker domain; default: a new one")
    studio_users: tuple[str, ...] = _option(
        ("tracemill",), "user profiles to make, comma separated"
    )
    vpc_id: str = _option("", "existing VPC of the new domain; default: a small isolated one")
    subnet_ids: tuple[str, ...] = _option((), "subnets of that VPC, comma separated")
    vpc_only: bool = _option(False, "apps of the new domain get no internet access of their own")
    idle_minutes: int = _option(120, "a Studio app that idles for this long is shut down")
    architecture: str = _option(
        _builder_architecture, "of the Lambda image: x86_64 or arm64; default: the builder's"
    )
    removal: str = _option(
        "retain", "what `cdk destroy` does with data: `retain`, or `destroy` (empties the bucket)"
    )
    tags: Mapping[str, str] = _option(dict, "tags of all resources, as JSON object")

    def __post_init__(self) -> None:
        for name, check, allowed in _CHECKS:
            if not check(getattr(self, name)):
                raise ConfigError(f"{name}={getattr(self, name)!r}: take {allowed}")
        if bool(self.vpc_id) != bool(self.subnet_ids):
            raise ConfigError("vpc_id and subnet_ids: give both or none")
        if self.vpc_id and self.domain_id:
            raise ConfigError("vpc_id: an existing domain (domain_id) has its VPC already")
        if self.vpc_only and not self.vpc_id:
            raise ConfigError("vpc_only: the small VPC has no way to SageMaker; give vpc_id")
        if self.bucket_key_arn and not self.bucket:
            raise ConfigError("bucket_key_arn: only with an existing bucket")

    @property
    def partition(self) -> str:
        """Partition of the region's ARNs."""
        return next((p for start, p in _PARTITIONS.items() if self.region.startswith(start)), "aws")

    @property
    def destroy(self) -> bool:
        """True if ``cdk destroy`` removes data too."""
        return self.removal == "destroy"

    @property
    def key_prefix(self) -> str:
        """What stands before every key of ``layout``: empty, or ends with a slash."""
        return f"{self.prefix}/" if self.prefix else ""

    @classmethod
    def from_context(cls, lookup: Callable[[str], Any]) -> Config:
        """Read the options that ``lookup(name)`` knows (None: not given).

        Values may be strings, as ``-c`` gives them, or JSON values, as cdk.json gives them.
        Raises ConfigError on a value that cannot be used.
        """
        given: dict[str, Any] = {}
        for option in fields(cls):
            value = lookup(option.name)
            if value is not None:
                given[option.name] = _convert(option.name, str(option.type), value)
        return cls(**given)


_PARTITIONS = {"cn-": "aws-cn", "us-gov-": "aws-us-gov"}


def _convert(name: str, kind: str, value: Any) -> Any:
    try:
        return _CONVERTERS[kind](value)
    except (TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"{name}={value!r}: {error}") from error


def _to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() in ("true", "1", "yes"):
        return True
    if str(value).lower() in ("false", "0", "no"):
        return False
    raise ValueError("take true or false")


def _to_names(value: Any) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else list(value)
    return tuple(str(part).strip() for part in parts if str(part).strip())


def _to_tags(value: Any) -> dict[str, str]:
    document = json.loads(value) if isinstance(value, str) else dict(value)
    if not isinstance(document, dict):
        raise ValueError("take a JSON object of strings")
    return {str(key): str(text) for key, text in sorted(document.items())}


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "str": str,
    "int": int,
    "bool": _to_bool,
    "tuple[str, ...]": _to_names,
    "Mapping[str, str]": _to_tags,
}


def _matches(pattern: str) -> Callable[[Any], bool]:
    return lambda value: re.fullmatch(pattern, value) is not None


def _within(least: int, most: int) -> Callable[[Any], bool]:
    return lambda value: least <= value <= most


_LOG_RETENTIONS = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1827, 3653)

_CHECKS: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("account", _matches(r"\d{12}"), "twelve digits"),
    ("region", _matches(r"[a-z]{2}(-[a-z]+)+-\d"), "a region such as eu-west-1"),
    ("name", _matches(r"[a-z][a-z0-9-]{0,18}[a-z0-9]"), "2 to 20 of a-z, 0-9 and -"),
    ("bucket", _matches(r"|[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"), "the name of a bucket"),
    ("bucket_key_arn", _matches(r"|arn:[^:]+:kms:[^:]+:\d{12}:key/[\w-]+"), "the ARN of a key"),
    ("prefix", _matches(r"|[\w.-]+(/[\w.-]+)*"), "folders without a slash at either end"),
    ("job_name_pattern", _matches(r"[A-Za-z0-9-]{0,63}\*?"), "a job name, at its end maybe *"),
    ("job_name_pattern", bool, "a job name, at its end maybe *"),
    ("raw_retention_days", _within(0, 3650), "0 to 3650"),
    ("work_retention_days", _within(1, 365), "1 to 365"),
    ("log_retention_days", _LOG_RETENTIONS.__contains__, f"one of {_LOG_RETENTIONS}"),
    ("reconcile_minutes", _within(0, 1440), "0 to 1440"),
    ("reconcile_hours", _within(1, 720), "1 to 720"),
    ("email", _matches(r"|[^@\s]+@[^@\s]+"), "an address"),
    ("max_concurrency", _within(1, 1000), "1 to 1000"),
    ("scan_limit_gb", _within(1, 100_000), "1 to 100000"),
    ("domain_id", _matches(r"|d-[a-z0-9-]{1,61}"), "a domain id such as d-abc123"),
    (
        "studio_users",
        lambda names: all(re.fullmatch(r"[A-Za-z0-9](-*[A-Za-z0-9]){0,62}", n) for n in names),
        "letters, digits and -",
    ),
    ("vpc_id", _matches(r"|vpc-([0-9a-f]{8}|[0-9a-f]{17})"), "the id of a VPC"),
    (
        "subnet_ids",
        lambda ids: all(re.fullmatch(r"subnet-([0-9a-f]{8}|[0-9a-f]{17})", i) for i in ids),
        "ids of subnets",
    ),
    ("idle_minutes", _within(60, 525_600), "60 to 525600"),
    ("architecture", ("x86_64", "arm64").__contains__, "x86_64 or arm64"),
    ("removal", ("retain", "destroy").__contains__, "retain or destroy"),
)


def options_table() -> str:
    """Markdown table of all options, as docs/aws-deploy.md shows it."""
    lines = ["| option | default | meaning |", "|---|---|---|"]
    for option in fields(Config):
        shown = _DEFAULT_WORDS.get(option.name) or _shown(option.default)
        lines.append(f"| `{option.name}` | {shown} | {option.metadata['doc']} |")
    return "\n".join(lines) + "\n"


_DEFAULT_WORDS = dict.fromkeys(("account", "region", "architecture", "tags"), "–")


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "`true`" if value else "`false`"
    if isinstance(value, tuple):
        return f"`{','.join(value)}`" if value else "–"
    return f"`{value}`" if value != "" else "–"
