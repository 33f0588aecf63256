"""First step: what there is to convert. Gives work items, each of which can go its own way."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tracemill_schema import aws, layout
from tracemill_schema.errors import InputError
from tracemill_schema.vocab import RunStatus

from tracemill_analysis.importers import discover as foreign
from tracemill_analysis.importers.base import WorkItem
from tracemill_analysis.importers.raw.discover import discover_raw
from tracemill_analysis.store import Store

Rejected = tuple[str, str]
"""Name of an input that could not be read, and why."""

_RUNNING_IF_WRITTEN_WITHIN_NS = 5_000_000_000
_NOT_OURS = ("raw/", "system/", "framework/")
"""Folders of a shipped output: our recordings, and what SageMaker's own profilers write."""


@dataclass(frozen=True)
class RunFacts:
    """What is known of the training run from elsewhere, for example from SageMaker."""

    status: RunStatus | None = None
    instance_types: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """The processes of a job to convert, in order of their ids.

    ``rejected`` are inputs already known to be unreadable; ``recent`` are the ids of processes that
    were being written when the plan was made.
    """

    job: str
    items: tuple[WorkItem, ...]
    rejected: tuple[Rejected, ...] = ()
    recent: tuple[int, ...] = ()
    run: RunFacts = field(default_factory=RunFacts)

    def to_json(self) -> dict[str, Any]:
        """Return the plan as a JSON document, without its items."""
        return {
            "job": self.job,
            "rejected": [list(one) for one in self.rejected],
            "recent": list(self.recent),
            "status": None if self.run.status is None else str(self.run.status),
            "instance_types": list(self.run.instance_types),
        }

    @classmethod
    def from_json(cls, values: dict[str, Any], items: Sequence[WorkItem]) -> Plan:
        """Read a document of ``to_json``; the items are kept apart from it."""
        status = values["status"]
        return cls(
            job=values["job"],
            items=tuple(items),
            rejected=tuple((name, error) for name, error in values["rejected"]),
            recent=tuple(values["recent"]),
            run=RunFacts(
                None if status is None else RunStatus(status), tuple(values["instance_types"])
            ),
        )


def plan_traces(job: str, paths: Sequence[Path]) -> Plan:
    """Plan the import of traces of others; InputError if there is none that can be read."""
    layout.check_name(job)
    found = foreign.discover(paths)
    if not found.items:
        raise InputError(nothing_read(found.rejected))
    return Plan(job, found.items, found.rejected)


def plan_recorded(
    store: Store, job: str, run: RunFacts | None = None, now_ns: int | None = None
) -> Plan:
    """Plan the processing of what lies in the store for a job: recordings, and traces beside them.

    The plan has no items if nothing was recorded. Raises InputError if nothing can be read.
    """
    raw = discover_raw(store, job)
    shipped = foreign.discover_stored(store, aws.shipped_prefix(job), _NOT_OURS)
    rejected = (*raw.rejected, *shipped.rejected)
    if rejected and not raw.items and not shipped.items:
        raise InputError(nothing_read(rejected))
    limit_ns = (time.time_ns() if now_ns is None else now_ns) - _RUNNING_IF_WRITTEN_WITHIN_NS
    written_ns = (*raw.written_ns, *(0 for _ in shipped.items))
    pairs = sorted(zip((*raw.items, *shipped.items), written_ns, strict=True), key=_order)
    return Plan(
        job,
        items=tuple(replace(item, process_id=n) for n, (item, _) in enumerate(pairs)),
        rejected=rejected,
        recent=tuple(n for n, (_, written) in enumerate(pairs) if written > limit_ns),
        run=run or RunFacts(),
    )


def nothing_read(rejected: Sequence[Rejected]) -> str:
    """Say why a job has nothing to show."""
    if not rejected:
        return "nothing to import: no trace file found"
    first = rejected[0][1]
    more = f" (and {len(rejected) - 1} more)" if len(rejected) > 1 else ""
    return f"nothing could be read: {first}{more}"


def _order(pair: tuple[WorkItem, int]) -> tuple[bool, int]:
    """By rank; the sort is stable, so recordings stand before traces of the same rank."""
    rank = pair[0].rank
    return (rank is None, rank or 0)
