"""Makes the job's tables known to Athena."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tracemill_schema import aws

from lambdas.catalog.partitions import register
from lambdas.common.clients import client, may_be_busy
from lambdas.common.deadline import Context
from lambdas.common.env import read_environment
from lambdas.common.observe import count, logger, metrics
from lambdas.common.storage import open_store


@dataclass(frozen=True)
class Environment:
    """Environment of the function."""

    store_uri: str
    glue_database: str


@logger.inject_lambda_context
@metrics.log_metrics
def handler(event: aws.ExecutionInput, _context: Context) -> dict[str, Any]:
    """Register the partitions of the job."""
    environment = read_environment(Environment)
    store = open_store(environment.store_uri)
    logger.append_keys(job_name=event["job_name"])
    with may_be_busy("Glue"):
        tables = register(client("glue"), store, environment.glue_database, event["job_name"])
    logger.info("registered", tables=tables)
    count("PartitionsRegistered", len(tables))
    return {}
