"""Does a deployed system work? A tiny recording goes in, a report has to come out.

EventBridge takes no events in SageMaker's name, so the starter is called with the event itself;
the rule's pattern is checked by the tests of the stacks.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError
from tracemill_analysis.manifest import read_manifest
from tracemill_schema import aws, layout
from tracemill_schema.errors import TracemillError

from tracemill_s3.store import S3Store

PROBE = Path(__file__).with_name("probe.tmraw")
"""A recording of a few annotations."""
PROBE_KEY = layout.SegmentKey("job", "node-0", 1, 1, 0)
POLL_S = 2.0
RUNNING = "RUNNING"


class CheckFailedError(TracemillError):
    """A part of the deployed system does not do what it should; the message says which and how."""


@dataclass(frozen=True)
class Deployed:
    """Names of one installation; ``name`` is the option of ``cdk deploy``."""

    store: S3Store
    name: str
    region: str | None = None


def deploy_check(
    system: Deployed, job: str, timeout_s: float, tell: Callable[[str], None], *, keep: bool = False
) -> None:
    """Check store, starter, workflow and report in this order; CheckFailedError at the first fault.

    What was written for the job is removed in the end unless ``keep`` is set.
    """
    store = system.store
    store.check()
    key = layout.SegmentKey(job, PROBE_KEY.node, PROBE_KEY.pid, PROBE_KEY.start_ns, 0)
    store.write_bytes(layout.segment_key(key), PROBE.read_bytes())
    tell(f"store: recording of {job} written")
    try:
        execution = _start(system, job)
        tell(f"starter: execution {execution}")
        _wait(system, execution, job, timeout_s)
        tell("workflow: succeeded")
        manifest = read_manifest(store, job)
        report = layout.report_key(job, "html")
        if not store.exists(report):
            raise CheckFailedError(f"report: {store.address}/{report} is missing")
        tell(f"report: there; the profile is {manifest.job['completeness']}")
    finally:
        if not keep:
            _remove(store, job)


def _event(job: str) -> dict[str, Any]:
    detail = {
        "TrainingJobName": job,
        "TrainingJobArn": f"tracemill:deploy-check:{job}",
        "TrainingJobStatus": aws.FINISHED_STATUSES[0],
    }
    return {
        "source": aws.TRAINING_EVENT_SOURCE,
        "detail-type": aws.TRAINING_EVENT_DETAIL_TYPE,
        "detail": detail,
    }


def _start(system: Deployed, job: str) -> str:
    function = f"{system.name}-starter"
    client = boto3.client("lambda", region_name=system.region)
    caller = _asked("account", boto3.client("sts", region_name=system.region).get_caller_identity)
    partition, account = caller["Arn"].split(":")[1], caller["Account"]
    region = client.meta.region_name
    arn = f"arn:{partition}:lambda:{region}:{account}:function:{function}"
    answer = _asked(
        f"starter: {arn}",
        lambda: client.invoke(FunctionName=arn, Payload=json.dumps(_event(job)).encode()),
    )
    told = json.loads(answer["Payload"].read() or b"{}")
    if answer.get("FunctionError"):
        raise CheckFailedError(
            f"starter: {told.get('errorType')}: {told.get('errorMessage')}; "
            f"look at the log group /aws/lambda/{function}"
        )
    if not told.get("started"):
        raise CheckFailedError(
            f"starter: left {job} alone: job_name_pattern of the installation does not match, or "
            "the name was used before; give another with --job"
        )
    machine = f"{system.name}-workflow"
    return f"arn:{partition}:states:{region}:{account}:execution:{machine}:{told['execution']}"


def _wait(system: Deployed, arn: str, job: str, timeout_s: float) -> None:
    client = boto3.client("stepfunctions", region_name=system.region)
    end = time.monotonic() + timeout_s
    while True:
        answer = _asked(f"workflow: {arn}", lambda: client.describe_execution(executionArn=arn))
        if answer["status"] != RUNNING:
            break
        if time.monotonic() >= end:
            raise CheckFailedError(f"workflow: still running after {timeout_s:g} s: {arn}")
        time.sleep(POLL_S)
    if answer["status"] != "SUCCEEDED":
        raise CheckFailedError(f"workflow: {answer['status']}{_failure(system.store, job)}: {arn}")


def _failure(store: S3Store, job: str) -> str:
    key = aws.failure_key(job)
    if not store.exists(key):
        return ""
    record: aws.Failure = json.loads(store.read_bytes(key))
    return f" in {record['state']}: {record['error']}: {record['cause'][:500]}"


def _asked(what: str, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except (ClientError, BotoCoreError) as error:
        raise CheckFailedError(f"{what}: {error}") from error


def _remove(store: S3Store, job: str) -> None:
    prefixes = [layout.raw_prefix(job), layout.job_prefix(job), aws.work_prefix(job)]
    prefixes.append(f"{layout.REPORTS_PREFIX}job_name={job}/")
    tables = store.list_folders(layout.TABLES_PREFIX)
    for prefix in (*prefixes, *(layout.table_prefix(table, job) for table in tables)):
        store.delete_prefix(prefix)


def run(address: str, name: str, region: str | None, job: str, **more: Any) -> None:
    """Entry point of the command line."""
    deploy_check(Deployed(S3Store(address), name, region), job, **more)
