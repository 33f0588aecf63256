"""Events of one kind, column by column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracemill_analysis.events import EventWriter
from tracemill_analysis.importers.base import DropCounter
from tracemill_analysis.importers.kineto.labels import message_bytes
from tracemill_analysis.importers.kineto.model import NO_ARGS, Args
from tracemill_analysis.importers.kineto.numbers import integers, unwrapped

Int64 = NDArray[np.int64]

_NO_DIMENSIONS = (None, None, None)


class Batch:
    """Events of one kind with their times, shape ``(rows,)``."""

    def __init__(
        self,
        events: list[Any],
        starts_ns: Int64,
        durations_ns: Int64,
        writer: EventWriter,
        drops: DropCounter,
    ) -> None:
        self.events = events
        self.rows = len(events)
        self.starts_ns = starts_ns
        self.durations_ns = durations_ns
        self.args: list[Args] = [event.args or NO_ARGS for event in events]
        self._writer = writer
        self._drops = drops

    def part(self, rows: Int64) -> Batch:
        """Return the events at the given places."""
        picked = [self.events[row] for row in rows.tolist()]
        return Batch(
            picked, self.starts_ns[rows], self.durations_ns[rows], self._writer, self._drops
        )

    def names(self) -> list[str]:
        """Return the names."""
        return [event.name for event in self.events]

    def texts(self, values: Sequence[str]) -> NDArray[np.int32]:
        """Return ids of texts."""
        return self._writer.strings.ids(values, self.rows)

    def optional_texts(self, values: Sequence[Any]) -> Any:
        """Return ids of texts, None being null; None if all are."""
        if not any(values):
            return None
        return pa.array([None if value is None else str(value) for value in values], pa.string())

    def constant(self, text: str) -> NDArray[np.int32]:
        """Return one text's id for every row."""
        return np.full(self.rows, self._writer.strings.id_of(text), np.int32)

    def integers(self, name: str, kind: Any = None) -> Any:
        """Return an integer argument as Arrow array; what is no integer becomes null."""
        return integers(list(map(attrgetter(name), self.args)), self._drops, kind)

    def threads(self) -> Any:
        """Return thread ids; 0 where there is none."""
        return integers([event.tid for event in self.events], self._drops).fill_null(0)

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
                  for v in map(attrgetter(name), self.args)]  # fmt: skip
        columns = zip(*values, strict=True)
        return {
            f"{name}_{axis}": integers(list(column), self._drops, pa.int32())
            for axis, column in zip("xyz", columns, strict=True)
        }

    def shapes(self) -> Any:
        """Return ids of the input shapes as they stand in the file."""
        raw = [a.shapes for a in self.args]
        texts = [bytes(value).decode("utf-8", "replace") for value in raw]
        ids = self.texts(texts)
        ids[ids == self._writer.strings.id_of("")] = -1
        return ids

    def collective(self) -> dict[str, Any]:
        """Return what the recorder noted of collectives; nothing if no event has any."""
        if all(a.collective is None and a.group is None for a in self.args):
            return {}
        return {
            "collective_operation": self.optional_texts([a.collective for a in self.args]),
            "collective_group": self.optional_texts([a.group for a in self.args]),
            "collective_dtype": self.optional_texts([a.dtype for a in self.args]),
            "collective_ranks": self.integers("group_size", pa.int32()),
            "collective_bytes": integers([message_bytes(a) for a in self.args], self._drops),
        }

    def _pairs(self) -> Iterable[tuple[Any, Args]]:
        return zip(self.events, self.args, strict=True)
