"""Makes the tables of the whole job from the converted processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tracemill_analysis.pipeline.assemble import assemble
from tracemill_schema import aws

from lambdas.common.deadline import Context, Deadline
from lambdas.common.env import read_environment
from lambdas.common.observe import count, logger, metrics
from lambdas.common.run import read_plan, read_results
from lambdas.common.storage import open_store


@dataclass(frozen=True)
class Environment:
    """Environment of the function."""

    store_uri: str


@logger.inject_lambda_context
@metrics.log_metrics
def handler(event: aws.ExecutionInput, context: Context) -> dict[str, Any]:
    """Write processes, drops and aggregates; raises InputError if no process could be read."""
    store = open_store(read_environment(Environment).store_uri)
    logger.append_keys(job_name=event["job_name"])
    plan = read_plan(store, event["job_name"])
    results = read_results(store, plan)
    assemble(store, plan, results, Deadline(context))
    left_out = sum(result.process is None for result in results)
    logger.info("assembled", processes=len(results) - left_out, left_out=left_out)
    count("ProcessesLeftOut", left_out)
    return {}
