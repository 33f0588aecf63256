"""Row groups of event tables and of the pyramid: an index from footers, decoded groups kept.

A row group is a time slice of one process (or a run of lanes of the pyramid), sorted by lane and
start. The footers tell when its first event begins and bound when its last one ends (latest start
plus longest duration); a group that has been decoded knows it exactly.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from tracemill_schema.errors import StoreError

from tracemill_ui.timeline.clocks import TIME_COLUMNS, shifted
from tracemill_ui.timeline.names import Names

Int64s = NDArray[np.int64]
CACHE_BYTES = 256 << 20
_UNKNOWN = np.iinfo(np.int64).max
_NULL = -(2**62)
_MAX_RUNS = 2_000
"""A group with more runs of lanes than lanes can be is not sorted by lane."""
_file_numbers = count()


@dataclass(frozen=True)
class Group:
    """A decoded row group: ``lanes`` maps a lane's key values to its rows ``[first, last)``.

    Arrays have one element per row, by lane and start; ``row`` is the row's place in the file's
    group where that order is another. ``count``, ``busy`` and ``exact`` are there for the pyramid
    only. Times are in ns, aligned.
    """

    lanes: dict[tuple[Any, ...], tuple[int, int]]
    start: Int64s
    end: Int64s
    name: NDArray[np.int32]
    category: NDArray[np.int32]
    row: Int64s | None = None
    count: Int64s | None = None
    busy: Int64s | None = None
    exact: NDArray[np.bool_] | None = None

    def place_in_file(self, at: int) -> int:
        """Return the position of a row within the file's group."""
        return at if self.row is None else int(self.row[at])

    @property
    def nbytes(self) -> int:
        """Memory it takes, the map of lanes left out."""
        arrays = (
            *(self.start, self.end, self.name, self.category),
            *(self.row, self.count, self.busy, self.exact),
        )
        return sum(array.nbytes for array in arrays if array is not None)


@dataclass
class _Footer:
    metadata: Any
    first: Int64s
    last: Int64s
    rows: Int64s
    columns: dict[str, int]
    limits: dict[str, tuple[list[Any], list[Any]]] = field(default_factory=dict)


class GroupCache:
    """Decoded groups of all files, those used longest ago leave first. Thread-safe."""

    def __init__(self, max_bytes: int = CACHE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._groups: OrderedDict[tuple[Any, ...], Group] = OrderedDict()
        self.size_bytes = 0

    def get(self, key: tuple[Any, ...]) -> Group | None:
        """Return a group that is kept."""
        with self._lock:
            group = self._groups.get(key)
            if group is not None:
                self._groups.move_to_end(key)
            return group

    def put(self, key: tuple[Any, ...], group: Group) -> None:
        """Keep a group."""
        with self._lock:
            if key in self._groups:
                return
            self._groups[key] = group
            self.size_bytes += group.nbytes
            while self.size_bytes > self._max_bytes and len(self._groups) > 1:
                _, oldest = self._groups.popitem(last=False)
                self.size_bytes -= oldest.nbytes


class GroupFile:
    """One Parquet file of events or of pyramid rows.

    ``shift_ns`` is added to every time that is read, so all times in and out are aligned.
    """

    def __init__(
        self,
        path: Path,
        keys: Sequence[str],
        names: Names,
        cache: GroupCache,
        *,
        category: str | None = None,
        levels: bool = False,
        shift_ns: int = 0,
    ) -> None:
        self.path = path
        self._keys = tuple(keys)
        self._names = names
        self._cache = cache
        self._category = category
        self._levels = levels
        self._shift_ns = shift_ns
        # Not id(self): that of a collected file is given to a new one, whose groups differ.
        self._number = next(_file_numbers)
        self._footer = self._read_footer()

    @property
    def rows(self) -> int:
        """Rows of the file."""
        return int(self._footer.rows.sum())

    def touching(self, start: int, end: int) -> list[int]:
        """Return the groups that may have events in ``[start, end]`` ns."""
        footer = self._footer
        return np.flatnonzero((footer.first <= end) & (footer.last >= start)).tolist()

    def within(self, column: str, value: Any, groups: Sequence[int]) -> list[int]:
        """Return those of ``groups`` whose statistics allow ``value`` in ``column``."""
        low, high = self.limits(column)
        return [g for g in groups if low[g] is None or low[g] <= value <= high[g]]

    def rows_of(self, groups: Sequence[int]) -> int:
        """Return how many rows groups have."""
        return int(self._footer.rows[list(groups)].sum())

    def has(self, number: int) -> bool:
        """Tell whether a group is in memory."""
        return self._cache.get((self._number, number)) is not None

    def group(self, number: int) -> Group:
        """Return a decoded group, from memory or from the file."""
        key = (self._number, number)
        group = self._cache.get(key)
        if group is None:
            group = self._decode(number)
            self._cache.put(key, group)
            if len(group.end):
                self._footer.last[number] = group.end.max()
        return group

    def read(self, number: int, columns: Sequence[str] | None = None) -> Any:
        """Return columns of a group as a ``pyarrow.Table``; StoreError if it cannot be read."""
        try:
            texts = [name for name in self._texts() if columns is None or name in columns]
            with pq.ParquetFile(
                self.path, metadata=self._footer.metadata, read_dictionary=texts
            ) as file:
                data = file.read_row_group(number, columns=columns, use_threads=False)
                return shifted(data, TIME_COLUMNS, self._shift_ns)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise StoreError(f"{self.path.name}: group {number} cannot be read: {error}") from error

    def groups(self) -> Iterator[int]:
        """Iterate over the numbers of all groups."""
        return iter(range(len(self._footer.rows)))

    def _texts(self) -> list[str]:
        schema = self._footer.metadata.schema.to_arrow_schema()
        return [f.name for f in schema if pa.types.is_string(f.type)]

    def _read_footer(self) -> _Footer:
        try:
            metadata = pq.read_metadata(self.path)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise StoreError(f"{self.path.name} cannot be read: {error}") from error
        names = metadata.schema.names
        columns = {name: at for at, name in enumerate(names)}
        size = metadata.num_row_groups
        first, last = np.full(size, -_UNKNOWN), np.full(size, _UNKNOWN)
        rows = np.zeros(size, np.int64)
        for at in range(size):
            group = metadata.row_group(at)
            rows[at] = group.num_rows
            starts = group.column(columns["start_ns"]).statistics
            durations = group.column(columns["dur_ns"]).statistics
            if starts is not None and starts.has_min_max:
                first[at] = starts.min + self._shift_ns
                if durations is not None and durations.has_min_max:
                    last[at] = starts.max + durations.max + self._shift_ns
        return _Footer(metadata, first, last, rows, columns)

    def limits(self, column: str) -> tuple[list[Any], list[Any]]:
        """Return least and greatest value of a column, no time, by group; None where not known."""
        footer = self._footer
        if column not in footer.limits:
            low, high = [], []
            for at in self.groups():
                statistics = footer.metadata.row_group(at).column(footer.columns[column]).statistics
                known = statistics is not None and statistics.has_min_max
                low.append(statistics.min if known else None)
                high.append(statistics.max if known else None)
            footer.limits[column] = (low, high)
        return footer.limits[column]

    def _decode(self, number: int) -> Group:
        extra = ("count", "busy_ns", "exact") if self._levels else ()
        category = (self._category,) if self._category else ()
        data = self.read(number, [*self._keys, "start_ns", "dur_ns", "name", *category, *extra])
        start = _integers(data["start_ns"])
        keys = np.stack([self._numbers(data[key]) for key in self._keys])
        order = _lane_order(keys, start)
        if order is not None:
            data, start, keys = data.take(pa.array(order)), start[order], keys[:, order]
        return Group(
            lanes=self._segments(keys),
            start=start,
            end=start + _integers(data["dur_ns"]),
            name=self._names.encode(data["name"]),
            category=self._names.encode(data[self._category])
            if self._category
            else np.full(len(start), self._names.id_of(""), np.int32),
            row=order,
            count=_integers(data["count"]) if self._levels else None,
            busy=_integers(data["busy_ns"]) if self._levels else None,
            exact=data["exact"].to_numpy() if self._levels else None,
        )

    def _numbers(self, column: Any) -> Int64s:
        """Return a key column as numbers; texts as their ids."""
        if pa.types.is_dictionary(column.type) or pa.types.is_string(column.type):
            return self._names.encode(column).astype(np.int64)
        return _integers(column)

    def _segments(self, keys: Int64s) -> dict[tuple[Any, ...], tuple[int, int]]:
        """Find where each lane's rows lie; rows are sorted by lane."""
        found: dict[tuple[Any, ...], tuple[int, int]] = {}
        for first, last in pairwise(_edges(keys)):
            values = zip(self._keys, keys[:, first].tolist(), strict=True)
            place = tuple(self._names.text(v) if k == "lane" else v for k, v in values)
            found[tuple(None if v == _NULL else v for v in place)] = (first, last)
        return found


def _edges(keys: Int64s) -> list[int]:
    """Return where runs of equal columns begin, and the number of columns."""
    size = keys.shape[1]
    if not size:
        return [0]
    changes = np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)) + 1
    return [0, *changes.tolist(), size]


def _lane_order(keys: Int64s, start: Int64s) -> Int64s | None:
    """Return the order of rows by lane and start; None if they lie so already.

    Nested ranges are stored by thread and start, so their levels alternate.
    """
    edges = _edges(keys)
    if len(edges) <= _MAX_RUNS:
        inner = np.ones(max(len(start) - 1, 0), bool)
        inner[np.array(edges[1:-1], np.int64) - 1] = False
        firsts = {tuple(keys[:, at].tolist()) for at in edges[:-1]}
        if len(firsts) == len(edges) - 1 and not (np.diff(start)[inner] < 0).any():
            return None
    return np.lexsort(
        (start, *(row for row in keys[::-1] if row[0] != row[-1] or (row != row[0]).any()))
    )


def _integers(column: Any) -> Int64s:
    array = column.combine_chunks()
    if array.null_count == len(array):
        return np.full(len(array), _NULL, np.int64)
    if array.null_count:
        array = array.cast("int64").fill_null(_NULL)
    values: Int64s = array.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return values
