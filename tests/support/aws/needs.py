"""What has to be allowed for a call: actions, resources and conditions as AWS checks them.

An operation that is not here is an error: nobody may make calls that are not understood.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tracemill_schema.tables import TABLES

from tests.support.aws.iam import Need
from tests.support.aws.system import System
from tests.support.synth import ACCOUNT, REGION, Assembly

Params = Mapping[str, Any]
Context = dict[str, str]
Wanted = Iterator[tuple[str, str, Context]]


@dataclass(frozen=True)
class Place:
    """What a call's parameters do not tell."""

    key_arn: str
    workgroup: str

    @classmethod
    def of(cls, assembly: Assembly) -> Place:
        """Read it from the templates."""
        (key_id,) = assembly.resources("storage", "AWS::KMS::Key")
        workgroup = assembly.only("catalog", "AWS::Athena::WorkGroup")["Name"]
        return cls(f"<storage.{key_id}.Arn>", workgroup)

    def key(self, *actions: str, via: str = "s3") -> Wanted:
        """Use of the key by way of a service."""
        for action in actions:
            yield (
                f"kms:{action}",
                self.key_arn,
                {"kms:ViaService": f"{via}.{REGION}.amazonaws.com"},
            )


def arn(service: str, resource: str) -> str:
    """Return an ARN in the installation's account and region."""
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{resource}"


def object_arn(bucket: str, key: str) -> str:
    """Return an object's ARN."""
    return f"arn:aws:s3:::{bucket}/{key}"


def needs_of(call: Mapping[str, Any], place: Place) -> list[Need]:
    """Return what has to be allowed for a recorded call."""
    operation = f"{call['service']}:{call['operation']}"
    wanted = _OPERATIONS[operation](call["params"], place)
    return [
        Need(call["function"], action, resource, call["operation"], context)
        for action, resource, context in wanted
    ]


def _read(params: Params, place: Place) -> Wanted:
    yield "s3:GetObject", object_arn(params["Bucket"], params["Key"]), {}
    yield from place.key("Decrypt")


def _write(params: Params, place: Place) -> Wanted:
    yield "s3:PutObject", object_arn(params["Bucket"], params["Key"]), {}
    yield from place.key("GenerateDataKey")


def _write_part(params: Params, place: Place) -> Wanted:
    yield from _write(params, place)
    yield from place.key("Decrypt")


def _abort(params: Params, _place: Place) -> Wanted:
    yield "s3:AbortMultipartUpload", object_arn(params["Bucket"], params["Key"]), {}


def _delete(params: Params, _place: Place) -> Wanted:
    yield "s3:DeleteObject", object_arn(params["Bucket"], params["Key"]), {}


def _delete_many(params: Params, _place: Place) -> Wanted:
    for one in params["Delete"]["Objects"]:
        yield "s3:DeleteObject", object_arn(params["Bucket"], one["Key"]), {}


def _list(params: Params, _place: Place) -> Wanted:
    context = {"s3:prefix": params["Prefix"]} if "Prefix" in params else {}
    yield "s3:ListBucket", f"arn:aws:s3:::{params['Bucket']}", context


def _bucket(action: str) -> Callable[[Params, Place], Wanted]:
    def wanted(params: Params, _place: Place) -> Wanted:
        yield action, f"arn:aws:s3:::{params['Bucket']}", {}

    return wanted


def _anywhere(action: str) -> Callable[[Params, Place], Wanted]:
    def wanted(_params: Params, _place: Place) -> Wanted:
        yield action, "*", {}

    return wanted


def _describe_job(params: Params, _place: Place) -> Wanted:
    job = params["TrainingJobName"].lower()
    yield "sagemaker:DescribeTrainingJob", arn("sagemaker", f"training-job/{job}"), {}


def _app(action: str) -> Callable[[Params, Place], Wanted]:
    def wanted(params: Params, _place: Place) -> Wanted:
        path = "/".join(params[part] for part in ("DomainId", "SpaceName", "AppType", "AppName"))
        yield action, arn("sagemaker", f"app/{path}"), {}

    return wanted


def _start(params: Params, _place: Place) -> Wanted:
    yield "states:StartExecution", params["stateMachineArn"], {}


def _invoke(params: Params, _place: Place) -> Wanted:
    yield "lambda:InvokeFunction", params["FunctionName"], {}


def _publish(params: Params, place: Place) -> Wanted:
    yield "sns:Publish", params["TopicArn"], {}
    yield from place.key("Decrypt", "GenerateDataKey", via="sns")


def _glue(action: str) -> Callable[[Params, Place], Wanted]:
    """Glue checks the catalog, the database and each table that a call touches."""

    def wanted(params: Params, _place: Place) -> Wanted:
        database = params.get("DatabaseName") or params["Name"]
        yield action, arn("glue", "catalog"), {}
        yield action, arn("glue", f"database/{database}"), {}
        if action == "glue:GetTables":
            names = [table.name for table in TABLES]
        else:
            name = params.get("TableName") or (params["Name"] if "DatabaseName" in params else None)
            names = [name] if name else []
        for name in names:
            yield action, arn("glue", f"table/{database}/{name}"), {}

    return wanted


def _athena(action: str) -> Callable[[Params, Place], Wanted]:
    def wanted(params: Params, place: Place) -> Wanted:
        workgroup = params.get("WorkGroup", place.workgroup)
        yield action, arn("athena", f"workgroup/{workgroup}"), {}

    return wanted


_OPERATIONS: dict[str, Callable[[Params, Place], Wanted]] = {
    "s3:GetObject": _read,
    "s3:HeadObject": _read,
    "s3:PutObject": _write,
    "s3:CreateMultipartUpload": _write,
    "s3:UploadPart": _write_part,
    "s3:CompleteMultipartUpload": _write_part,
    "s3:AbortMultipartUpload": _abort,
    "s3:DeleteObject": _delete,
    "s3:DeleteObjects": _delete_many,
    "s3:ListObjectsV2": _list,
    "s3:GetBucketLocation": _bucket("s3:GetBucketLocation"),
    "sagemaker:DescribeTrainingJob": _describe_job,
    "sagemaker:ListTrainingJobs": _anywhere("sagemaker:ListTrainingJobs"),
    "sagemaker:Search": _anywhere("sagemaker:Search"),
    "sagemaker:CreateApp": _app("sagemaker:CreateApp"),
    "sagemaker:DeleteApp": _app("sagemaker:DeleteApp"),
    "stepfunctions:StartExecution": _start,
    "lambda:Invoke": _invoke,
    "sns:Publish": _publish,
    **{
        f"glue:{name}": _glue(f"glue:{name}")
        for name in (
            "BatchCreatePartition",
            "BatchUpdatePartition",
            "GetDatabase",
            "GetTable",
            "GetTables",
            "GetPartitions",
        )
    },
    **{
        f"athena:{name}": _athena(f"athena:{name}")
        for name in (
            "StartQueryExecution",
            "StopQueryExecution",
            "GetQueryExecution",
            "GetQueryResults",
            "GetWorkGroup",
            "ListNamedQueries",
            "GetNamedQuery",
        )
    },
}


def service_needs(system: System) -> list[Need]:
    """What AWS itself does with the roles' permissions, as the templates ask it to.

    Lambda writes logs and traces and puts failed events aside, Step Functions starts and watches
    the children of a Distributed Map, sets up its log and traces.
    """
    assembly = system.assembly
    needs: list[Need] = []
    names = {spec.arn.rpartition(":")[2]: spec.name for spec in system.functions.specs.values()}
    for function in assembly.resources("pipeline", "AWS::Lambda::Function").values():
        role = names[function["FunctionName"]]
        group = f"/aws/lambda/{function['FunctionName']}"
        stream = arn("logs", f"log-group:{group}:log-stream:2026/12/01/[$LATEST]0")
        needs += _each(role, _LOG, stream, "Lambda's log")
        if function["TracingConfig"]["Mode"] == "Active":
            needs += _each(role, _TRACES, "*", "Lambda's traces")
    for config in assembly.resources("pipeline", "AWS::Lambda::EventInvokeConfig").values():
        role = names[config["FunctionName"]]
        queue = arn("sqs", f"tracemill-{role}-dead-letters")
        assert config["DestinationConfig"]["OnFailure"]["Destination"]
        needs += _each(role, ("sqs:SendMessage",), queue, "Lambda's failed events")
    return needs + _machine_needs(system)


_LOG = ("logs:CreateLogStream", "logs:PutLogEvents")
_TRACES = ("xray:PutTraceSegments", "xray:PutTelemetryRecords")
_SAMPLING = ("xray:GetSamplingRules", "xray:GetSamplingTargets")
_LOG_DELIVERY = (
    "logs:CreateLogDelivery",
    "logs:GetLogDelivery",
    "logs:UpdateLogDelivery",
    "logs:DeleteLogDelivery",
    "logs:ListLogDeliveries",
    "logs:PutResourcePolicy",
    "logs:DescribeResourcePolicies",
    "logs:DescribeLogGroups",
)


def _each(role: str, actions: tuple[str, ...], resource: str, why: str) -> list[Need]:
    return [Need(role, action, resource, why) for action in actions]


def _machine_needs(system: System) -> list[Need]:
    machine = system.assembly.only("pipeline", "AWS::StepFunctions::StateMachine")
    needs = []
    if machine["LoggingConfiguration"]["Level"] != "OFF":
        needs += _each("workflow", _LOG_DELIVERY, "*", "Step Functions' log")
    if machine["TracingConfiguration"]["Enabled"]:
        needs += _each("workflow", (*_TRACES, *_SAMPLING), "*", "Step Functions' traces")
    states = json.loads(machine["DefinitionString"])["States"]
    if states["Convert"]["ItemProcessor"]["ProcessorConfig"]["Mode"] == "DISTRIBUTED":
        start, watch = (
            ("states:StartExecution",),
            ("states:DescribeExecution", "states:StopExecution"),
        )
        child = arn("states", f"execution:{machine['StateMachineName']}/Convert:0a1b")
        needs += _each("workflow", start, system.state_machine_arn, "Distributed Map")
        needs += _each("workflow", watch, child, "Distributed Map")
    return needs
