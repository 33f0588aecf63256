"""What the state machine is; that it runs is shown where the functions are tested."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser
from tracemill_schema import aws, layout

from infra.limits import FUNCTION_LIMITS, MAX_ITEMS
from tests.support.synth import Assembly

State = dict[str, Any]
STEPS = ("Discover", "Convert", "Aggregate", "Report", "Catalog")


@pytest.fixture(scope="module")
def machine(stacks: Assembly) -> State:
    text = stacks.only("pipeline", "AWS::StepFunctions::StateMachine")["DefinitionString"]
    definition: State = json.loads(text)
    return definition


def scopes(definition: State) -> Iterator[State]:
    """The definition and the item processors in it."""
    yield definition
    for state in definition["States"].values():
        if "ItemProcessor" in state:
            yield from scopes(state["ItemProcessor"])


def states(definition: State) -> dict[str, State]:
    return {name: state for scope in scopes(definition) for name, state in scope["States"].items()}


def followers(state: State) -> set[str]:
    found = {state[key] for key in ("Next", "Default") if key in state}
    found |= {choice["Next"] for choice in state.get("Choices", [])}
    return found | {catch["Next"] for catch in state.get("Catch", [])}


def test_the_machine_is_standard_traced_and_logged(stacks: Assembly) -> None:
    machine = stacks.only("pipeline", "AWS::StepFunctions::StateMachine")
    assert machine["StateMachineType"] == "STANDARD"
    assert machine["TracingConfiguration"] == {"Enabled": True}
    assert machine["LoggingConfiguration"]["Level"] == "ALL"
    assert machine["RoleArn"].startswith("<access.workflowRole")


def test_an_independent_parser_takes_the_definition(machine: State) -> None:
    program, _ = AmazonStateLanguageParser.parse(json.dumps(machine))
    assert program is not None


def test_every_state_is_reached_and_every_path_ends(machine: State) -> None:
    for scope in scopes(machine):
        reached, ahead = set(), {scope["StartAt"]}
        while ahead:
            reached |= ahead
            ahead = set().union(*(followers(scope["States"][n]) for n in ahead)) - reached
        assert reached == set(scope["States"])
        for name, state in scope["States"].items():
            ends = state.get("End") or state["Type"] in ("Succeed", "Fail")
            assert bool(ends) != bool(followers(state)) or state.get("Catch"), name


def test_steps_follow_one_another(machine: State) -> None:
    order, name = [], machine["StartAt"]
    while True:
        order.append(name)
        state = machine["States"][name]
        if state.get("End"):
            break
        name = state.get("Next") or state["Default"]
    assert order == [
        "Discover", "Any recording?", "Convert", "Aggregate", "Report", "Catalog", "Notify",
    ]  # fmt: skip


def test_a_job_without_a_recording_ends_well_and_silently(machine: State) -> None:
    (choice,) = machine["States"]["Any recording?"]["Choices"]
    assert (choice["Variable"], choice["NumericEquals"]) == ("$.work.items", 0)
    assert machine["States"][choice["Next"]] == {"Type": "Succeed"}


@pytest.mark.parametrize("name", [n for n in FUNCTION_LIMITS if n not in ("starter", "reconciler")])
def test_a_call_waits_longer_than_its_function_may_run_and_retries(
    machine: State, name: str
) -> None:
    arn = f"arn:aws:lambda:eu-central-1:123456789012:function:tracemill-{name}"
    (call,) = [
        state
        for state in states(machine).values()
        if state.get("Parameters", {}).get("FunctionName") == arn
    ]
    assert call["TimeoutSeconds"] == FUNCTION_LIMITS[name].timeout_s + 30
    attempts = {error: r["MaxAttempts"] for r in call["Retry"] for error in r["ErrorEquals"]}
    # Waiting helps against throttling; a second try against lack of time or memory, not a third.
    assert attempts["Lambda.TooManyRequestsException"] == 8
    assert attempts["StoreBusyError"] == 5
    for crash in ("States.Timeout", "Sandbox.Timedout", "Runtime.OutOfMemory", "OutOfTimeError"):
        assert attempts[crash] == 1
    assert set(aws.TRANSIENT_ERRORS) <= set(attempts)
    assert "States.ALL" not in attempts
    for retry in call["Retry"]:
        assert retry["BackoffRate"] == 2
        assert retry["JitterStrategy"] == "FULL"
    assert [catch["ErrorEquals"] for catch in call["Catch"]] == [["States.ALL"]]


def test_convert_runs_over_the_manifest_bounded(machine: State, guest_stacks: Assembly) -> None:
    convert = machine["States"]["Convert"]
    assert convert["ItemReader"]["Resource"] == "arn:aws:states:::s3:getObject"
    assert convert["ItemReader"]["ReaderConfig"] == {"InputType": "JSON", "MaxItems": 10_000}
    assert convert["ItemReader"]["Parameters"] == {
        "Bucket.$": "$.work.bucket",
        "Key.$": "$.work.key",
    }
    assert convert["ItemProcessor"]["ProcessorConfig"] == {
        "Mode": "DISTRIBUTED",
        "ExecutionType": "STANDARD",
    }
    assert convert["ItemSelector"] == {
        "job_name.$": "$.job_name",
        "item.$": "$$.Map.Item.Value",
    }
    assert convert["MaxConcurrency"] == 100
    guest = guest_stacks.only("pipeline", "AWS::StepFunctions::StateMachine")
    assert json.loads(guest["DefinitionString"])["States"]["Convert"]["MaxConcurrency"] == 7


def test_a_failed_process_is_put_aside_and_never_fails_the_map(machine: State) -> None:
    convert = machine["States"]["Convert"]
    assert convert["ToleratedFailureCount"] == MAX_ITEMS
    inner = convert["ItemProcessor"]["States"]
    assert inner["Convert process"]["Catch"][0]["Next"] == "Quarantine"
    record = inner["Quarantine"]["Parameters"]
    assert record["Key.$"] == "$.item.result_key"
    assert {key.removesuffix(".$") for key in record["Body"]} == set(aws.Quarantine.__annotations__)
    assert record["Body"]["status"] == "quarantined"


def test_the_result_of_ten_thousand_processes_stays_below_the_state_limit(machine: State) -> None:
    convert = machine["States"]["Convert"]
    inner = convert["ItemProcessor"]["States"]
    last = [state for state in inner.values() if state.get("End")]
    assert last == [{"Type": "Pass", "Result": {}, "End": True}]
    results = json.dumps([last[0]["Result"]] * MAX_ITEMS)
    assert len(results.encode()) < 256 * 1024
    assert convert["ResultPath"] is None


@pytest.mark.parametrize("step", STEPS)
def test_every_step_that_fails_leaves_a_record_that_names_it(machine: State, step: str) -> None:
    (catch,) = machine["States"][step]["Catch"]
    mark = machine["States"][catch["Next"]]
    assert (mark["Result"], mark["Next"]) == (step, "Record failure")
    record = machine["States"]["Record failure"]
    assert {key.removesuffix(".$") for key in record["Parameters"]["Body"]} == set(
        aws.Failure.__annotations__
    )
    assert record["Next"] == "Announce failure"
    assert machine["States"]["Announce failure"]["Next"] == "Failed"
    assert machine["States"]["Failed"]["Type"] == "Fail"


def test_the_failure_record_lies_where_the_schema_says(
    machine: State, guest_stacks: Assembly
) -> None:
    def key(definition: State) -> str:
        text = definition["States"]["Record failure"]["Parameters"]["Key.$"]
        template = text.removeprefix("States.Format('").removesuffix("', $.job_name)")
        return str(template).replace("{}", "a-job")

    assert key(machine) == aws.failure_key("a-job") == f"{layout.job_prefix('a-job')}failure.json"
    guest = guest_stacks.only("pipeline", "AWS::StepFunctions::StateMachine")
    assert key(json.loads(guest["DefinitionString"])) == (
        f"team/profiles/{aws.failure_key('a-job')}"
    )


def test_a_message_that_cannot_be_sent_costs_neither_record_nor_end(machine: State) -> None:
    for name in ("Record failure", "Announce failure"):
        state = machine["States"][name]
        (catch,) = state["Catch"]
        assert catch["ErrorEquals"] == ["States.ALL"]
        assert catch["Next"] == state["Next"]


def test_the_verdict_goes_to_the_topic(machine: State) -> None:
    notify = machine["States"]["Notify"]
    assert notify["Resource"] == "arn:aws:states:::sns:publish"
    assert notify["Parameters"] == {
        "TopicArn": "arn:aws:sns:eu-central-1:123456789012:tracemill-notices",
        "Subject": "Tracemill: a profile is ready",
        "Message.$": "$.report.message",
    }
