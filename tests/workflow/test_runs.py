"""The synthesized state machine runs: what goes in, what comes out, what survives a fault."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tracemill_analysis.pipeline import process_job
from tracemill_analysis.pipeline.plan import RunFacts
from tracemill_analysis.store import LocalStore
from tracemill_cli.main import main
from tracemill_schema import aws, layout
from tracemill_schema.tables import TABLES
from tracemill_schema.vocab import RunStatus

from tests.support.aws.system import INSTANCE_TYPE, System
from tests.support.shared import shared_path

PutRecording = Callable[[str], list[str]]
READY = "Tracemill: a profile is ready"
FAILED = "Tracemill: a profile could not be made"
STEPS = ["Discover", "Any recording?", "Convert", "Aggregate", "Report", "Catalog", "Notify"]


def laptop_objects(
    system: System, job: str, folder: Path, status: RunStatus = RunStatus.COMPLETED
) -> dict[str, bytes]:
    """What the pipeline on one machine makes of the same recording, by key."""
    store = system.copy_recording(job, folder)
    process_job(store, job, run=RunFacts(status, (INSTANCE_TYPE,)))
    return made(store, job)


def made(store: LocalStore, job: str) -> dict[str, bytes]:
    prefixes = [
        *(layout.table_prefix(table.name, job) for table in TABLES),
        layout.job_prefix(job),
        f"{layout.REPORTS_PREFIX}job_name={job}/",
    ]
    infos = [info for prefix in prefixes for info in store.list_objects(prefix)]
    return {info.key: store.read_bytes(info.key) for info in infos}


def manifest(system: System, job: str) -> dict[str, Any]:
    content = system.job_objects(job)[layout.manifest_key(job)]
    values: dict[str, Any] = json.loads(content)
    return values


def assert_same(found: dict[str, bytes], expected: dict[str, bytes]) -> None:
    assert sorted(found) == sorted(expected)
    assert [key for key in expected if found[key] != expected[key]] == []


def test_a_job_of_16_ranks_on_two_nodes_becomes_what_the_laptop_makes_of_it(
    system: System, tmp_path: Path
) -> None:
    job = "dlrm-16"
    for node in ("algo-1", "algo-2"):
        for path in sorted(shared_path("traces/param/dlrm_8rank").iterdir()):
            key = f"{aws.shipped_prefix(job)}node={node}/{path.name}"
            system.put(key, path.read_bytes())

    run = system.process(system.train(job))

    assert run.status == "SUCCEEDED"
    assert run.states == STEPS
    expected = laptop_objects(system, job, tmp_path / "laptop")
    assert_same(system.job_objects(job), expected)
    facts = manifest(system, job)["job"]
    assert (facts["status"], facts["completeness"], facts["nodes"]) == ("Completed", "complete", 2)
    assert facts["processes"] == 16
    tables = {key.split("/")[1] for key in expected if key.startswith("tables/")}
    assert system.partitions(job) == {
        table: f"{system.store_uri}/tables/{table}/job_name={job}/" for table in tables
    }
    ((subject, text),) = system.notices()
    assert subject == READY
    assert text.startswith(f"Job {job} (Completed): {manifest(system, job)['verdict'][0]}")
    assert text.endswith(f"Report: {system.store_uri}/reports/job_name={job}/report.html")


def test_a_job_sagemaker_does_not_know_becomes_what_the_command_makes_of_it(
    system: System, put_recording: PutRecording, tmp_path: Path
) -> None:
    put_recording("unknown-job")

    assert system.execute("unknown-job").status == "SUCCEEDED"

    store = system.copy_recording("unknown-job", tmp_path)
    assert main(["process", "--store", str(tmp_path), "--job", "unknown-job"]) == 0
    assert_same(system.job_objects("unknown-job"), made(store, "unknown-job"))
    assert [subject for subject, _ in system.notices()] == [READY]


def test_one_corrupt_segment_costs_one_process_which_the_profile_names(
    system: System, put_recording: PutRecording, tmp_path: Path
) -> None:
    first, *_ = put_recording("corrupt")
    bad = "raw/job_name=corrupt/node=algo-9/process=77-1000/000000.tmraw"
    system.put(bad, b"no segment" * 100)

    run = system.process(system.train("corrupt"))

    assert run.status == "SUCCEEDED"
    assert_same(system.job_objects("corrupt"), laptop_objects(system, "corrupt", tmp_path))
    values = manifest(system, "corrupt")
    assert values["job"]["completeness"] == "partial"
    (left_out,) = [one for one in values["inputs"] if "error" in one]
    assert left_out["name"] == "node=algo-9/process=77-1000"
    ((subject, text),) = system.notices()
    assert subject == READY
    assert "The profile is partial." in text
    assert "process=77-1000/000000.tmraw" in text
    assert first


def test_a_process_that_never_converts_is_put_aside_and_the_others_are_shown(
    system: System, put_recording: PutRecording
) -> None:
    put_recording("poisoned")
    system.fault("convert", "PutObject", "die", "job_name=poisoned/p00001", times=2)

    run = system.process(system.train("poisoned"))

    assert run.status == "SUCCEEDED"
    assert system.faults_left() == 0
    record = json.loads(system.objects(aws.work_result_key("poisoned", 1)).popitem()[1])
    assert (record["status"], record["process_id"]) == (aws.QUARANTINED, 1)
    assert record["error"] == "Runtime.ExitError"
    values = manifest(system, "poisoned")
    assert values["job"]["completeness"] == "partial"
    assert values["job"]["processes"] == 1
    (left_out,) = [one for one in values["inputs"] if "error" in one]
    assert left_out["name"].startswith("node=")
    assert left_out["error"].endswith("the conversion did not end (Runtime.ExitError)")
    assert not [key for key in system.job_objects("poisoned") if key.endswith("/p00001.parquet")]
    ((_, text),) = system.notices()
    assert "The profile is partial." in text


def test_a_duplicate_event_is_a_success_and_no_second_run_and_a_re_run_gives_the_same_bytes(
    system: System, put_recording: PutRecording
) -> None:
    put_recording("twice")
    event = system.train("twice")

    run = system.process(event)
    before, partitions = system.job_objects("twice"), system.partitions("twice")
    again = system.deliver({**event, "id": "another", "time": "2026-12-01T10:00:05Z"})

    assert run.status == "SUCCEEDED"
    assert again is not None
    assert again["started"] is False
    assert system.executions("twice") == [again["execution"]]
    assert system.functions.result("reconciler", {})["started"] == []
    assert len(system.notices()) == 1

    assert system.execute("twice").status == "SUCCEEDED"

    assert_same(system.job_objects("twice"), before)
    assert system.partitions("twice") == partitions
    assert len(system.notices()) == 1  # that run was asked for


def test_throttling_and_time_outs_cost_time_and_nothing_else(
    system: System, put_recording: PutRecording, tmp_path: Path
) -> None:
    put_recording("late")
    system.fault("discover", "DescribeTrainingJob", "ThrottlingException", "late")
    system.fault("discover", "GetObject", "SlowDown", "job_name=late")
    system.fault("convert", "GetObject", "SlowDown", "job_name=late", times=2)
    system.fault("convert", "PutObject", "ServiceUnavailable", "job_name=late")
    system.fault("convert", "PutObject", "hang", "work/job_name=late/results/p00000")
    system.functions.told_s["aggregate"] = [1.0]  # it sees that its time is over
    system.fault("report", "PutObject", "SlowDown", "job_name=late")
    system.fault("catalog", "BatchCreatePartition", "ThrottlingException", "late")

    run = system.process(system.train("late"))

    assert run.status == "SUCCEEDED"
    assert system.faults_left() == 0
    assert "OutOfTimeError" in system.functions.log("aggregate")
    assert_same(system.job_objects("late"), laptop_objects(system, "late", tmp_path))
    assert manifest(system, "late")["job"]["completeness"] == "complete"
    assert len(system.notices()) == 1


def test_a_crash_between_two_writes_of_any_step_leaves_the_same_bytes(
    system: System, put_recording: PutRecording, tmp_path: Path
) -> None:
    put_recording("crash")
    system.fault("discover", "PutObject", "die", "job_name=crash/items.json")
    system.fault("convert", "PutObject", "die", "work/job_name=crash/results/")
    system.fault("aggregate", "PutObject", "die", "tables/utilization/job_name=crash")
    system.fault("report", "PutObject", "die", "jobs/job_name=crash/manifest.json")

    run = system.process(system.train("crash"))

    assert run.status == "SUCCEEDED"
    assert system.faults_left() == 0
    assert_same(system.job_objects("crash"), laptop_objects(system, "crash", tmp_path))
    assert len([key for key in system.objects("reports/") if "job_name=crash/" in key]) == len(
        layout.REPORT_FORMATS
    )
    assert [subject for subject, _ in system.notices()] == [READY]


def test_a_job_that_was_never_recorded_ends_without_a_word(system: System) -> None:
    run = system.process(system.train("plain"))

    assert run.status == "SUCCEEDED"
    assert run.states == ["Discover", "Any recording?", "Nothing recorded"]
    assert system.job_objects("plain") == {}
    assert system.notices() == []


def test_a_recording_that_should_be_there_and_is_not_is_told(system: System) -> None:
    run = system.process(system.train("silent", TRACEMILL_AUTOSTART="1"))

    assert run.status == "FAILED"
    assert run.states[-4:] == ["Discover failed", "Record failure", "Announce failure", "Failed"]
    record = json.loads(system.job_objects("silent")[aws.failure_key("silent")])
    assert (record["job_name"], record["state"], record["error"]) == (
        "silent",
        "Discover",
        "InputError",
    )
    assert "the recording is empty" in record["cause"]
    assert record["execution"] == run.execution["executionArn"]
    ((subject, text),) = system.notices()
    assert subject == FAILED
    assert text.startswith("Job silent: Discover failed with InputError.")


def test_a_run_fails_only_if_nothing_can_be_read_and_a_later_one_cures_it(
    system: System, put_recording: PutRecording
) -> None:
    key, *_ = put_recording("cured")
    good = system.objects("raw/job_name=cured/")
    for name in good:
        system.put(name, b"\0" * 64)
    assert system.process(system.train("cured")).status == "FAILED"
    assert aws.failure_key("cured") in system.job_objects("cured")

    for name, content in good.items():
        system.put(name, content)
    assert system.execute("cured").status == "SUCCEEDED"

    assert aws.failure_key("cured") not in system.job_objects("cured")
    assert [subject for subject, _ in system.notices()] == [FAILED, READY]


def test_a_failed_job_whose_event_was_lost_is_found_and_shown_as_far_as_it_went(
    system: System, put_recording: PutRecording
) -> None:
    put_recording("broke")
    event = system.train("broke", status="Failed")

    (name,) = system.functions.result("reconciler", {})["started"]

    assert system.wait(system.execution_arn(name)).status == "SUCCEEDED"
    assert manifest(system, "broke")["job"]["status"] == "Failed"
    ((_, text),) = system.notices()
    assert text.startswith("Job broke (Failed): ")
    # The event comes after all, and the reconciler once more: it was done.
    late = system.deliver(event)
    assert late is not None
    assert (late["started"], late["execution"]) == (False, name)
    assert system.functions.result("reconciler", {})["started"] == []


def test_a_job_of_another_status_is_not_delivered(system: System) -> None:
    event = system.train("running", status="InProgress")

    assert system.deliver(event) is None
