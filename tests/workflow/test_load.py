"""Many processes: the workflow's own logic, and that nothing it carries grows with their number."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tracemill_analysis.importers.base import WorkItem
from tracemill_analysis.importers.raw.discover import FORMAT
from tracemill_analysis.pipeline.plan import Plan
from tracemill_s3.cache import FileCache
from tracemill_s3.store import S3Store
from tracemill_schema import aws
from tracemill_schema.vocab import RankSource

from infra.limits import MAX_ITEMS
from lambdas.common.run import read_results, write_plan
from tests.support.aws.runtime import StandInError
from tests.support.aws.system import System

ITEMS = 1_000
POISONED = frozenset({7, 500, 999})
BUSY = frozenset({8, 501})
STATE_LIMIT_BYTES = 256 << 10


def plan(job: str, items: int, segments: int = 1) -> Plan:
    """A plan of so many processes on nodes of eight."""
    return Plan(
        job,
        tuple(
            WorkItem(
                process_id=number,
                format=FORMAT,
                sources=tuple(
                    f"raw/job_name={job}/node=algo-{number // 8}/"
                    f"process={1000 + number}-1790000000000000000/{segment:06d}.tmraw"
                    for segment in range(segments)
                ),
                source_name=f"node=algo-{number // 8}/process={1000 + number}-1790000000000000000",
                node=f"algo-{number // 8}",
                rank=number,
                rank_source=RankSource.CONTENT,
                in_store=True,
            )
            for number in range(items)
        ),
    )


@pytest.fixture
def store(system: System, tmp_path: Path) -> S3Store:
    return S3Store(system.store_uri, cache=FileCache(tmp_path / "cache"))


@pytest.fixture
def stand_ins(system: System) -> Iterator[dict[str, Any]]:
    """What answers in place of functions during the test."""
    yield system.functions.stand_ins
    system.functions.stand_ins.clear()


def test_a_thousand_processes_are_each_converted_once(
    system: System, store: S3Store, stand_ins: dict[str, Any]
) -> None:
    calls: Counter[int] = Counter()
    lock = threading.Lock()

    def discover(event: aws.ExecutionInput) -> aws.Work:
        return write_plan(store, plan(event["job_name"], ITEMS))

    def convert(event: aws.ConvertInput) -> dict[str, Any]:
        process_id = event["item"]["process_id"]
        with lock:
            calls[process_id] += 1
        if process_id in POISONED:
            raise StandInError("InputError")
        if process_id in BUSY and calls[process_id] == 1:
            raise StandInError("StoreBusyError")
        return {}

    stand_ins |= {
        "discover": discover,
        "convert": convert,
        "aggregate": lambda _: {},
        "report": lambda _: {"message": "done"},
        "catalog": lambda _: {},
    }

    run = system.execute("thousand")

    assert run.status == "SUCCEEDED"
    assert sorted(calls) == list(range(ITEMS))
    assert {number: count for number, count in calls.items() if count != 1} == dict.fromkeys(
        BUSY, 2
    )
    records = system.objects(f"{aws.work_prefix('thousand')}results/")
    assert sorted(records) == [
        aws.work_result_key("thousand", number) for number in sorted(POISONED)
    ]
    results = read_results(store, plan("thousand", ITEMS))
    errors = {r.item.process_id: r.error for r in results if not r.error.endswith("(no result)")}
    assert set(errors) == POISONED
    assert all(text.endswith("the conversion did not end (InputError)") for text in errors.values())
    assert largest_state(run.history) < 2_000
    assert len(system.notices()) == 1


def largest_state(history: list[dict[str, Any]]) -> int:
    """Bytes of the largest input or output of a state of the execution itself."""
    texts = [
        details.get(side, "")
        for event in history
        for name, details in event.items()
        if name in ("stateEnteredEventDetails", "stateExitedEventDetails")
        for side in ("input", "output")
    ]
    return max(len(text.encode()) for text in texts)


def test_ten_thousand_processes_fit_into_the_state_and_each_into_its_childs(
    store: S3Store,
) -> None:
    work = write_plan(store, plan("x" * 128, MAX_ITEMS))

    assert work["items"] == MAX_ITEMS
    state = {"job_name": "x" * 128, "work": work}
    assert len(json.dumps(state).encode()) < 1_000
    # The manifest itself is read by the map, item by item; it is never part of a state.
    manifest = json.loads(store.read_bytes(aws.work_manifest_key("x" * 128)))
    assert len(manifest) == MAX_ITEMS
    # A week of recording, with a segment every ten minutes, is one child's input.
    (longest,) = plan("x" * 128, 1, segments=7 * 24 * 6).items
    child = {"job_name": "x" * 128, "item": {**longest.to_json(), "result_key": "x" * 256}}
    assert len(json.dumps(child).encode()) < STATE_LIMIT_BYTES
