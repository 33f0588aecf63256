"""The CDK application: five stacks of one installation."""

from __future__ import annotations

import json
from typing import Any

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks

from infra.config import Config
from infra.context import REPOSITORY_ROOT
from infra.names import Names
from infra.stacks.access import AccessStack
from infra.stacks.catalog import CatalogStack
from infra.stacks.pipeline import PipelineStack
from infra.stacks.storage import StorageStack
from infra.stacks.studio import StudioStack


def build_app(outdir: str | None = None, **options: Any) -> cdk.App:
    """Return the application, checked by cdk-nag when it is synthesized.

    ``options`` are those of ``Config``; what the command line gives with ``-c`` wins. Raises
    ConfigError on a bad one.
    """
    # The command line reads cdk.json by itself, a plain `python app.py` does not.
    flags = json.loads((REPOSITORY_ROOT / "cdk.json").read_text(encoding="utf-8"))["context"]
    app = cdk.App(analytics_reporting=False, outdir=outdir, context=flags | options)
    names = Names(Config.from_context(app.node.try_get_context))
    storage = StorageStack(app, names=names)
    key_arn = storage.key.key_arn
    CatalogStack(app, names=names, key_arn=key_arn).add_stack_dependency(storage)
    access = AccessStack(app, names=names, key_arn=key_arn)
    PipelineStack(
        app,
        names=names,
        key=storage.key,
        function_roles=access.function_roles,
        state_machine_role=access.state_machine_role,
    )
    if names.config.studio:
        StudioStack(app, names=names, key=storage.key, user_role=access.people_roles["studio-user"])
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    return app
