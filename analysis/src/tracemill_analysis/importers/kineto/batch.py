"""Events of one kind, column by column."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracemill_analysis.events.strings import StringPool
from tracemill_analysis.importers.base import DropCounter
from tracemill_analysis.importers.kineto.labels import memory_kind, message_bytes, sync_kind
from tracemill_analysis.importers.kineto.model import NO_ARGS, Args
from tracemill_analysis.importers.numbers import integers, unwrapped

Int64 = NDArray[np.int64]

_NO_DIMENSIONS = (None, None, None)


class Batch(ABC):
    """Events of one kind with their times, shape ``(rows,)``.

    Columns come as ids of texts or as Arrow arrays; for their meaning see the subclass of decoded
    events.
    """

    def __init__(self, starts_ns: Int64, durations_ns: Int64, strings: StringPool) -> None:
        self.rows = len(starts_ns)
        self.starts_ns = starts_ns
        self.durations_ns = durations_ns
        self._strings = strings

    def constant(self, text: str) -> NDArray[np.int32]:
        """Return one text's id for every row."""
        return np.full(self.rows, self._strings.id_of(text), np.int32)

    @abstractmethod
    def part(self, rows: Int64) -> Batch:
        """Return the events at the given places."""

    @abstractmethod
    def by_name(self, rule: Callable[[str], int]) -> NDArray[np.int8]:
        """Return what ``rule`` says of each name."""

    @abstractmethod
    def text_ids(self, name: str) -> NDArray[np.int32]:
        """Return ids of the texts in ``name`` or ``cat``."""

    @abstractmethod
    def integers(self, name: str, kind: Any = None) -> Any:
        """Return an integer argument as Arrow array; what is no integer becomes null."""

    @abstractmethod
    def threads(self) -> Any:
        """Return thread ids; 0 where there is none."""

    @abstractmethod
    def gpu_place(self) -> dict[str, Any]:
        """Return device, stream and correlation; process and thread stand in for the first two."""

    @abstractmethod
    def dimensions(self, name: str) -> dict[str, Any]:
        """Return the three columns of ``grid`` or ``block``."""

    @abstractmethod
    def sizes(self) -> Any:
        """Return the bytes that memory operations move."""

    @abstractmethod
    def memory_kinds(self) -> tuple[Any, Any, Any]:
        """Return kind, source kind and destination kind of memory operations."""

    @abstractmethod
    def sync_kinds(self) -> NDArray[np.int32]:
        """Return ids of the kinds of synchronisations."""

    @abstractmethod
    def modules(self) -> Any:
        """Return the modules, null where there is none; None if all are."""

    @abstractmethod
    def shapes(self) -> NDArray[np.int32]:
        """Return ids of the input shapes as they stand in the file."""

    @abstractmethod
    def collective(self) -> dict[str, Any]:
        """Return what the recorder noted of collectives; nothing if no event has any."""

    @abstractmethod
    def first_pid(self) -> int | None:
        """Return the process id of the first event, if it is a number."""


class DecodedBatch(Batch):
    """Events that the general decoder read, one object each."""

    def __init__(
        self,
        events: list[Any],
        starts_ns: Int64,
        durations_ns: Int64,
        strings: StringPool,
        drops: DropCounter,
    ) -> None:
        super().__init__(starts_ns, durations_ns, strings)
        self._events = events
        self._args: list[Args] = [event.args or NO_ARGS for event in events]
        self._drops = drops

    def part(self, rows: Int64) -> DecodedBatch:
        """Return the events at the given places."""
        picked = [self._events[row] for row in rows.tolist()]
        return DecodedBatch(
            picked, self.starts_ns[rows], self.durations_ns[rows], self._strings, self._drops
        )

    def by_name(self, rule: Callable[[str], int]) -> NDArray[np.int8]:
        """Return what ``rule`` says of each name."""
        return np.array([rule(event.name) for event in self._events], np.int8)

    def text_ids(self, name: str) -> NDArray[np.int32]:
        """Return ids of the texts in ``name`` or ``cat``."""
        return self._texts(list(map(attrgetter(name), self._events)))

    def integers(self, name: str, kind: Any = None) -> Any:
        """Return an integer argument as Arrow array; what is no integer becomes null."""
        return integers(list(map(attrgetter(name), self._args)), self._drops, kind)

    def threads(self) -> Any:
        """Return thread ids; 0 where there is none."""
        return integers([event.tid for event in self._events], self._drops).fill_null(0)

    def gpu_place(self) -> dict[str, Any]:
        """Return device, stream and correlation; process and thread stand in for the first two."""
        devices = [e.pid if a.device is None else a.device for e, a in self._pairs()]
        streams = [unwrapped(e.tid) if a.stream is None else a.stream for e, a in self._pairs()]
        return {
            "device": integers(devices, self._drops, pa.int32()).fill_null(0),
            "stream": integers(streams, self._drops).fill_null(0),
            "correlation": self.integers("correlation"),
        }

    def dimensions(self, name: str) -> dict[str, Any]:
        """Return the three columns of ``grid`` or ``block``."""
        values = [
            v if isinstance(v, list) and len(v) == 3 else _NO_DIMENSIONS
                  for v in map(attrgetter(name), self._args)]  # fmt: skip
        columns = zip(*values, strict=True)
        return {
            f"{name}_{axis}": integers(list(column), self._drops, pa.int32())
            for axis, column in zip("xyz", columns, strict=True)
        }

    def sizes(self) -> Any:
        """Return the bytes that memory operations move."""
        values = [a.size if a.bytes is None else a.bytes for a in self._args]
        return integers(values, self._drops)

    def memory_kinds(self) -> tuple[Any, Any, Any]:
        """Return kind, source kind and destination kind of memory operations."""
        recorded = [a.direction if a.kind is None else a.kind for a in self._args]
        names = [event.name for event in self._events]
        kinds, sources, targets = zip(*map(memory_kind, names, recorded), strict=True)
        return self._texts(kinds), pa.array(sources, pa.string()), pa.array(targets, pa.string())

    def sync_kinds(self) -> NDArray[np.int32]:
        """Return ids of the kinds of synchronisations."""
        return self._texts([sync_kind(str(a.sync_kind or e.name)) for e, a in self._pairs()])

    def modules(self) -> Any:
        """Return the modules, null where there is none; None if all are."""
        return _optional_texts([a.module or None for a in self._args])

    def shapes(self) -> NDArray[np.int32]:
        """Return ids of the input shapes as they stand in the file."""
        ids = self._texts([bytes(a.shapes).decode("utf-8", "replace") for a in self._args])
        ids[ids == self._strings.id_of("")] = -1
        return ids

    def collective(self) -> dict[str, Any]:
        """Return what the recorder noted of collectives; nothing if no event has any."""
        if all(a.collective is None and a.group is None for a in self._args):
            return {}
        return {
            "collective_operation": _optional_texts([a.collective for a in self._args]),
            "collective_group": _optional_texts([a.group for a in self._args]),
            "collective_dtype": _optional_texts([a.dtype for a in self._args]),
            "collective_ranks": self.integers("group_size", pa.int32()),
            "collective_bytes": integers([message_bytes(a) for a in self._args], self._drops),
        }

    def first_pid(self) -> int | None:
        """Return the process id of the first event, if it is a number."""
        pid = self._events[0].pid
        return pid if isinstance(pid, int) else None

    def _texts(self, values: Sequence[str]) -> NDArray[np.int32]:
        return self._strings.ids(values, self.rows)

    def _pairs(self) -> Iterable[tuple[Any, Args]]:
        return zip(self._events, self._args, strict=True)


def _optional_texts(values: Sequence[Any]) -> Any:
    """Texts as Arrow array, None being null; None if there is nothing in them."""
    if all(value is None for value in values):
        return None
    return pa.array([None if value is None else str(value) for value in values], pa.string())
