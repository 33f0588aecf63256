"""What SageMaker knows of a training job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError
from tracemill_analysis.pipeline.plan import RunFacts
from tracemill_schema.errors import InputError
from tracemill_schema.vocab import RunStatus

_OWN_VARIABLE = "TRACEMILL_"


@dataclass(frozen=True)
class TrainingJob:
    """Facts of the run, and whether it was set up to leave a recording."""

    run: RunFacts = field(default_factory=RunFacts)
    profile_output: str | None = None
    recording_expected: bool = True


def describe(sagemaker: Any, job: str) -> TrainingJob:
    """Ask SageMaker; a job that it does not know has only its recording to tell of it."""
    try:
        answer = sagemaker.describe_training_job(TrainingJobName=job)
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code in ("ValidationException", "ResourceNotFound"):
            return TrainingJob()
        raise
    profiler = answer.get("ProfilerConfig") or {}
    resources = answer.get("ResourceConfig") or {}
    types = [group["InstanceType"] for group in resources.get("InstanceGroups") or []]
    types += [resources["InstanceType"]] if resources.get("InstanceType") else []
    return TrainingJob(
        RunFacts(_status(answer["TrainingJobStatus"]), tuple(sorted(set(types)))),
        profiler.get("S3OutputPath"),
        any(name.startswith(_OWN_VARIABLE) for name in answer.get("Environment") or {}),
    )


def check_found(job: TrainingJob, name: str, store: str, *, anything: bool) -> None:
    """Raise InputError if a recording should be there and is not."""
    if not job.recording_expected and not anything:
        return
    output = job.profile_output
    where = f"{store}/raw"
    if output and output.rstrip("/") != where:
        raise InputError(
            f"job {name}: no recording in {store}: the job ships its profile to {output}; "
            f"set S3OutputPath to {where}"
        )
    raise InputError(
        f"job {name}: the recording is empty: nothing with events lies under {where}; look for "
        "lines of tracemill in the job's log"
    )


def _status(word: str) -> RunStatus | None:
    return RunStatus(word) if word in set(RunStatus) else None
