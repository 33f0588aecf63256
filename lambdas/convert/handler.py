"""Converts one process to event tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from tracemill_analysis.importers.base import WorkItem
from tracemill_analysis.pipeline.convert import convert_item
from tracemill_schema import aws

from lambdas.common.deadline import Context, Deadline
from lambdas.common.env import read_environment
from lambdas.common.observe import count, logger, metrics
from lambdas.common.run import write_result
from lambdas.common.storage import open_store


@dataclass(frozen=True)
class Environment:
    """Environment of the function."""

    store_uri: str


@logger.inject_lambda_context
@metrics.log_metrics
def handler(event: aws.ConvertInput, context: Context) -> dict[str, Any]:
    """Write the tables and the result of one item; an input that cannot be read is a result too."""
    store = open_store(read_environment(Environment).store_uri)
    item = WorkItem.from_json(cast(dict[str, Any], event["item"]))
    logger.append_keys(job_name=event["job_name"], process_id=item.process_id)
    result = convert_item(store, event["job_name"], item, Deadline(context))
    write_result(store, event["job_name"], result)
    if result.process is None:
        logger.warning("rejected", error=result.error)
    else:
        count("EventsKept", result.process.events_kept)
        count("EventsLost", result.process.drops.lost)
    count("ProcessesConverted", int(result.process is not None))
    count("ProcessesRejected", int(result.process is None))
    return {}
