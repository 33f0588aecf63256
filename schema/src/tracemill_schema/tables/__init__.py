"""All tables, by family: the profile itself, its events, its aggregates."""

from __future__ import annotations

from tracemill_schema.columns import Table
from tracemill_schema.tables import aggregates, events, profile, timeline

TABLES: tuple[Table, ...] = (
    *profile.TABLES,
    *events.TABLES,
    *aggregates.TABLES,
    *timeline.TABLES,
)
TABLE_BY_NAME: dict[str, Table] = {table.name: table for table in TABLES}

__all__ = ["TABLES", "TABLE_BY_NAME", "aggregates", "events", "profile", "timeline"]
