"""How far the clocks of the nodes are apart, told by the ends of the collectives they share.

Each node's own clock readings bring its times to Unix time, but no two nodes agree on that to
better than some microseconds, often milliseconds. A collective that gives every rank a result ends
on all of them at nearly the same moment; the median difference of many ends is the difference of
the clocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracemill_analysis.aggregates.matching import Matched, matched_collectives
from tracemill_analysis.aggregates.source import EventSource, Process
from tracemill_analysis.intervals import Int64s

ENDS_TOGETHER = frozenset({"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier"})
"""Operations whose ends say something: a sender or the root of a broadcast may be done early."""
MIN_COLLECTIVES = 3
_RESIDUAL_QUANTILE = 0.95

_Ends = dict[str, Int64s]
"""Per node: median end over its ranks, one element per collective (ns)."""


@dataclass(frozen=True)
class Alignment:
    """``shift_ns`` is to be added to a node's times to bring them to the first node's clock.

    ``residual_ns``: 95 % of the ends of the collectives agree within it afterwards. Of a node that
    shares none with the first one but with another, both add up along the way.
    """

    shift_ns: int
    residual_ns: int


def align_nodes(source: EventSource) -> dict[str, Alignment]:
    """Return the alignment of each node that can be compared with the first (lowest rank).

    Empty if there are no two nodes with collectives in common.
    """
    ranked = [process for process in source.processes if process.rank is not None]
    if len({process.node for process in ranked}) < 2:
        return {}
    nodes = {process.process_id: process.node for process in ranked}
    shared = [_ends_by_node(matched, nodes) for matched in matched_collectives(source)]
    found = {_first_node(ranked): Alignment(0, 0)}
    while True:
        step = _next_node(shared, found)
        if step is None:
            return found if len(found) > 1 else {}
        node, alignment = step
        found[node] = alignment


def _first_node(processes: Sequence[Process]) -> str:
    return min(processes, key=lambda process: (process.rank or 0, process.process_id)).node


def _ends_by_node(matched: Matched, nodes: dict[int, str]) -> _Ends:
    usable = np.array([word in ENDS_TOGETHER for word in matched.operations], bool)
    places: dict[str, list[int]] = {}
    for at, process_id in enumerate(matched.process_ids):
        places.setdefault(nodes[process_id], []).append(at)
    return {
        node: np.sort(matched.ends[rows][:, usable], axis=0)[(len(rows) - 1) // 2]
        for node, rows in places.items()
    }


def _next_node(
    shared: Sequence[_Ends], found: dict[str, Alignment]
) -> tuple[str, Alignment] | None:
    """Return a node not yet found that shares collectives with one that is."""
    for known, base in found.items():
        others = sorted({node for ends in shared if known in ends for node in ends} - set(found))
        for node in others:
            both = [ends for ends in shared if known in ends and node in ends]
            differences = np.concatenate([ends[known] - ends[node] for ends in both])
            if len(differences) < MIN_COLLECTIVES:
                continue
            shift = _quantile(differences, 0.5)
            residual = _quantile(np.abs(differences - shift), _RESIDUAL_QUANTILE)
            return node, Alignment(base.shift_ns + shift, base.residual_ns + residual)
    return None


def _quantile(values: Int64s, share: float) -> int:
    """Least observed value that the share does not exceed; of an even number the lower median."""
    place = max(0, int(np.ceil(share * len(values))) - 1)
    return int(np.sort(values)[place])
