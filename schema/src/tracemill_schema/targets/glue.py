"""Glue column lists and storage descriptors."""

from __future__ import annotations

from typing import Any

from tracemill_schema.columns import Kind, Table

_TYPES = {
    Kind.INT32: "int",
    Kind.INT64: "bigint",
    Kind.DOUBLE: "double",
    Kind.BOOLEAN: "boolean",
    Kind.STRING: "string",
}


def glue_columns(table: Table) -> list[dict[str, str]]:
    """Columns of a Glue table: name, Hive type and comment, in file order."""
    return [
        {"Name": column.name, "Type": _TYPES[column.kind], "Comment": column.doc}
        for column in table.columns
    ]


GLUE_PARTITION_KEYS: list[dict[str, str]] = [
    {"Name": "job_name", "Type": "string", "Comment": "name of the training job"}
]

_PARQUET = "org.apache.hadoop.hive.ql.io.parquet"


def glue_storage(table: Table, location: str) -> dict[str, Any]:
    """Storage descriptor of a Glue table or partition whose Parquet files lie at ``location``."""
    return {
        # Glue takes 255 characters of comment.
        "Columns": [{**c, "Comment": c["Comment"][:255]} for c in glue_columns(table)],
        "Location": location,
        "InputFormat": f"{_PARQUET}.MapredParquetInputFormat",
        "OutputFormat": f"{_PARQUET}.MapredParquetOutputFormat",
        "SerdeInfo": {
            "SerializationLibrary": f"{_PARQUET}.serde.ParquetHiveSerDe",
            "Parameters": {"serialization.format": "1"},
        },
    }
