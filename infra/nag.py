"""Acknowledgements of cdk-nag findings: one finding, one reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct

from infra.grants import Grant


def acknowledge(construct: IConstruct, findings: Mapping[str, str]) -> None:
    """Acknowledge each finding (its id as cdk-nag prints it) with its reason."""
    for finding, reason in findings.items():
        Validations.of(construct).acknowledge(
            Acknowledgment(id=f"AwsSolutions-{finding}", reason=reason)
        )


def acknowledge_grants(construct: IConstruct, grants: Iterable[Grant]) -> None:
    """Acknowledge the wildcards in resources of statements: the reasons are the statements' own."""
    reasons: dict[str, list[str]] = {}
    for grant in grants:
        for resource in grant.resources:
            if "*" in resource:
                finding = f"IAM5[Resource::{resource}]"
                reasons.setdefault(finding, []).append(f"{grant.sid}: {grant.reason}")
    acknowledge(construct, {finding: "; ".join(texts) for finding, texts in reasons.items()})
