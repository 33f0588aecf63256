"""All steps on one machine, one process after the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tracemill_schema.errors import StoreError, UsageError

from tracemill_analysis import aggregates
from tracemill_analysis.importers.base import Progress, no_progress
from tracemill_analysis.manifest import Manifest, read_manifest
from tracemill_analysis.pipeline.assemble import JobFacts, assemble, job_facts
from tracemill_analysis.pipeline.convert import convert_item, fingerprint
from tracemill_analysis.pipeline.finish import JobOutcome, begin, finish
from tracemill_analysis.pipeline.plan import Plan, RunFacts, plan_recorded, plan_traces
from tracemill_analysis.store import Store


def import_traces(
    store: Store,
    job: str,
    paths: Sequence[Path],
    *,
    replace: bool = False,
    progress: Progress = no_progress,
) -> JobOutcome:
    """Import traces of others (files, or folders of them) as one job and process it.

    Raises InputError if nothing could be read, UsageError if the job exists with other inputs and
    ``replace`` is not set.
    """
    plan = plan_traces(job, paths)
    if not replace:
        _check_replaceable(store, plan)
    return run_plan(store, plan, progress)


def process_job(
    store: Store, job: str, progress: Progress = no_progress, run: RunFacts | None = None
) -> JobOutcome:
    """Process what was recorded of a job, or an imported job's event tables once more.

    ``run`` is what is known of the training run from elsewhere. Raises JobNotFoundError if the
    store has no such job, InputError if nothing could be read.
    """
    plan = plan_recorded(store, job, run)
    if plan.items:
        return run_plan(store, plan, progress)
    return _aggregate_again(store, read_manifest(store, job), progress)


def run_plan(store: Store, plan: Plan, progress: Progress = no_progress) -> JobOutcome:
    """Convert all items of a plan, then assemble and finish the job."""
    begin(store, plan.job)
    results = [
        convert_item(store, plan.job, item, _part_of(progress, number, len(plan.items)))
        for number, item in enumerate(plan.items)
    ]
    assemble(store, plan, results, progress)
    return finish(store, plan.job, job_facts(plan, results), progress)


def _aggregate_again(store: Store, manifest: Manifest, progress: Progress) -> JobOutcome:
    names = ("status", "partial", "simulated", "instance_types")
    facts = {name: manifest.job[name] for name in names}
    aggregates.build(store, manifest.job_name, progress)
    return finish(store, manifest.job_name, JobFacts(facts, manifest.inputs), progress)


def _check_replaceable(store: Store, plan: Plan) -> None:
    if plan.job not in store.job_names():
        return
    try:
        before = read_manifest(store, plan.job).inputs
    except StoreError:
        before = []
    now = {fingerprint(item.files(store))[1] for item in plan.items}
    if {i["sha256"] for i in before if "sha256" in i} != now:
        raise UsageError(
            f"job {plan.job} exists in {store.address} with other inputs: take another --job name, "
            "or --replace to overwrite it"
        )


def _part_of(progress: Progress, number: int, of: int) -> Progress:
    def report(text: str, fraction: float) -> None:
        progress(text, (number + max(fraction, 0.0)) / of)

    return report
