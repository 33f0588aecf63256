"""Finds the traces of other recorders and forms work items: one file is one process.

Formats are told by content. The order in which files are named does not matter.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracemill_schema import layout
from tracemill_schema.errors import TracemillError
from tracemill_schema.vocab import RankSource

from tracemill_analysis.importers.base import WorkItem
from tracemill_analysis.importers.kineto.probe import probe

KINETO_FORMAT = "kineto"

_RANK = re.compile(r"(?<![a-z])(?:global[_-]?)?(?<!local)(?<!local[_-])rank[_-]?(\d{1,7})(?!\d)")
_WORKER = re.compile(r"(?<![a-z])worker[_-]?(\d{1,7})(?!\d)")
_NODE = re.compile(r"(?<![a-z])node[_-]?(\d{1,7})(?!\d)")


@dataclass(frozen=True)
class Discovery:
    """Work items, ordered by process id, and the files left out with the reason of each."""

    items: tuple[WorkItem, ...]
    rejected: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Candidate:
    path: Path
    name: str
    rank: int | None


def discover(paths: Sequence[Path]) -> Discovery:
    """Return one work item per trace among files and folders (searched through, sorted).

    The rank comes from the content, else from the file name (``rank_3``, ``rank-3``, ``worker3``),
    else it is the lowest one that is free, in order of the names. If two files claim one rank, the
    first by name has it and the other takes the next source. The node is ``node-0`` unless the file
    name says another (``node2``).
    """
    rejected: list[tuple[str, str]] = []
    files: list[Path] = []
    for path in paths:
        if path.exists():
            files += _files(path)
        else:
            rejected.append((path.name, f"{path.name}: no such file or folder"))
    candidates: list[_Candidate] = []
    for path, name in _named(files):
        try:
            candidates.append(_Candidate(path, name, probe(path).rank_from_content))
        except TracemillError as error:
            rejected.append((name, str(error)))
    return Discovery(_items(candidates), tuple(sorted(set(rejected))))


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


def _named(files: Sequence[Path]) -> list[tuple[Path, str]]:
    """Order files by name and give each the shortest end of its path that no other has."""
    unique = sorted(set(files), key=lambda path: (path.name, str(path)))
    names = {path: path.name for path in unique}
    for length in range(2, max((len(path.parts) for path in unique), default=0) + 1):
        uses = Counter(names.values())
        names.update(
            {path: "/".join(path.parts[-length:]) for path in unique if uses[names[path]] > 1}
        )
    return [(path, names[path]) for path in unique]


def _items(candidates: Sequence[_Candidate]) -> tuple[WorkItem, ...]:
    ranks = _ranks(candidates)
    order = sorted(candidates, key=lambda c: (ranks[c][0], _node(c), c.name))
    return tuple(
        WorkItem(
            process_id=number,
            format=KINETO_FORMAT,
            sources=(candidate.path,),
            source_name=candidate.name,
            node=_node(candidate),
            rank=ranks[candidate][0],
            rank_source=ranks[candidate][1],
        )
        for number, candidate in enumerate(order)
    )


def _ranks(candidates: Sequence[_Candidate]) -> dict[_Candidate, tuple[int, RankSource]]:
    ranks: dict[_Candidate, tuple[int, RankSource]] = {}
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
    return candidate.rank


def _file_name_rank(candidate: _Candidate) -> int | None:
    for pattern in (_RANK, _WORKER):
        found = pattern.findall(candidate.path.name.lower())
        if found:
            return int(found[-1])
    return None


def _node(candidate: _Candidate) -> str:
    match = _NODE.search(candidate.path.name.lower())
    return f"node-{int(match.group(1))}" if match else "node-0"
