"""Finds the recording of a training job and writes the work manifest."""

from __future__ import annotations

from dataclasses import dataclass

from tracemill_analysis.pipeline.finish import begin
from tracemill_analysis.pipeline.plan import plan_recorded
from tracemill_schema import aws, layout

from lambdas.common.clients import client, may_be_busy
from lambdas.common.deadline import Context
from lambdas.common.env import read_environment
from lambdas.common.observe import count, logger, metrics
from lambdas.common.run import write_plan
from lambdas.common.storage import open_store
from lambdas.discover.training_job import check_found, describe


@dataclass(frozen=True)
class Environment:
    """Environment of the function."""

    store_uri: str


@logger.inject_lambda_context
@metrics.log_metrics
def handler(event: aws.ExecutionInput, _context: Context) -> aws.Work:
    """Plan the run; raises InputError if a recording was to be expected and cannot be read."""
    store = open_store(read_environment(Environment).store_uri)
    job = layout.check_name(event["job_name"])
    logger.append_keys(job_name=job)
    with may_be_busy("SageMaker"):
        training = describe(client("sagemaker"), job)
    plan = plan_recorded(store, job, training.run)
    if not plan.items:
        shipped = [store.list_objects(p) for p in (layout.raw_prefix(job), aws.shipped_prefix(job))]
        check_found(training, job, store.address, anything=any(shipped))
    else:
        begin(store, job)
    work = write_plan(store, plan)
    logger.info("planned", items=work["items"], rejected=len(plan.rejected))
    count("ProcessesFound", work["items"])
    return work
