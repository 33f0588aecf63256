"""The SageMaker domain and its users."""

from __future__ import annotations

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from infra.constructs.app_image import custom_images
from infra.constructs.network import IsolatedNetwork
from infra.names import Names


class StudioDomain(Construct):
    """A new domain with the app's image; in a given VPC, or in a small one of its own."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        names: Names,
        key_arn: str,
        user_role: iam.IRole,
    ) -> None:
        super().__init__(scope, construct_id)
        config = names.config
        vpc_id, subnet_ids = config.vpc_id, list(config.subnet_ids)
        if not vpc_id:
            network = IsolatedNetwork(self, "Network", region=config.region, name=config.name)
            vpc_id, subnet_ids = network.vpc_id, network.subnet_ids
        group = ec2.CfnSecurityGroup(
            self,
            "Group",
            vpc_id=vpc_id,
            group_description="Apps of the Tracemill domain: no way in from outside",
        )
        # Apps talk to the domain's file system and, in spaces, to each other.
        ec2.CfnSecurityGroupIngress(
            self,
            "WithinGroup",
            group_id=group.attr_group_id,
            source_security_group_id=group.attr_group_id,
            ip_protocol="-1",
            description="within the group",
        )
        lab = custom_images(names) | {
            "appLifecycleManagement": {
                "idleSettings": {
                    "lifecycleManagement": "ENABLED",
                    "idleTimeoutInMinutes": config.idle_minutes,
                }
            }
        }
        self.domain = sagemaker.CfnDomain(
            self,
            "Domain",
            domain_name=config.name,
            auth_mode="IAM",
            vpc_id=vpc_id,
            subnet_ids=subnet_ids,
            app_network_access_type="VpcOnly" if config.vpc_only else "PublicInternetOnly",
            kms_key_id=key_arn,
            default_user_settings={
                "executionRole": user_role.role_arn,
                "securityGroups": [group.attr_group_id],
                "studioWebPortal": "ENABLED",
                "defaultLandingUri": "studio::",
                "jupyterLabAppSettings": lab,
            },
            default_space_settings={
                "executionRole": user_role.role_arn,
                "securityGroups": [group.attr_group_id],
                "jupyterLabAppSettings": lab,
            },
        )


class StudioUsers(Construct):
    """One user profile per configured name. Image and role are set here too, for a domain that was
    there before."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        names: Names,
        domain_id: str,
        user_role: iam.IRole,
    ) -> None:
        super().__init__(scope, construct_id)
        self.profiles = [
            sagemaker.CfnUserProfile(
                self,
                name,
                domain_id=domain_id,
                user_profile_name=name,
                user_settings={
                    "executionRole": user_role.role_arn,
                    "jupyterLabAppSettings": custom_images(names),
                },
            )
            for name in names.config.studio_users
        ]
