"""All roles, from ``infra.grants``."""

from __future__ import annotations

from aws_cdk import CfnOutput
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra import grants
from infra.constructs.roles import GrantedRole
from infra.names import Names
from infra.stacks.base import SystemStack


class AccessStack(SystemStack):
    """One role per function, the state machine's, and those of training jobs and people."""

    def __init__(self, scope: Construct, *, names: Names, key_arn: str) -> None:
        super().__init__(scope, "access", names=names, description="roles")
        self._scope = self.grant_scope(key_arn)
        self.function_roles = {
            function: self._role(
                function,
                f"Lambda function {names.function(function)}",
                iam.ServicePrincipal("lambda.amazonaws.com"),
                grants.function_grants(self._scope, function),
            )
            for function in grants.FUNCTION_GRANTS
        }
        self.state_machine_role = self._role(
            "workflow",
            f"State machine {names.state_machine}",
            iam.ServicePrincipal(
                "states.amazonaws.com",
                conditions={
                    "StringEquals": {"aws:SourceAccount": names.config.account},
                    "ArnLike": {"aws:SourceArn": names.state_machine_arn},
                },
            ),
            grants.state_machine_grants(self._scope),
        )
        sagemaker = iam.ServicePrincipal("sagemaker.amazonaws.com")
        trusted: dict[str, tuple[str, iam.IPrincipal]] = {
            "training": ("Training jobs that are recorded", sagemaker),
            "studio-user": ("Studio users who look at profiles", sagemaker),
            "analyst": (
                "People who ask questions in Athena",
                iam.AccountPrincipal(names.config.account),
            ),
        }
        self.people_roles = {
            name: self._role(name, *trusted[name], make(self._scope))
            for name, make in grants.PEOPLE_GRANTS.items()
        }
        for name, role in self.people_roles.items():
            CfnOutput(self, f"{name.title().replace('-', '')}Role", value=role.role_arn)

    def _role(
        self,
        name: str,
        description: str,
        principal: iam.IPrincipal,
        statements: tuple[grants.Grant, ...],
    ) -> iam.IRole:
        return GrantedRole(
            self,
            name,
            role_name=self.names.role(name),
            description=description,
            principal=principal,
            grants=statements,
        ).role
