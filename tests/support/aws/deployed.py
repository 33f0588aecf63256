"""The synthesized system on moto: bucket, topic, Glue tables, state machine, functions."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
from moto.awslambda_simple.models import LambdaSimpleBackend
from moto.core.config import default_user_config
from tracemill_schema.aws import FUNCTIONS

from tests.support.aws.runtime import Functions, FunctionSpec
from tests.support.aws.server import ACCOUNT, REGION, endpoint, moto_server
from tests.support.synth import Assembly

RUN_LIMIT_S = 120.0


@dataclass
class System:
    """An installation that runs."""

    assembly: Assembly
    bucket: str
    prefix: str
    functions: Functions
    state_machine_arn: str
    topic_queue: str
    database: str
    _faults: list[dict[str, Any]] = field(default_factory=list)

    @property
    def store_uri(self) -> str:
        """Address of the store."""
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    def fault(
        self, function: str, operation: str, kind: str, text: str = "", times: int = 1
    ) -> None:
        """Let calls of a function fail: an error code, ``hang`` or ``die``."""
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

    def faults_used(self) -> int:
        """How many faults have struck so far."""
        return len(list(self.functions.folder.glob("used-*")))

    def calls(self) -> list[dict[str, Any]]:
        """Every AWS call that a function has made."""
        return [
            json.loads(line)
            for path in sorted(self.functions.folder.glob("calls-*.jsonl"))
            for line in path.read_text(encoding="utf-8").splitlines()
        ]

    def execute(self, job: str, name: str | None = None) -> Run:
        """Run the workflow for a job to its end."""
        client = boto3.client("stepfunctions")
        arn = client.start_execution(
            stateMachineArn=self.state_machine_arn,
            name=name or f"{job}-{time.time_ns()}",
            input=json.dumps({"job_name": job}),
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
            time.sleep(0.05)
        raise AssertionError(f"{arn} does not end")

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


@dataclass(frozen=True)
class Run:
    """An execution that has ended."""

    status: str
    execution: dict[str, Any]
    history: list[dict[str, Any]]

    @property
    def states(self) -> list[str]:
        """Names of the states it went through, without those of the map's children."""
        return [
            event["stateEnteredEventDetails"]["name"]
            for event in self.history
            if "stateEnteredEventDetails" in event
        ]


@contextmanager
def deployed(assembly: Assembly, folder: Path) -> Iterator[System]:
    """Start moto's server and put the system on it."""
    default_user_config["lambda"]["use_docker"] = False
    default_user_config["stepfunctions"]["execute_state_machine"] = True
    with moto_server() as address:
        os.environ["MOTO_PORT"] = address.rpartition(":")[2]
        functions = Functions(_specs(assembly), _process_environment(address), folder)
        inner = LambdaSimpleBackend.invoke
        LambdaSimpleBackend.invoke = _invoker(functions)  # type: ignore[method-assign]
        try:
            yield _deploy(assembly, functions)
        finally:
            LambdaSimpleBackend.invoke = inner  # type: ignore[method-assign]
            functions.close()
            default_user_config["stepfunctions"]["execute_state_machine"] = False
            default_user_config["lambda"]["use_docker"] = True
            os.environ.pop("MOTO_PORT", None)


def _process_environment(address: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {**kept, **endpoint(address)}


def _specs(assembly: Assembly) -> dict[str, FunctionSpec]:
    """The functions by the short names of the schema."""
    by_handler = {declared.handler: declared.name for declared in FUNCTIONS}
    specs: dict[str, FunctionSpec] = {}
    for resource in assembly.resources("pipeline", "AWS::Lambda::Function").values():
        (handler,) = resource["ImageConfig"]["Command"]
        name = by_handler[handler]
        specs[name] = FunctionSpec(
            name=name,
            handler=handler,
            environment=dict(resource["Environment"]["Variables"]),
            timeout_s=resource["Timeout"],
            memory_mib=resource["MemorySize"],
            arn=f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{resource['FunctionName']}",
        )
    assert len(specs) == len(FUNCTIONS)
    return specs


def _invoker(functions: Functions) -> Any:
    def invoke(
        self: Any, function_name: str, qualifier: Any, body: Any, headers: Any, response: Any
    ) -> bytes:
        name = next(n for n, spec in functions.specs.items() if spec.arn == function_name)
        answer = functions.invoke(name, body if isinstance(body, bytes) else str(body).encode())
        if answer.failed:
            response["x-amz-function-error"] = "Unhandled"
        return answer.payload

    return invoke


def _deploy(assembly: Assembly, functions: Functions) -> System:
    store_uri = functions.specs["discover"].environment["TRACEMILL_STORE_URI"]
    bucket, _, prefix = store_uri.removeprefix("s3://").partition("/")
    boto3.client("s3").create_bucket(
        Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": REGION}
    )
    topic = assembly.only("pipeline", "AWS::SNS::Topic")["TopicName"]
    machine = assembly.only("pipeline", "AWS::StepFunctions::StateMachine")
    _create_tables(assembly)
    arn = boto3.client("stepfunctions").create_state_machine(
        name=machine["StateMachineName"],
        definition=quick(machine["DefinitionString"]),
        roleArn=f"arn:aws:iam::{ACCOUNT}:role/workflow",
    )["stateMachineArn"]
    return System(
        assembly=assembly,
        bucket=bucket,
        prefix=prefix,
        functions=functions,
        state_machine_arn=arn,
        topic_queue=_subscribed_queue(topic),
        database=functions.specs["catalog"].environment["TRACEMILL_GLUE_DATABASE"],
    )


def quick(definition: str) -> str:
    """The definition with the waits before retries cut to nothing; they are asserted elsewhere."""
    return re.sub(r'"IntervalSeconds":\s*\d+', '"IntervalSeconds":1', definition).replace(
        '"BackoffRate":2', '"BackoffRate":1'
    )


def _create_tables(assembly: Assembly) -> None:
    glue = boto3.client("glue")
    database = assembly.only("catalog", "AWS::Glue::Database")["DatabaseInput"]
    glue.create_database(DatabaseInput={"Name": database["Name"]})
    for table in assembly.resources("catalog", "AWS::Glue::Table").values():
        glue.create_table(DatabaseName=database["Name"], TableInput=table["TableInput"])


def _subscribed_queue(topic: str) -> str:
    sns, sqs = boto3.client("sns"), boto3.client("sqs")
    topic_arn = sns.create_topic(Name=topic)["TopicArn"]
    url: str = sqs.create_queue(QueueName="notices")["QueueUrl"]
    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    sns.subscribe(TopicArn=topic_arn, Protocol="sqs", Endpoint=attributes["Attributes"]["QueueArn"])
    return url
