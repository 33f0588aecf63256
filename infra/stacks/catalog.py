"""Tables and queries."""

from __future__ import annotations

from aws_cdk import CfnOutput
from constructs import Construct

from infra.constructs.queries import QueryWorkgroup
from infra.constructs.tables import TableCatalog
from infra.names import Names
from infra.stacks.base import SystemStack


class CatalogStack(SystemStack):
    """Glue database and tables, Athena workgroup and named queries."""

    def __init__(self, scope: Construct, *, names: Names, key_arn: str) -> None:
        super().__init__(scope, "catalog", names=names, description="tables and queries")
        TableCatalog(self, "Tables", names)
        QueryWorkgroup(self, "Queries", names, self.grant_scope(key_arn).store_key_arn)
        CfnOutput(self, "Database", value=names.database)
        CfnOutput(self, "WorkgroupName", value=names.workgroup)
