"""What all stacks have in common: a concrete environment, tags, one naming scheme."""

from __future__ import annotations

import aws_cdk as cdk
from constructs import Construct

from infra.grants import Scope
from infra.names import Names


class SystemStack(cdk.Stack):
    """A stack of one installation, named ``<name>-<part>``."""

    def __init__(self, scope: Construct, part: str, *, names: Names, description: str) -> None:
        config = names.config
        super().__init__(
            scope,
            part,
            stack_name=f"{config.name}-{part}",
            description=f"Tracemill: {description}",
            env=cdk.Environment(account=config.account, region=config.region),
            analytics_reporting=False,
            termination_protection=False,
        )
        self.names = names
        cdk.Tags.of(self).add("tracemill:system", config.name)
        for tag, value in config.tags.items():
            cdk.Tags.of(self).add(tag, value)

    def grant_scope(self, key_arn: str) -> Scope:
        """What the grants of this installation are written for."""
        return Scope(self.names.config, key_arn)
