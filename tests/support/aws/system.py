"""An installation that runs on this machine, and what tests do with it."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
from moto.core.base_backend import BackendDict
from moto.events.models import EventPattern
from moto.sagemaker.models import sagemaker_backends
from tracemill_analysis.store import LocalStore
from tracemill_schema import aws, layout

from tests.support.aws.runtime import Functions
from tests.support.aws.server import objects
from tests.support.synth import ACCOUNT, REGION, Assembly

RUN_LIMIT_S = 240.0
INSTANCE_TYPE = "ml.p4d.24xlarge"


@dataclass(frozen=True)
class Run:
    """An execution that has ended."""

    status: str
    execution: dict[str, Any]
    history: list[dict[str, Any]]

    @property
    def states(self) -> list[str]:
        """Names of the states it went through, with those of the map's children among them."""
        return [
            event["stateEnteredEventDetails"]["name"]
            for event in self.history
            if "stateEnteredEventDetails" in event
        ]


@dataclass
class System:
    """The stacks on moto, with the functions as processes."""

    assembly: Assembly
    bucket: str
    prefix: str
    functions: Functions
    state_machine_arn: str
    topic_queue: str
    database: str
    machine_calls: list[dict[str, Any]] = field(default_factory=list)
    """AWS calls of the state machine itself, as ``calls`` gives those of the functions."""
    _faults: list[dict[str, Any]] = field(default_factory=list)

    @property
    def store_uri(self) -> str:
        """Address of the store."""
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    def put(self, key: str, content: bytes) -> None:
        """Write an object of the store."""
        boto3.client("s3").put_object(Bucket=self.bucket, Key=self.prefix + key, Body=content)

    def objects(self, prefix: str = "") -> dict[str, bytes]:
        """Return the store's objects below a prefix, by key."""
        found = objects(self.bucket, self.prefix + prefix)
        return {key.removeprefix(self.prefix): content for key, content in found.items()}

    def job_objects(self, job: str) -> dict[str, bytes]:
        """Return what processing a job has made, without the documents of the run itself."""
        prefixes = (layout.TABLES_PREFIX, layout.JOBS_PREFIX, layout.REPORTS_PREFIX)
        return {
            key: content
            for prefix in prefixes
            for key, content in self.objects(prefix).items()
            if f"/job_name={job}/" in key
        }

    def copy_recording(self, job: str, folder: Path) -> LocalStore:
        """Copy the recording of a job to a store in a folder."""
        store = LocalStore(folder)
        for prefix in (f"raw/job_name={job}/", f"raw/{job}/"):
            for key, content in self.objects(prefix).items():
                store.write_bytes(key, content)
        return store

    def train(self, job: str, status: str = "Completed", **variables: str) -> dict[str, Any]:
        """Let SageMaker know a training job that has ended; returns the event of its end."""
        client = boto3.client("sagemaker")
        arn = client.create_training_job(
            TrainingJobName=job,
            RoleArn=f"arn:aws:iam::{ACCOUNT}:role/training",
            AlgorithmSpecification={"TrainingImage": "image", "TrainingInputMode": "File"},
            OutputDataConfig={"S3OutputPath": f"s3://{self.bucket}/model"},
            ResourceConfig={
                "InstanceType": INSTANCE_TYPE,
                "InstanceCount": 2,
                "VolumeSizeInGB": 1,
            },
            StoppingCondition={"MaxRuntimeInSeconds": 60},
        )["TrainingJobArn"]
        backends: BackendDict[Any] = sagemaker_backends
        # moto's jobs are always Completed, and it forgets the environment.
        known = backends[ACCOUNT][REGION].training_jobs[job]
        known.training_job_status = status
        known.environment = variables
        return {
            "version": "0",
            "id": f"{time.time_ns()}",
            "source": aws.TRAINING_EVENT_SOURCE,
            "detail-type": aws.TRAINING_EVENT_DETAIL_TYPE,
            "account": ACCOUNT,
            "region": REGION,
            "time": "2026-12-01T10:00:00Z",
            "resources": [arn],
            "detail": {
                "TrainingJobName": job,
                "TrainingJobArn": arn,
                "TrainingJobStatus": status,
            },
        }

    def deliver(self, event: dict[str, Any]) -> dict[str, Any] | None:
        """Do what EventBridge does: if the rule wants the event, call its target with it.

        Returns the starter's result, None if the rule does not match.
        """
        (rule,) = (
            rule
            for rule in self.assembly.resources("pipeline", "AWS::Events::Rule").values()
            if "EventPattern" in rule
        )
        if not EventPattern.load(json.dumps(rule["EventPattern"])).matches_event(event):
            return None
        (target,) = rule["Targets"]
        assert target["Arn"].startswith("<pipeline.starterFunction")
        result: dict[str, Any] = self.functions.result("starter", event)
        return result

    def process(self, event: dict[str, Any]) -> Run:
        """Deliver an event and wait for the end of the execution that it starts."""
        result = self.deliver(event)
        assert result is not None
        assert result["started"]
        return self.wait(self.execution_arn(result["execution"]))

    def execution_arn(self, name: str) -> str:
        """ARN of an execution of the state machine."""
        return f"{self.state_machine_arn.replace(':stateMachine:', ':execution:')}:{name}"

    def executions(self, job: str) -> list[str]:
        """Names of all executions for a job."""
        client = boto3.client("stepfunctions")
        pages = client.get_paginator("list_executions").paginate(
            stateMachineArn=self.state_machine_arn
        )
        names = [one["name"] for page in pages for one in page["executions"]]
        return [name for name in names if name.startswith(f"{job}-")]

    def execute(self, job: str) -> Run:
        """Run the workflow for a job to its end once more, as an operator does."""
        client = boto3.client("stepfunctions")
        arn = client.start_execution(
            stateMachineArn=self.state_machine_arn,
            name=f"{job}-{time.time_ns()}",
            input=json.dumps(aws.ExecutionInput(job_name=job)),
        )["executionArn"]
        return self.wait(arn)

    def wait(self, arn: str) -> Run:
        """Wait for the end of an execution."""
        client = boto3.client("stepfunctions")
        end = time.monotonic() + RUN_LIMIT_S
        while time.monotonic() < end:
            execution = client.describe_execution(executionArn=arn)
            if execution["status"] != "RUNNING":
                history = client.get_execution_history(executionArn=arn)["events"]
                return Run(execution["status"], execution, history)
            time.sleep(0.1)
        raise AssertionError(f"{arn} does not end")

    def wait_until_quiet(self, limit_s: float = 120) -> None:
        """Wait until no execution runs any more."""
        client = boto3.client("stepfunctions")
        deadline = time.monotonic() + limit_s
        while client.list_executions(
            stateMachineArn=self.state_machine_arn, statusFilter="RUNNING"
        )["executions"]:
            assert time.monotonic() < deadline, "an execution of an earlier test does not end"
            time.sleep(0.2)

    def notices(self) -> list[tuple[str, str]]:
        """Subject and text of the notifications since the last call."""
        client = boto3.client("sqs")
        found: list[tuple[str, str]] = []
        while messages := client.receive_message(
            QueueUrl=self.topic_queue, MaxNumberOfMessages=10
        ).get("Messages"):
            for message in messages:
                body = json.loads(message["Body"])
                found.append((body.get("Subject", ""), body["Message"]))
                client.delete_message(
                    QueueUrl=self.topic_queue, ReceiptHandle=message["ReceiptHandle"]
                )
        return found

    def partitions(self, job: str) -> dict[str, str]:
        """Location of the job's partition of every Glue table that has one."""
        glue = boto3.client("glue")
        tables = glue.get_tables(DatabaseName=self.database)["TableList"]
        return {
            table["Name"]: partition["StorageDescriptor"]["Location"]
            for table in tables
            for partition in glue.get_partitions(
                DatabaseName=self.database, TableName=table["Name"]
            )["Partitions"]
            if partition["Values"] == [job]
        }

    def fault(self, function: str, operation: str, kind: str, text: str, times: int = 1) -> None:
        """Let calls of a function whose parameters hold ``text`` fail.

        ``kind`` is an error code of AWS, ``hang`` or ``die``.
        """
        self._faults.append(
            {
                "id": len(self._faults),
                "function": function,
                "operation": operation,
                "text": text,
                "fault": kind,
                "times": times,
            }
        )
        (self.functions.folder / "faults.json").write_text(json.dumps(self._faults))

    def faults_left(self) -> int:
        """How many faults have not struck yet."""
        wanted = sum(fault["times"] for fault in self._faults)
        return wanted - len(list(self.functions.folder.glob("used-*")))

    def calls(self) -> list[dict[str, Any]]:
        """Every AWS call that a function has made."""
        return [
            json.loads(line)
            for path in sorted(self.functions.folder.glob("calls-*.jsonl"))
            for line in path.read_text(encoding="utf-8").splitlines()
        ]
