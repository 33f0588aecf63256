"""One source of truth: tables, raw records, object keys, options and errors.

Nothing here imports anything outside the standard library. Every other form (Arrow schema, Glue
columns, DuckDB DDL, C++ header, documentation) is derived from these declarations.
"""

SCHEMA_VERSION = 1
"""Version of the Parquet tables. Columns are only added; a new meaning is a new version."""

RAW_FORMAT_VERSION = 1
"""Version of the ``.tmraw`` segment format."""
