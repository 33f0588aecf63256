"""Athena workgroup and named queries."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aws_cdk import aws_athena as athena
from constructs import Construct

from infra.names import ATHENA_PREFIX, Names

QUERIES_FOLDER = Path(__file__).parent.parent / "queries"


@dataclass(frozen=True)
class NamedQuery:
    """One question with its SQL. The file's leading comment lines are the question."""

    name: str
    question: str
    sql: str


def named_queries(folder: Path = QUERIES_FOLDER) -> list[NamedQuery]:
    """Read all named queries, in order of their names."""
    return [_parse(path) for path in sorted(folder.glob("*.sql"))]


def _parse(path: Path) -> NamedQuery:
    text = path.read_text(encoding="utf-8").strip()
    comment = [line[2:].strip() for line in text.splitlines() if line.startswith("--")]
    if not comment:
        raise ValueError(f"{path.name}: the first line must be a comment with the question")
    return NamedQuery(path.stem, " ".join(comment), text)


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
