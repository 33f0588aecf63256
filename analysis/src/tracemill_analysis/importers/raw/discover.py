"""Finds the recorded processes of a job in a store and forms work items."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tracemill_schema import aws, layout
from tracemill_schema.errors import SegmentError, StoreError, TracemillError
from tracemill_schema.vocab import RankSource

from tracemill_analysis.importers.base import WorkItem
from tracemill_analysis.importers.raw.segment import read_meta
from tracemill_analysis.store import ObjectInfo, Store

FORMAT = "tracemill"

_HEAD_BYTES = 64 << 10
_READERS = 16


@dataclass(frozen=True)
class RawDiscovery:
    """Work items of a job, and the recordings none of whose segments could be read.

    ``written_ns`` is when the newest segment of each item was written (Unix time).
    """

    items: tuple[WorkItem, ...]
    rejected: tuple[tuple[str, str], ...]
    written_ns: tuple[int, ...] = ()


@dataclass
class _Recording:
    """The segments of one process, in order."""

    node: str
    start_ns: int
    pid: int
    segments: list[ObjectInfo] = field(default_factory=list)
    rank: int | None = None
    rank_source: RankSource = RankSource.NONE

    @property
    def name(self) -> str:
        return f"node={self.node}/process={self.pid}-{self.start_ns}"

    @property
    def order(self) -> tuple[bool, int, str, int, int, str]:
        place = (self.node, self.start_ns, self.pid, self.segments[0].key)
        return (self.rank is None, self.rank or 0, *place)


def discover_raw(store: Store, job: str) -> RawDiscovery:
    """Return one work item per recorded process of ``job``, ordered by rank, node and start.

    Recordings lie under ``raw_prefix`` or, shipped by SageMaker, under ``shipped_prefix``.
    """
    recordings = _recordings(store, job)
    readable: list[_Recording] = []
    rejected: list[tuple[str, str]] = []
    with ThreadPoolExecutor(_READERS, thread_name_prefix="tracemill-discover") as pool:
        outcomes = pool.map(lambda recording: _find_rank(store, recording), recordings)
        for recording, failure in zip(recordings, outcomes, strict=True):
            if failure is None:
                readable.append(recording)
            else:
                rejected.append((recording.name, failure))
    _assume_rank(readable)
    readable.sort(key=lambda recording: recording.order)
    return RawDiscovery(
        items=tuple(_item(number, recording) for number, recording in enumerate(readable)),
        rejected=tuple(sorted(rejected)),
        written_ns=tuple(max(s.modified_ns for s in r.segments) for r in readable),
    )


def _assume_rank(recordings: list[_Recording]) -> None:
    """Give rank 0 to the process that began first if none has a rank: it is not distributed."""
    if recordings and all(recording.rank is None for recording in recordings):
        first = min(recordings, key=lambda recording: (recording.start_ns, recording.order))
        first.rank, first.rank_source = 0, RankSource.ORDER


def _recordings(store: Store, job: str) -> list[_Recording]:
    """Return the recordings; a segment that came both ways (uploaded and shipped) counts once."""
    found: dict[tuple[str, int, int], dict[int, ObjectInfo]] = {}
    shipped = aws.shipped_prefix(job)
    for base, prefix in (("", layout.raw_prefix(job)), (shipped, shipped + layout.RAW_PREFIX)):
        for info in store.list_objects(prefix):
            key = layout.parse_segment_key(info.key.removeprefix(base))
            if key is not None and info.size_bytes > 0:
                segments = found.setdefault((key.node, key.start_ns, key.pid), {})
                known = segments.get(key.sequence)
                # One that was shipped while it was still written is shorter.
                if known is None or known.size_bytes < info.size_bytes:
                    segments[key.sequence] = info
    return [
        _Recording(*place, [segments[number] for number in sorted(segments)])
        for place, segments in found.items()
    ]


def _item(process_id: int, recording: _Recording) -> WorkItem:
    return WorkItem(
        process_id=process_id,
        format=FORMAT,
        sources=tuple(info.key for info in recording.segments),
        source_name=recording.name,
        node=recording.node,
        rank=recording.rank,
        rank_source=recording.rank_source,
        in_store=True,
    )


def _find_rank(store: Store, recording: _Recording) -> str | None:
    """Set the rank from the first readable segment; if none is readable, say why."""
    failure = ""
    for info in recording.segments:
        try:
            rank = _meta(store, info).get("rank")
        except StoreError:
            raise
        except TracemillError as error:
            failure = str(error)
            continue
        if isinstance(rank, int) and not isinstance(rank, bool):
            recording.rank, recording.rank_source = rank, RankSource.CONTENT
        return None
    return failure


def _meta(store: Store, info: ObjectInfo) -> dict[str, object]:
    try:
        return read_meta(store.read_range(info.key, 0, _HEAD_BYTES), info.key)
    except SegmentError:
        if info.size_bytes <= _HEAD_BYTES:
            raise
        return read_meta(store.read_bytes(info.key), info.key)
