"""The documents of a run, kept under ``work/``: plan, items, a result per process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tracemill_analysis.importers.base import WorkItem
from tracemill_analysis.pipeline.convert import ItemResult
from tracemill_analysis.pipeline.plan import Plan
from tracemill_s3.store import S3Store
from tracemill_schema import aws

_READERS = 16


def write_plan(store: S3Store, plan: Plan) -> aws.Work:
    """Write plan and items in place of an earlier run's documents; the items last."""
    store.delete_prefix(aws.work_prefix(plan.job))
    store.write_bytes(aws.work_plan_key(plan.job), _dump(plan.to_json()))
    items = [
        {
            **item.to_json(),
            "result_key": store.whole_key(aws.work_result_key(plan.job, item.process_id)),
        }
        for item in plan.items
    ]
    key = aws.work_manifest_key(plan.job)
    store.write_bytes(key, _dump(items))
    return aws.Work(bucket=store.bucket, key=store.whole_key(key), items=len(items))


def read_plan(store: S3Store, job: str) -> Plan:
    """Read what ``write_plan`` wrote."""
    items = json.loads(store.read_bytes(aws.work_manifest_key(job)))
    plan = json.loads(store.read_bytes(aws.work_plan_key(job)))
    return Plan.from_json(plan, [WorkItem.from_json(item) for item in items])


def write_result(store: S3Store, job: str, result: ItemResult) -> None:
    """Write the result of one item."""
    store.write_bytes(aws.work_result_key(job, result.item.process_id), _dump(result.to_json()))


def read_results(store: S3Store, plan: Plan) -> list[ItemResult]:
    """Read the results of all items of a plan, in its order.

    An item whose conversion ended without one (time-out, memory) gives a result with an error.
    """
    written = {info.key for info in store.list_objects(f"{aws.work_prefix(plan.job)}results/")}

    def read(item: WorkItem) -> ItemResult:
        key = aws.work_result_key(plan.job, item.process_id)
        if key not in written:
            return _failed(item, "no result")
        values = json.loads(store.read_bytes(key))
        if values["status"] == aws.QUARANTINED:
            return _failed(item, values["error"])
        return ItemResult.from_json(values)

    with ThreadPoolExecutor(_READERS) as pool:
        return list(pool.map(read, plan.items))


def _failed(item: WorkItem, error: str) -> ItemResult:
    # The cause is left out: it holds request ids, and a second run would write other bytes.
    return ItemResult(item, error=f"{item.source_name}: the conversion did not end ({error})")


def _dump(values: dict[str, Any] | Sequence[dict[str, Any]]) -> bytes:
    return json.dumps(values, sort_keys=True, separators=(",", ":")).encode()
