"""Athena workgroup and named queries."""

from __future__ import annotations

from aws_cdk import aws_athena as athena
from constructs import Construct
from tracemill_schema.queries import named_queries

from infra.names import ATHENA_PREFIX, Names


class QueryWorkgroup(Construct):
    """The workgroup (bounded scans, encrypted results) and the named queries in it."""

    def __init__(self, scope: Construct, construct_id: str, names: Names, key_arn: str) -> None:
        super().__init__(scope, construct_id)
        config = names.config
        encryption = (
            athena.CfnWorkGroup.EncryptionConfigurationProperty(
                encryption_option="SSE_KMS", kms_key=key_arn
            )
            if key_arn
            else athena.CfnWorkGroup.EncryptionConfigurationProperty(encryption_option="SSE_S3")
        )
        workgroup = athena.CfnWorkGroup(
            self,
            "Workgroup",
            name=names.workgroup,
            description="Questions to profiles",
            recursive_delete_option=config.destroy,
            work_group_configuration=athena.CfnWorkGroup.WorkGroupConfigurationProperty(
                enforce_work_group_configuration=True,
                publish_cloud_watch_metrics_enabled=True,
                bytes_scanned_cutoff_per_query=config.scan_limit_gb * 1000**3,
                engine_version=athena.CfnWorkGroup.EngineVersionProperty(
                    selected_engine_version="Athena engine version 3"
                ),
                result_configuration=athena.CfnWorkGroup.ResultConfigurationProperty(
                    output_location=f"{names.store_uri}/{ATHENA_PREFIX}",
                    encryption_configuration=encryption,
                ),
            ),
        )
        for query in named_queries():
            athena.CfnNamedQuery(
                self,
                query.name,
                name=query.name,
                description=query.question[:1024],
                database=names.database,
                query_string=query.sql,
                work_group=names.workgroup,
            ).add_resource_dependency(workgroup)
