"""Glue column lists."""

from __future__ import annotations

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
