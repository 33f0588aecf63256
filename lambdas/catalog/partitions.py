"""Registers the tables of a job as partitions of the Glue tables."""

from __future__ import annotations

from typing import Any

from tracemill_s3.store import S3Store
from tracemill_schema import layout
from tracemill_schema.errors import StoreError
from tracemill_schema.tables import TABLES
from tracemill_schema.targets.glue import glue_storage

_THERE = "AlreadyExistsException"


def register(glue: Any, store: S3Store, database: str, job: str) -> list[str]:
    """Add one partition per table that has objects; returns the names of the tables.

    A partition that is there already is brought up to date: a later version has more columns.
    """
    registered: list[str] = []
    for table in TABLES:
        prefix = layout.table_prefix(table.name, job)
        if not store.list_objects(prefix):
            continue
        location = f"s3://{store.bucket}/{store.whole_key(prefix.rstrip('/'))}/"
        where = {"DatabaseName": database, "TableName": table.name}
        partition = {"Values": [job], "StorageDescriptor": glue_storage(table, location)}
        answer = glue.batch_create_partition(**where, PartitionInputList=[partition])
        if _codes(answer) == [_THERE]:
            entry = {"PartitionValueList": [job], "PartitionInput": partition}
            answer = glue.batch_update_partition(**where, Entries=[entry])
        if codes := _codes(answer):
            raise StoreError(f"table {table.name}: no partition for job {job}: {', '.join(codes)}")
        registered.append(table.name)
    return registered


def _codes(answer: dict[str, Any]) -> list[str]:
    return [error["ErrorDetail"]["ErrorCode"] for error in answer.get("Errors", [])]
