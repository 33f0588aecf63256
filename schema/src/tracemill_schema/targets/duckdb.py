"""DuckDB DDL."""

from __future__ import annotations

from tracemill_schema.columns import Kind, Table

TYPES = {
    Kind.INT32: "INTEGER",
    Kind.INT64: "BIGINT",
    Kind.DOUBLE: "DOUBLE",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.STRING: "VARCHAR",
}


def empty_select(table: Table) -> str:
    """SELECT of the table's columns with no row: the shape of a table a job has no file of."""
    columns = ", ".join(f'CAST(NULL AS {TYPES[c.kind]}) AS "{c.name}"' for c in table.columns)
    return f"SELECT CAST(NULL AS VARCHAR) AS job_name, {columns} WHERE false"


def create_table(table: Table) -> str:
    """CREATE TABLE statement with comments left to the documentation."""
    columns = ",\n  ".join(
        f'"{c.name}" {TYPES[c.kind]}{"" if c.nullable else " NOT NULL"}' for c in table.columns
    )
    return f'CREATE TABLE "{table.name}" (\n  {columns}\n);\n'
