"""Glue database and tables, from the schema's declarations."""

from __future__ import annotations

from aws_cdk import aws_glue as glue
from constructs import Construct
from tracemill_schema import SCHEMA_VERSION, layout
from tracemill_schema.columns import Table
from tracemill_schema.tables import TABLES
from tracemill_schema.targets.glue import GLUE_PARTITION_KEYS, glue_storage

from infra.names import Names


class TableCatalog(Construct):
    """The database, and one external Parquet table per declared table.

    All tables have registered partitions (the workflow's last step adds them), not projected ones:
    a query may then read one job or all of them.
    """

    def __init__(self, scope: Construct, construct_id: str, names: Names) -> None:
        super().__init__(scope, construct_id)
        self._names = names
        database = glue.CfnDatabase(
            self,
            "Database",
            catalog_id=names.config.account,
            database_input=glue.CfnDatabase.DatabaseInputProperty(
                name=names.database, description="Profiles of training jobs"
            ),
        )
        for table in TABLES:
            self._table(table).add_resource_dependency(database)

    def _table(self, table: Table) -> glue.CfnTable:
        return glue.CfnTable(
            self,
            table.name,
            catalog_id=self._names.config.account,
            database_name=self._names.database,
            table_input=glue.CfnTable.TableInputProperty(
                name=table.name,
                description=table.doc[:2048],
                table_type="EXTERNAL_TABLE",
                parameters={
                    "classification": "parquet",
                    "EXTERNAL": "TRUE",
                    "tracemill_schema_version": str(SCHEMA_VERSION),
                },
                partition_keys=[_column(key) for key in GLUE_PARTITION_KEYS],
                storage_descriptor=_storage(
                    table, f"{self._names.store_uri}/{layout.TABLES_PREFIX}{table.name}/"
                ),
            ),
        )


def _storage(table: Table, location: str) -> glue.CfnTable.StorageDescriptorProperty:
    declared = glue_storage(table, location)
    return glue.CfnTable.StorageDescriptorProperty(
        columns=[_column(column) for column in declared["Columns"]],
        location=declared["Location"],
        input_format=declared["InputFormat"],
        output_format=declared["OutputFormat"],
        serde_info=glue.CfnTable.SerdeInfoProperty(
            serialization_library=declared["SerdeInfo"]["SerializationLibrary"],
            parameters=declared["SerdeInfo"]["Parameters"],
        ),
    )


def _column(column: dict[str, str]) -> glue.CfnTable.ColumnProperty:
    return glue.CfnTable.ColumnProperty(
        name=column["Name"], type=column["Type"], comment=column["Comment"]
    )
