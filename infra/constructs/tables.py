"""Glue database and tables, from the schema's declarations."""

from __future__ import annotations

from aws_cdk import aws_glue as glue
from constructs import Construct
from tracemill_schema import SCHEMA_VERSION, layout
from tracemill_schema.columns import Table
from tracemill_schema.tables import TABLES
from tracemill_schema.targets.glue import GLUE_PARTITION_KEYS, glue_columns

from infra.names import Names

_PARQUET = "org.apache.hadoop.hive.ql.io.parquet"


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
                storage_descriptor=glue.CfnTable.StorageDescriptorProperty(
                    columns=[_column(column) for column in glue_columns(table)],
                    location=f"{self._names.store_uri}/{layout.TABLES_PREFIX}{table.name}/",
                    input_format=f"{_PARQUET}.MapredParquetInputFormat",
                    output_format=f"{_PARQUET}.MapredParquetOutputFormat",
                    serde_info=glue.CfnTable.SerdeInfoProperty(
                        serialization_library=f"{_PARQUET}.serde.ParquetHiveSerDe",
                        parameters={"serialization.format": "1"},
                    ),
                ),
            ),
        )


def _column(column: dict[str, str]) -> glue.CfnTable.ColumnProperty:
    # Glue takes 255 characters of comment.
    return glue.CfnTable.ColumnProperty(
        name=column["Name"], type=column["Type"], comment=column["Comment"][:255]
    )
