"""Finds the traces of other recorders and forms work items, one for each process.

Formats are told by content. The order in which files are named does not matter.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tracemill_schema import layout
from tracemill_schema.errors import StoreError, TracemillError
from tracemill_schema.vocab import RankSource

from tracemill_analysis.importers.base import Found, WorkItem
from tracemill_analysis.importers.formats import (
    HEAD_BYTES,
    KINETO_FORMAT,
    Group,
    group,
    is_usual_name,
    is_whole_file_needed,
    look_into,
)
from tracemill_analysis.importers.kineto.probe import probe_start
from tracemill_analysis.importers.unpack import first_bytes
from tracemill_analysis.store import ObjectInfo, Store, scratch_folder

_RANK = re.compile(r"(?<![a-z])(?:global[_-]?)?(?<!local)(?<!local[_-])rank[_-]?(\d{1,7})(?!\d)")
_WORKER = re.compile(r"(?<![a-z])worker[_-]?(\d{1,7})(?!\d)")
_NODE_FOLDER = re.compile(r"node=(.+)")
_NODE = re.compile(r"(?<![a-z])node[_-]?(\d{1,7})(?!\d)")
_HIDDEN = re.compile(r"(^|/)\.")
_HEAD_BYTES = 1 << 20
_READERS = 8


@dataclass(frozen=True)
class Discovery:
    """Work items, ordered by process id, and the files left out with the reason of each."""

    items: tuple[WorkItem, ...]
    rejected: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Input:
    """Files read together, the parts of the path that names them, and how to look into them."""

    sources: tuple[str, ...]
    parts: tuple[str, ...]
    look: Callable[[], tuple[str, list[Found]]]


@dataclass(frozen=True)
class _Candidate:
    format: str
    sources: tuple[str, ...]
    name: str
    parts: tuple[str, ...]
    found: Found
    names_one: bool
    """Whether the name can tell the rank: it does not where it names several processes."""


def discover(paths: Sequence[Path]) -> Discovery:
    """Return one work item per process among files and folders (searched through, sorted).

    A file holds one process or, from Nsight Systems, several; a Parquet export is a folder. The
    rank comes from the content, else from the file name (``rank_3``, ``rank-3``, ``worker3``), else
    it is the lowest one that is free, in order of the names. If two claim one rank, the first by
    name has it and the other takes the next source. A process without work on a GPU in a file
    where others have some is a helper without a rank. The node is that of a folder
    ``node=<name>`` or of the file name (``node2``), else ``node-0``.
    """
    missing = [
        (path.name, f"{path.name}: no such file or folder") for path in paths if not path.exists()
    ]
    files = {file for path in paths if path.exists() for file in _files(path)}
    inputs = [
        _Input(one.sources, one.parts, partial(look_into, one, [Path(s) for s in one.sources]))
        for one in group((str(path), path.parts) for path in files)
    ]
    return _discover(inputs, missing, in_store=False)


def discover_stored(store: Store, prefix: str, skipped: Sequence[str] = ()) -> Discovery:
    """Return one work item per process below a prefix of a store; see ``discover``.

    Only names that end as traces do are looked at; folders of ``prefix`` in ``skipped`` are not.
    """
    infos: dict[str, ObjectInfo] = {}
    for info in store.list_objects(prefix):
        name = info.key.removeprefix(prefix)
        usual = is_usual_name(name) and not _HIDDEN.search(name)
        if usual and not name.startswith(tuple(skipped)):
            infos[info.key] = info
    inputs = [
        _Input(one.sources, one.parts, partial(_look_stored, store, one, infos))
        for one in group((key, tuple(key.removeprefix(prefix).split("/"))) for key in infos)
    ]
    return _discover(inputs, [], in_store=True)


def _discover(
    inputs: Sequence[_Input], rejected: list[tuple[str, str]], *, in_store: bool
) -> Discovery:
    candidates: list[_Candidate] = []
    named = _named(inputs)
    with ThreadPoolExecutor(_READERS if in_store else 1) as pool:
        outcomes = list(pool.map(_look_or_error, [item for item, _ in named]))
    for (item, name), outcome in zip(named, outcomes, strict=True):
        if isinstance(outcome, str):
            rejected.append((name, outcome))
            continue
        known_format, processes = outcome
        alone = sum(not found.helper for found in processes) == 1
        candidates += [
            _Candidate(known_format, item.sources, name + found.label, item.parts, found, alone)
            for found in processes
        ]
    return Discovery(_items(candidates, in_store=in_store), tuple(sorted(set(rejected))))


def _look_or_error(item: _Input) -> tuple[str, list[Found]] | str:
    try:
        return item.look()
    except StoreError:
        raise
    except TracemillError as error:
        return str(error)


def _look_stored(
    store: Store, one: Group, infos: Mapping[str, ObjectInfo]
) -> tuple[str, list[Found]]:
    """Look at the start of an object; fetch all of it only if that does not tell."""
    info = infos[one.sources[0]]
    if one.known_format is None and info.size_bytes > _HEAD_BYTES:
        with scratch_folder() as folder:
            start = folder / info.key.rpartition("/")[2]
            start.write_bytes(store.read_range(info.key, 0, _HEAD_BYTES))
            whole = is_whole_file_needed(first_bytes(start, HEAD_BYTES))
            if not whole and (found := probe_start(start)) is not None:
                return KINETO_FORMAT, [Found(rank=found.rank_from_content)]
    return look_into(one, store.local_files(one.sources))


def _files(path: Path) -> Iterator[Path]:
    """Files of a path, without hidden ones and raw segments (those are read through a store)."""
    if path.is_file():
        yield path.resolve()
        return
    for folder, subfolders, names in os.walk(path.resolve()):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        for name in names:
            file = Path(folder, name)
            if not name.startswith(".") and file.suffix != layout.RAW_SUFFIX and file.is_file():
                yield file


def _named(inputs: Sequence[_Input]) -> list[tuple[_Input, str]]:
    """Order files by name and give each the shortest end of its path that no other has."""
    ordered = sorted(inputs, key=lambda item: (item.parts[-1], item.sources))
    names = [item.parts[-1] for item in ordered]
    for length in range(2, max((len(item.parts) for item in ordered), default=0) + 1):
        uses = Counter(names)
        names = [
            "/".join(item.parts[-length:]) if uses[name] > 1 else name
            for item, name in zip(ordered, names, strict=True)
        ]
    return list(zip(ordered, names, strict=True))


def _items(candidates: Sequence[_Candidate], *, in_store: bool) -> tuple[WorkItem, ...]:
    ranks = _ranks(candidates)

    def order(candidate: _Candidate) -> tuple[bool, int, str, str, int]:
        rank, _ = ranks[candidate]
        place = (_node(candidate), candidate.name, candidate.found.part or 0)
        return (rank is None, rank or 0, *place)

    return tuple(
        WorkItem(
            process_id=number,
            format=candidate.format,
            sources=candidate.sources,
            source_name=candidate.name,
            node=_node(candidate),
            rank=ranks[candidate][0],
            rank_source=ranks[candidate][1],
            in_store=in_store,
            part=candidate.found.part,
        )
        for number, candidate in enumerate(sorted(candidates, key=order))
    )


def _ranks(candidates: Sequence[_Candidate]) -> dict[_Candidate, tuple[int | None, RankSource]]:
    ranks: dict[_Candidate, tuple[int | None, RankSource]] = {
        candidate: (None, RankSource.NONE) for candidate in candidates if candidate.found.helper
    }
    taken: set[int] = set()
    sources = ((RankSource.CONTENT, _content_rank), (RankSource.FILE_NAME, _file_name_rank))
    for source, rank_of in sources:
        for candidate in candidates:
            rank = rank_of(candidate)
            if candidate not in ranks and rank is not None and rank not in taken:
                ranks[candidate] = (rank, source)
                taken.add(rank)
    free = 0
    for candidate in candidates:
        if candidate not in ranks:
            while free in taken:
                free += 1
            ranks[candidate] = (free, RankSource.ORDER)
            taken.add(free)
    return ranks


def _content_rank(candidate: _Candidate) -> int | None:
    return candidate.found.rank


def _file_name_rank(candidate: _Candidate) -> int | None:
    if not candidate.names_one:
        return None
    for pattern in (_RANK, _WORKER):
        found = pattern.findall(candidate.parts[-1].lower())
        if found:
            return int(found[-1])
    return None


def _node(candidate: _Candidate) -> str:
    for part in reversed(candidate.parts[:-1]):
        if match := _NODE_FOLDER.fullmatch(part):
            return layout.safe_name(match.group(1), "node-0")
    match = _NODE.search(candidate.parts[-1].lower())
    return f"node-{int(match.group(1))}" if match else "node-0"
