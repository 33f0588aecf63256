"""Acknowledgements of cdk-nag findings: one finding, one reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from aws_cdk import Acknowledgment, Stack, Validations
from constructs import IConstruct

from infra.grants import Grant


def acknowledge(construct: IConstruct, findings: Mapping[str, str]) -> None:
    """Acknowledge each finding (its id as cdk-nag prints it) with its reason."""
    for finding, reason in findings.items():
        Validations.of(construct).acknowledge(
            Acknowledgment(id=f"AwsSolutions-{finding}", reason=reason)
        )


def acknowledge_grants(construct: IConstruct, grants: Iterable[Grant]) -> None:
    """Acknowledge the wildcards in resources of statements: the reason is the statement's own."""
    resolve = Stack.of(construct).resolve
    acknowledge(
        construct,
        {
            f"IAM5[Resource::{_shown(resolve(resource))}]": f"{grant.sid}: {grant.reason}"
            for grant in grants
            for resource in grant.resources
            if "*" in resource
        },
    )


def _shown(resource: Any) -> str:
    """Write a resolved ARN as cdk-nag does: ``<LogicalId.Attribute>`` for what is not known yet."""
    match resource:
        case str():
            return resource
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(_shown(part) for part in parts)
        case {"Fn::GetAtt": [logical_id, attribute]}:
            return f"<{logical_id}.{attribute}>"
        case {"Ref": logical_id}:
            return f"<{logical_id}>"
        case _:
            raise ValueError(f"{resource!r}: cdk-nag's way to write this is not known here")
