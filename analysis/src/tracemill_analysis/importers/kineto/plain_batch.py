"""Plain events of one kind, column by column: ``Batch`` over what the native decoder gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracemill_analysis.events.strings import NULL_ID, StringPool, distinct
from tracemill_analysis.importers.kineto.batch import Batch
from tracemill_analysis.importers.kineto.labels import element_bytes, memory_kind, sync_kind
from tracemill_analysis.importers.kineto.native import PlainEvents

Int64 = NDArray[np.int64]
Ids = NDArray[np.int32]


class PlainBatch(Batch):
    """The events at ``places`` of a chunk. ``pool_ids`` has the id of each text of the chunk."""

    def __init__(
        self, events: PlainEvents, places: Int64, strings: StringPool, pool_ids: Ids
    ) -> None:
        super().__init__(events.start_ns[places], events.dur_ns[places], strings)
        self._events = events
        self._places = places
        self._pool_ids = pool_ids

    def part(self, rows: Int64) -> PlainBatch:
        """Return the events at the given places."""
        return PlainBatch(self._events, self._places[rows], self._strings, self._pool_ids)

    def by_name(self, rule: Callable[[str], int]) -> NDArray[np.int8]:
        """Return what ``rule`` says of each name."""
        return self._by_text("name", rule, np.int8)

    def text_ids(self, name: str) -> Ids:
        """Return the ids of a text column, -1 where there is none."""
        return self._pool_ids[self._codes(name)]

    def integers(self, name: str, kind: Any = None) -> Any:
        """Return an integer argument as Arrow array."""
        values, missing = self._values(name)
        return pa.array(values, mask=missing).cast(kind or pa.int64())

    def threads(self) -> Any:
        """Return thread ids; 0 where there is none."""
        return pa.array(self._values("tid")[0])

    def gpu_place(self) -> dict[str, Any]:
        """Return device, stream and correlation; process and thread stand in for the first two."""
        return {
            "device": pa.array(self._first_of("device", "pid").astype(np.int32)),
            "stream": pa.array(self._first_of("stream", "tid")),
            "correlation": self.integers("correlation"),
        }

    def dimensions(self, name: str) -> dict[str, Any]:
        """Return the three columns of ``grid`` or ``block``."""
        axes = (f"{name}_{axis}" for axis in "xyz")
        return {axis: self.integers(axis, pa.int32()) for axis in axes}

    def sizes(self) -> Any:
        """Return the bytes that memory operations move."""
        values, missing = self._values("bytes")
        others, none = self._values("size")
        return pa.array(np.where(missing, others, values), mask=missing & none)

    def memory_kinds(self) -> tuple[Ids, Ids, Ids]:
        """Return ids of kind, source kind and destination kind of memory operations."""
        kind, direction = self._codes("kind"), self._codes("direction")
        pairs = np.stack((self._codes("name"), np.where(kind < 0, direction, kind)), axis=1)
        unique, places = np.unique(pairs, axis=0, return_inverse=True)
        found = [memory_kind(self._text(n) or "", self._text(r)) for n, r in unique.tolist()]
        ids = [self._ids(words)[places.ravel()] for words in zip(*found, strict=True)]
        return ids[0], ids[1], ids[2]

    def sync_kinds(self) -> Ids:
        """Return ids of the kinds of synchronisations."""
        label, name = self._codes("sync_kind"), self._codes("name")
        empty = self._events.texts.index("")
        chosen = np.where((label < 0) | (label == empty), name, label)
        unique, places = distinct(chosen)
        return self._ids([sync_kind(self._text(code) or "") for code in unique.tolist()])[places]

    def modules(self) -> Ids:
        """Return ids of the modules, null where there is none or an empty one."""
        return self._without_empty("module")

    def shapes(self) -> Ids:
        """Return ids of the input shapes as they stand in the file."""
        return self._without_empty("shapes")

    def collective(self) -> dict[str, Any]:
        """Return what the recorder noted of collectives; nothing if no event has any."""
        if (self._codes("collective") < 0).all() and (self._codes("group") < 0).all():
            return {}
        return {
            "collective_operation": self.text_ids("collective"),
            "collective_group": self.text_ids("group"),
            "collective_dtype": self.text_ids("dtype"),
            "collective_ranks": self.integers("group_size", pa.int32()),
            "collective_bytes": self._message_bytes(),
        }

    def first_pid(self) -> int | None:
        """Return the process id of the first event, if it has one."""
        values, missing = self._values("pid")
        return None if missing[0] else int(values[0])

    def _message_bytes(self) -> Any:
        """Message sizes: the larger of input and output."""
        counts, none_in = self._values("in_elements")
        others, none_out = self._values("out_elements")
        most = np.maximum(np.where(none_in, -1, counts), np.where(none_out, -1, others))
        size = self._by_text("dtype", lambda text: element_bytes(text) or 0, np.int64)
        return pa.array(most * size, mask=(size == 0) | (none_in & none_out))

    def _values(self, name: str) -> tuple[Int64, NDArray[np.bool_]]:
        values, missing = self._events.integers(name)
        return values[self._places], missing[self._places]

    def _first_of(self, name: str, other: str) -> Int64:
        values, missing = self._values(name)
        return np.where(missing, self._values(other)[0], values)

    def _codes(self, name: str) -> Ids:
        return self._events.text_ids(name)[self._places]

    def _text(self, code: int) -> str | None:
        return None if code < 0 else self._events.texts[code]

    def _by_text(self, name: str, rule: Callable[[str], int], kind: Any) -> NDArray[Any]:
        """Apply a rule to the distinct texts of a column; no text counts as the text None."""
        unique, places = distinct(self._codes(name))
        return np.array([rule(str(self._text(code))) for code in unique.tolist()], kind)[places]

    def _ids(self, words: Any) -> Ids:
        return np.array([NULL_ID if w is None else self._strings.id_of(w) for w in words], np.int32)

    def _without_empty(self, name: str) -> Ids:
        ids = self.text_ids(name)
        ids[ids == self._strings.id_of("")] = NULL_ID
        return ids
