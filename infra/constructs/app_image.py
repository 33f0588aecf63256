"""The app as an image that Studio's JupyterLab can start."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import IgnoreMode
from aws_cdk import aws_ecr_assets as assets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct
from tracemill_schema.aws import APP_STORE_ENV

from infra import grants
from infra.constructs.roles import GrantedRole
from infra.context import APP_IMAGE_PARTS, REPOSITORY_ROOT, ignore_patterns
from infra.names import Names


class AppImage(Construct):
    """Image, its version and the way to start it; SageMaker Distribution with the app on top.

    SageMaker Distribution exists for x86-64 only, so the image does not follow the builder.
    """

    def __init__(self, scope: Construct, construct_id: str, grant_scope: grants.Scope) -> None:
        super().__init__(scope, construct_id)
        names = grant_scope.names
        asset = assets.DockerImageAsset(
            self,
            "Asset",
            directory=str(REPOSITORY_ROOT),
            file=str(Path("ui_app", "Dockerfile")),
            exclude=ignore_patterns(APP_IMAGE_PARTS),
            ignore_mode=IgnoreMode.DOCKER,
            platform=assets.Platform.LINUX_AMD64,
        )
        self.role = GrantedRole(
            self,
            "Role",
            role_name=names.role("app-image"),
            description="SageMaker takes the app's image from ECR",
            principal=iam.ServicePrincipal("sagemaker.amazonaws.com"),
            grants=grants.app_image(grant_scope, asset.repository.repository_arn),
        ).role
        image = sagemaker.CfnImage(
            self,
            "Image",
            image_name=_image_name(names),
            image_display_name="Tracemill",
            image_description="JupyterLab with Tracemill in its launcher",
            image_role_arn=self.role.role_arn,
        )
        version = sagemaker.CfnImageVersion(
            self,
            "Version",
            image_name=_image_name(names),
            base_image=asset.image_uri,
            alias="latest",
            processor="CPU",
            job_type="NOTEBOOK_KERNEL",
        )
        version.add_resource_dependency(image)
        start = sagemaker.CfnAppImageConfig(
            self,
            "Start",
            app_image_config_name=_image_name(names),
            jupyter_lab_app_image_config=sagemaker.CfnAppImageConfig.JupyterLabAppImageConfigProperty(
                container_config=sagemaker.CfnAppImageConfig.ContainerConfigProperty(
                    # No entrypoint: that of SageMaker Distribution sets base URL and token.
                    container_environment_variables=[
                        sagemaker.CfnAppImageConfig.CustomImageContainerEnvironmentVariableProperty(
                            key=APP_STORE_ENV, value=names.store_uri
                        )
                    ]
                )
            ),
        )
        start.add_resource_dependency(version)
        self.last = start
        """Resource that users of the image have to wait for."""


def _image_name(names: Names) -> str:
    return f"{names.config.name}-app"


def custom_images(names: Names) -> dict[str, object]:
    """JupyterLab settings of a domain or user: the image it may start."""
    return {
        "customImages": [
            {"appImageConfigName": _image_name(names), "imageName": _image_name(names)}
        ]
    }
