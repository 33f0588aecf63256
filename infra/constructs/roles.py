"""A role that may do what its grants say, and cannot be given more by accident."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.grants import Grant
from infra.nag import acknowledge_grants


def statement(grant: Grant) -> iam.PolicyStatement:
    """Return the IAM statement of a grant."""
    return iam.PolicyStatement(
        sid=grant.sid,
        actions=list(grant.actions),
        resources=list(grant.resources),
        conditions={operator: dict(values) for operator, values in grant.conditions.items()},
    )


def document(grants: Sequence[Grant]) -> iam.PolicyDocument:
    """Return a policy document of several grants."""
    return iam.PolicyDocument(statements=[statement(grant) for grant in grants], minimize=False)


class GrantedRole(Construct):
    """An IAM role with one inline policy made of grants."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        role_name: str,
        description: str,
        principal: iam.IPrincipal,
        grants: Sequence[Grant],
    ) -> None:
        super().__init__(scope, construct_id)
        self._role = iam.Role(
            self,
            "Role",
            role_name=role_name,
            description=description,
            assumed_by=principal,
            inline_policies={"grants": document(grants)},
        )
        acknowledge_grants(self._role, grants)

    @property
    def role(self) -> iam.IRole:
        """The role, closed to the statements that other constructs would add by themselves."""
        return self._role.without_policy_updates()
