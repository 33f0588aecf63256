"""The workflow in Amazon States Language, as plain data.

    Discover → any recording? → Convert (Distributed Map) → Aggregate → Report → Catalog → Notify

Convert catches the failure of a process and leaves a quarantine record in its place: the profile
becomes partial. Any other failure leaves a failure record, is announced and fails the execution.
"""

from __future__ import annotations

from typing import Any

from tracemill_schema import aws

from infra.limits import (
    EXECUTION_TIMEOUT_S,
    FUNCTION_LIMITS,
    MAX_ITEMS,
    TASK_GRACE_S,
)
from infra.names import Names

State = dict[str, Any]

SERVICE_ERRORS = (
    "Lambda.ServiceException",
    "Lambda.AWSLambdaException",
    "Lambda.SdkClientException",
    "Lambda.TooManyRequestsException",
    "Lambda.ClientExecutionTimeoutException",
)
"""Lambda itself had trouble, or the account's concurrency is used up."""
CRASH_ERRORS = (
    "States.Timeout",
    "Sandbox.Timedout",
    "Lambda.Unknown",
    "Runtime.ExitError",
    "Runtime.OutOfMemory",
    "OutOfTimeError",
)
"""The function ran out of time or memory, or died. A new container may do better, so once more."""
BUSY_ERRORS = tuple(error for error in aws.TRANSIENT_ERRORS if error not in CRASH_ERRORS)
"""A service throttles or does not answer."""

_FAILURE_KEY = aws.failure_key("JOB").replace("JOB", "{}")


def definition(names: Names) -> State:
    """Return the state machine's definition."""
    return {
        "Comment": "Profile of one finished training job",
        "StartAt": "Discover",
        "TimeoutSeconds": EXECUTION_TIMEOUT_S,
        "States": _steps(names) | _failure_states(names),
    }


def _steps(names: Names) -> dict[str, State]:
    inputs = {"job_name.$": "$.job_name", "work.$": "$.work"}
    return {
        "Discover": _step(
            names,
            "discover",
            {"job_name.$": "$.job_name"},
            ResultSelector={
                "bucket.$": "$.Payload.bucket",
                "key.$": "$.Payload.key",
                "items.$": "$.Payload.items",
            },
            ResultPath="$.work",
            Next="Any recording?",
        ),
        "Any recording?": {
            "Type": "Choice",
            "Choices": [
                {"Variable": "$.work.items", "NumericEquals": 0, "Next": "Nothing recorded"}
            ],
            "Default": "Convert",
        },
        "Nothing recorded": {"Type": "Succeed"},
        "Convert": _convert(names),
        "Aggregate": _step(names, "aggregate", inputs, ResultPath=None, Next="Report"),
        "Report": _step(
            names,
            "report",
            inputs,
            ResultSelector={"message.$": "$.Payload.message"},
            ResultPath="$.report",
            Next="Catalog",
        ),
        "Catalog": _step(names, "catalog", inputs, ResultPath=None, Next="Notify"),
        "Notify": _publish(
            names, "Tracemill: a profile is ready", {"Message.$": "$.report.message"}
        )
        | {"ResultPath": None, "End": True},
    }


def _step(names: Names, function: str, payload: State, **more: Any) -> State:
    """State that calls a function; its failure is the run's failure."""
    return (
        _call(names, function, payload)
        | more
        | {"Catch": [_catch(f"{function.capitalize()} failed")]}
    )


def _call(names: Names, function: str, payload: State) -> State:
    return {
        "Type": "Task",
        "Resource": _integration(names, "lambda:invoke"),
        "Parameters": {"FunctionName": names.function_arn(function), "Payload": payload},
        "TimeoutSeconds": FUNCTION_LIMITS[function].timeout_s + TASK_GRACE_S,
        "Retry": [
            _retry(SERVICE_ERRORS, attempts=8, first_s=2),
            _retry(BUSY_ERRORS, attempts=5, first_s=5),
            _retry(CRASH_ERRORS, attempts=1, first_s=10),
        ],
    }


def _integration(names: Names, call: str) -> str:
    return f"arn:{names.config.partition}:states:::{call}"


def _retry(errors: tuple[str, ...], *, attempts: int, first_s: int) -> State:
    return {
        "ErrorEquals": list(errors),
        "IntervalSeconds": first_s,
        "BackoffRate": 2,
        "MaxAttempts": attempts,
        "MaxDelaySeconds": 120,
        "JitterStrategy": "FULL",
    }


def _catch(then: str) -> State:
    return {"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": then}


def _convert(names: Names) -> State:
    """One child execution per process. None fails the map: Aggregate counts what is there."""
    return {
        "Type": "Map",
        "Label": "Convert",
        "ItemReader": {
            "Resource": _integration(names, "s3:getObject"),
            "ReaderConfig": {"InputType": "JSON", "MaxItems": MAX_ITEMS},
            "Parameters": {"Bucket.$": "$.work.bucket", "Key.$": "$.work.key"},
        },
        "ItemSelector": {"job_name.$": "$.job_name", "item.$": "$$.Map.Item.Value"},
        "MaxConcurrency": names.config.max_concurrency,
        "ToleratedFailureCount": MAX_ITEMS,
        "ItemProcessor": {
            "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
            "StartAt": "Convert process",
            "States": {
                "Convert process": _call(
                    names, "convert", {"job_name.$": "$.job_name", "item.$": "$.item"}
                )
                | {"ResultPath": None, "Next": "Processed", "Catch": [_catch("Quarantine")]},
                "Quarantine": _put_record(
                    names,
                    {"Key.$": "$.item.result_key"},
                    {
                        "status": aws.QUARANTINED,
                        "process_id.$": "$.item.process_id",
                        "error.$": "$.error.Error",
                        "cause.$": "$.error.Cause",
                    },
                )
                | {"ResultPath": None, "Next": "Processed"},
                # An empty result per process: 10,000 of them stay below the state's size limit.
                "Processed": {"Type": "Pass", "Result": {}, "End": True},
            },
        },
        "ResultPath": None,
        "Retry": [_retry(("States.ItemReaderFailed",), attempts=3, first_s=5)],
        "Catch": [_catch("Convert failed")],
        "Next": "Aggregate",
    }


def _put_record(names: Names, key: State, body: State) -> State:
    """State that writes a small JSON object into the store's bucket."""
    return {
        "Type": "Task",
        "Resource": _integration(names, "aws-sdk:s3:putObject"),
        "Parameters": {
            "Bucket": names.bucket,
            **key,
            "Body": body,
            "ContentType": "application/json",
        },
        "Retry": [_retry(("States.TaskFailed",), attempts=5, first_s=2)],
    }


def _publish(names: Names, subject: str, message: State) -> State:
    return {
        "Type": "Task",
        "Resource": _integration(names, "sns:publish"),
        "Parameters": {"TopicArn": names.topic_arn, "Subject": subject, **message},
        "Retry": [_retry(("States.TaskFailed",), attempts=5, first_s=2)],
    }


def _failure_states(names: Names) -> dict[str, State]:
    """What happens after a step has failed for good."""
    steps = ("Discover", "Convert", "Aggregate", "Report", "Catalog")
    marks: dict[str, State] = {
        f"{step} failed": {
            "Type": "Pass",
            "Result": step,
            "ResultPath": "$.failed_state",
            "Next": "Record failure",
        }
        for step in steps
    }
    key = f"{names.config.key_prefix}{_FAILURE_KEY}"
    return marks | {
        "Record failure": _put_record(
            names,
            {"Key.$": f"States.Format('{key}', $.job_name)"},
            {
                "job_name.$": "$.job_name",
                "state.$": "$.failed_state",
                "error.$": "$.error.Error",
                "cause.$": "$.error.Cause",
                "execution.$": "$$.Execution.Id",
            },
        )
        | {
            "ResultPath": None,
            "Next": "Announce failure",
            # The announcement matters more than the record.
            "Catch": [
                {"ErrorEquals": ["States.ALL"], "ResultPath": None, "Next": "Announce failure"}
            ],
        },
        "Announce failure": _publish(
            names,
            "Tracemill: a profile could not be made",
            {
                "Message.$": "States.Format('Job {}: {} failed with {}. {}', "
                "$.job_name, $.failed_state, $.error.Error, $.error.Cause)"
            },
        )
        | {
            "ResultPath": None,
            "Next": "Failed",
            "Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": None, "Next": "Failed"}],
        },
        "Failed": {
            "Type": "Fail",
            "Error": "ProcessingFailed",
            "Cause": "See failure.json of the job and the state before",
        },
    }
