"""Writes findings, report and manifest: the profile is there."""

from __future__ import annotations

from dataclasses import dataclass

from tracemill_analysis.pipeline import JobOutcome
from tracemill_analysis.pipeline.assemble import job_facts
from tracemill_analysis.pipeline.finish import finish
from tracemill_schema import aws, layout

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
def handler(event: aws.ExecutionInput, context: Context) -> aws.ReportResult:
    """Finish the job and return the text of the notification."""
    store = open_store(read_environment(Environment).store_uri)
    job = event["job_name"]
    logger.append_keys(job_name=job)
    plan = read_plan(store, job)
    outcome = finish(store, job, job_facts(plan, read_results(store, plan)), Deadline(context))
    logger.info("finished", partial=outcome.partial, drops=outcome.drops)
    count("ProfilesPartial", int(outcome.partial))
    count("ProfilesMade", 1)
    return aws.ReportResult(message=notification(outcome, store.address))


def notification(outcome: JobOutcome, store: str) -> str:
    """Text for people: the verdict, what is missing, where the report is."""
    job = outcome.manifest.job_name
    lines = [f"Job {job} ({outcome.manifest.job['status']}): {outcome.manifest.verdict[0]}"]
    if outcome.rejected:
        first = outcome.rejected[0][1]
        lines.append(f"Left out: {len(outcome.rejected)} of the job's inputs, the first: {first}")
    if outcome.partial:
        lines.append("The profile is partial.")
    lines.append(f"Report: {store}/{layout.report_key(job, 'html')}")
    return "\n".join(lines)
