"""The synthesized system on moto: bucket, topic, Glue tables, state machine, functions."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
from botocore.client import BaseClient
from moto.awslambda_simple.models import LambdaSimpleBackend
from moto.core.config import default_user_config
from moto.stepfunctions.parser.asl.utils import boto_client
from tracemill_schema.aws import FUNCTIONS

from tests.support.aws.runtime import Functions, FunctionSpec
from tests.support.aws.server import endpoint, moto_server
from tests.support.aws.system import System
from tests.support.synth import ACCOUNT, REGION, Assembly

_INTERPRETER_KEY = "ak"
"""Access key that moto's interpreter makes its own calls with."""


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
            system = _deploy(assembly, functions)
            with _noted_machine_calls(system):
                yield system
        finally:
            LambdaSimpleBackend.invoke = inner  # type: ignore[method-assign]
            functions.close()
            default_user_config["stepfunctions"]["execute_state_machine"] = False
            default_user_config["lambda"]["use_docker"] = True
            os.environ.pop("MOTO_PORT", None)


@contextmanager
def _noted_machine_calls(system: System) -> Iterator[None]:
    """Note the calls of moto's interpreter, which runs in this process.

    A body that is an object becomes JSON, as Step Functions does and moto does not.
    """
    inner = BaseClient._make_api_call

    def call(self: Any, operation: str, params: dict[str, Any]) -> Any:
        signed_with = self._request_signer._credentials
        if signed_with is not None and signed_with.access_key == _INTERPRETER_KEY:
            service = self.meta.service_model.service_name
            system.machine_calls.append(
                {
                    "function": "workflow",
                    "service": service,
                    "operation": operation,
                    "params": {k: v for k, v in params.items() if k not in ("Body", "Payload")},
                }
            )
        if isinstance(params.get("Body"), dict):
            params = {**params, "Body": json.dumps(params["Body"]).encode()}
        return inner(self, operation, params)

    BaseClient._make_api_call = call
    # The interpreter makes a client per call, which costs more than the call.
    boto_client.boto3 = SimpleNamespace(client=_cached_client)
    try:
        yield
    finally:
        BaseClient._make_api_call = inner
        boto_client.boto3 = boto3
        _clients.clear()


_clients: dict[tuple[str, str], Any] = {}


def _cached_client(service_name: str, **options: Any) -> Any:
    key = (service_name, options["endpoint_url"])
    if key not in _clients:
        _clients[key] = boto3.session.Session().client(service_name, **options)
    return _clients[key]


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
    _create_workgroup(assembly)
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


def _create_workgroup(assembly: Assembly) -> None:
    athena = boto3.client("athena")
    workgroup = assembly.only("catalog", "AWS::Athena::WorkGroup")
    results = workgroup["WorkGroupConfiguration"]["ResultConfiguration"]
    athena.create_work_group(
        Name=workgroup["Name"],
        Configuration={
            "ResultConfiguration": {"OutputLocation": results["OutputLocation"]},
            "EnforceWorkGroupConfiguration": True,
        },
    )
    for query in assembly.resources("catalog", "AWS::Athena::NamedQuery").values():
        athena.create_named_query(
            Name=query["Name"],
            Database=query["Database"],
            QueryString=query["QueryString"],
            WorkGroup=query["WorkGroup"],
        )


def _subscribed_queue(topic: str) -> str:
    sns, sqs = boto3.client("sns"), boto3.client("sqs")
    topic_arn = sns.create_topic(Name=topic)["TopicArn"]
    url: str = sqs.create_queue(QueueName="notices")["QueueUrl"]
    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    sns.subscribe(TopicArn=topic_arn, Protocol="sqs", Endpoint=attributes["Attributes"]["QueueArn"])
    return url
