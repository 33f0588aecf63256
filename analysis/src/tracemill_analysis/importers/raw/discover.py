"""Finds the recorded processes of a job in a store and forms work items."""

from __future__ import annotations

from dataclasses import dataclass

from tracemill_schema import layout
from tracemill_schema.errors import TracemillError
from tracemill_schema.vocab import RankSource

from tracemill_analysis.importers.base import DropCounter, WorkItem
from tracemill_analysis.importers.raw.segment import read_meta
from tracemill_analysis.store import ObjectInfo, Store

FORMAT = "tracemill"


@dataclass(frozen=True)
class RawDiscovery:
    """Work items of a job, and the recordings none of whose segments could be read."""

    items: tuple[WorkItem, ...]
    rejected: tuple[tuple[str, str], ...]


def discover_raw(store: Store, job: str) -> RawDiscovery:
    """Return one work item per recorded process of ``job``, ordered by rank, node and start."""
    processes: dict[tuple[str, int, int], list[ObjectInfo]] = {}
    for info in store.list_objects(layout.raw_prefix(job)):
        key = layout.parse_segment_key(info.key)
        if key is not None and info.size_bytes > 0:
            processes.setdefault((key.node, key.start_ns, key.pid), []).append(info)
    ranks: dict[tuple[str, int, int], int | None] = {}
    rejected: list[tuple[str, str]] = []
    for process, segments in processes.items():
        try:
            ranks[process] = _rank(store, segments)
        except TracemillError as error:
            rejected.append((_source_name(process), str(error)))
    named = {process: RankSource.CONTENT for process, rank in ranks.items() if rank is not None}
    if ranks and not named:
        # A training that is not distributed sets no rank: the process that began first runs it.
        first = min(ranks, key=lambda process: (process[1], process))
        ranks[first], named[first] = 0, RankSource.ORDER
    ordered = sorted(ranks, key=lambda p: (ranks[p] is None, ranks[p] or 0, p))
    items = tuple(
        WorkItem(
            process_id=number,
            format=FORMAT,
            sources=tuple(store.local_file(info.key) for info in processes[process]),
            source_name=_source_name(process),
            node=process[0],
            rank=ranks[process],
            rank_source=named.get(process, RankSource.NONE),
        )
        for number, process in enumerate(ordered)
    )
    return RawDiscovery(items, tuple(sorted(rejected)))


def _source_name(process: tuple[str, int, int]) -> str:
    node, start_ns, pid = process
    return f"node={node}/process={pid}-{start_ns}"


def _rank(store: Store, segments: list[ObjectInfo]) -> int | None:
    """Rank from the first readable segment; the error of the last one if none is readable."""
    failure: TracemillError | None = None
    for info in segments:
        try:
            rank = read_meta(store.local_file(info.key), info.key, DropCounter()).get("rank")
        except TracemillError as error:
            failure = error
            continue
        return rank if isinstance(rank, int) and not isinstance(rank, bool) else None
    assert failure is not None
    raise failure
