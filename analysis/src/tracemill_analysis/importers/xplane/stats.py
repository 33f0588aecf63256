"""Statistics of many events: the few that the tables need, each as a column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracemill_analysis.importers.xplane.space import Plane, Space
from tracemill_analysis.importers.xplane.wire import BYTES, VARINT, decode_many

Int64 = NDArray[np.int64]
Bools = NDArray[np.bool_]

_UINT64, _INT64, _STRING, _BYTES, _REF = 3, 4, 5, 6, 7


class EventStats:
    """Statistics of a batch of events. ``owner`` says to which event each belongs."""

    def __init__(
        self, space: Space, plane: Plane, starts: Int64, ends: Int64, owner: Int64, events: int
    ) -> None:
        self._space = space
        self._plane = plane
        self._owner = owner
        self._events = events
        self._fields = decode_many(space.bytes, starts, ends)
        self._kind, self._has_kind = self._fields.last(1)
        self.bad = int(self._fields.bad.sum())
        self._ids: dict[str, list[int]] = {}
        for number, name in plane.stat_names.items():
            self._ids.setdefault(name, []).append(number)

    def integers(self, name: str) -> tuple[Int64, Bools]:
        """Return a statistic per event, 0 where it has none, and where it has one."""
        values, present = np.zeros(self._events, np.int64), np.zeros(self._events, np.bool_)
        chosen = self._rows(name)
        for number in (_UINT64, _INT64):
            found, there = self._fields.last(number)
            rows = np.flatnonzero(chosen & there)
            values[self._owner[rows]] = found[rows]
            present[self._owner[rows]] = True
        return values, present

    def texts(self, name: str) -> tuple[list[str], Int64]:
        """Return the distinct texts of a statistic and each event's place among them, -1: none."""
        places = np.full(self._events, -1, np.int64)
        texts: dict[str, int] = {}
        chosen = self._rows(name)
        found, there = self._fields.last(_REF)
        for row in np.flatnonzero(chosen & there).tolist():
            text = self._plane.stat_names.get(int(found[row]), "")
            places[self._owner[row]] = texts.setdefault(text, len(texts))
        for number in (_STRING, _BYTES):
            rows = self._fields.where(number, BYTES)
            for row in rows[chosen[self._fields.owner[rows]]].tolist():
                text = self._space.text(int(self._fields.value[row]), int(self._fields.length[row]))
                place = texts.setdefault(text, len(texts))
                places[self._owner[self._fields.owner[row]]] = place
        return list(texts), places

    def _rows(self, name: str) -> Bools:
        ids = self._ids.get(name)
        if not ids:
            return np.zeros(len(self._kind), np.bool_)
        return self._has_kind & np.isin(self._kind, ids)


def plane_facts(space: Space, plane: Plane) -> dict[str, int | str]:
    """Return the plane's own statistics that are integers or texts."""
    starts = np.array([s for s, _ in plane.stats], np.int64)
    ends = np.array([e for _, e in plane.stats], np.int64)
    fields = decode_many(space.bytes, starts, ends)
    kind, known = fields.last(1, VARINT)
    facts: dict[str, int | str] = {}
    for number in (_UINT64, _INT64):
        values, there = fields.last(number)
        for row in np.flatnonzero(known & there).tolist():
            facts[plane.stat_names.get(int(kind[row]), "")] = int(values[row])
    for row in fields.where(_STRING, BYTES).tolist():
        name = plane.stat_names.get(int(kind[fields.owner[row]]), "")
        facts[name] = space.text(int(fields.value[row]), int(fields.length[row]))
    return facts
