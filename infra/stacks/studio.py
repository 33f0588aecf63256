"""The app in SageMaker Studio."""

from __future__ import annotations

from aws_cdk import CfnOutput
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from infra import grants
from infra.constructs.app_image import AppImage
from infra.constructs.domain import StudioDomain, StudioUsers
from infra.constructs.roles import document
from infra.names import Names
from infra.stacks.base import SystemStack


class StudioStack(SystemStack):
    """App image, domain (or an existing one), user profiles."""

    def __init__(
        self, scope: Construct, *, names: Names, key: kms.IKey, user_role: iam.IRole
    ) -> None:
        super().__init__(scope, "studio", names=names, description="app in SageMaker Studio")
        grant_scope = self.grant_scope(key.key_arn)
        image = AppImage(self, "App", grant_scope)
        domain_id = names.config.domain_id
        if not domain_id:
            domain = StudioDomain(
                self, "Studio", names=names, key_arn=key.key_arn, user_role=user_role
            ).domain
            domain.add_resource_dependency(image.last)
            domain_id = domain.attr_domain_id
        users = StudioUsers(self, "Users", names=names, domain_id=domain_id, user_role=user_role)
        for profile in users.profiles:
            profile.add_resource_dependency(image.last)
        statements = grants.studio_apps(grant_scope, domain_id)
        # The domain needs the role and this statement needs the domain: hence a policy of its own.
        iam.CfnRolePolicy(
            self,
            "UserApps",
            policy_name="apps",
            role_name=user_role.role_name,
            policy_document=document(statements),
        )
        CfnOutput(self, "DomainId", value=domain_id)
