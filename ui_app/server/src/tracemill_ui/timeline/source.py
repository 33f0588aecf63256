"""One profile's files as the timeline reads them: event tables and pyramid, process by process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from tracemill_analysis.aggregates.pyramid import level_bins
from tracemill_analysis.parquet import read_table
from tracemill_analysis.store import Store
from tracemill_schema import layout
from tracemill_schema.columns import Table
from tracemill_schema.tables.events import ANNOTATIONS, API_CALLS, KERNELS, OPERATORS, SAMPLES

from tracemill_ui.loaded import Profile
from tracemill_ui.timeline import lanes as ln
from tracemill_ui.timeline.clocks import Clocks, shifted
from tracemill_ui.timeline.groups import GroupCache, GroupFile, Int64s
from tracemill_ui.timeline.lanes import Lane
from tracemill_ui.timeline.names import Names

LANE_TABLES: tuple[Table, ...] = tuple(ln.LANE_OF_TABLE)


@dataclass(frozen=True)
class Events:
    """Events of one lane by start; times in ns, aligned; ids as in ``Names``."""

    start: Int64s
    end: Int64s
    name: NDArray[np.int32]
    category: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.start)

    def take(self, rows: Any) -> Events:
        """Return the events at these positions (or where a mask is true)."""
        return Events(self.start[rows], self.end[rows], self.name[rows], self.category[rows])


NO_EVENTS = Events(
    np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32)
)


class Source:
    """The files of one version of a profile. Thread-safe; footers are read when first needed.

    All times that go in and come out are aligned: see ``Clocks``.
    """

    def __init__(self, store: Store, profile: Profile, cache: GroupCache) -> None:
        self.profile = profile
        self.names = Names()
        self._store = store
        self._cache = cache
        self._lock = threading.Lock()
        self._files: dict[tuple[str, int], GroupFile | None] = {}
        self._keys: dict[str, dict[int, str]] = {}
        self._kept: dict[Any, Any] = {}

    def kept(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what ``make`` returned when it was first asked for under ``key``."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    @property
    def job(self) -> str:
        """Name of the profile."""
        return self.profile.entry.name

    @cached_property
    def start_ns(self) -> int:
        """The zero of all times that leave the server."""
        return self.clocks.bounds(*self._recorded)[0]

    @cached_property
    def span_ns(self) -> int:
        """Length of the profile, at least 1."""
        start, end = self.clocks.bounds(*self._recorded)
        return max(end - start, 1)

    @property
    def _recorded(self) -> tuple[int, int]:
        job = self.profile.entry.job
        return int(job.get("start_ns") or 0), int(job.get("end_ns") or 0)

    @cached_property
    def clocks(self) -> Clocks:
        """What brings the times of the tables to one clock."""
        return Clocks(self.profile.tables["processes"].to_pylist())

    @cached_property
    def nodes(self) -> list[str]:
        """Names of the nodes, sorted; their positions stand in the keys of node lanes."""
        tables = self.profile.tables
        found = set(tables["processes"]["node"].to_pylist())
        return sorted(found | set(tables["utilization"]["node"].to_pylist()))

    @cached_property
    def processes(self) -> list[dict[str, Any]]:
        """Rows of the processes table by node, rank and id."""
        rows: list[dict[str, Any]] = self.profile.tables["processes"].to_pylist()
        big = 2**31
        return sorted(
            rows,
            key=lambda p: (p["node"], big if p["rank"] is None else p["rank"], p["process_id"]),
        )

    @cached_property
    def _samples(self) -> Any:
        return read_table(self._store, SAMPLES, self.job)

    def samples(self, node: str) -> Any:
        """Return the metrics sampled on a node."""
        table = self._samples.filter(pc.equal(self._samples["node"], node))
        return shifted(table, ("time_ns",), self.clocks.of_node(node))

    @cached_property
    def steps(self) -> Any:
        """Rows of the table of steps."""
        table = self.profile.tables["step_summary"]
        return shifted(table, ("start_ns",), self.clocks.of_rows(table["process_id"]))

    def file(self, table: Table, process_id: int) -> GroupFile | None:
        """Return a process's file of a table; None if it has none."""
        with self._lock:
            key = (table.name, process_id)
            if key not in self._files:
                self._files[key] = self._open(table, process_id)
            return self._files[key]

    def _open(self, table: Table, process_id: int) -> GroupFile | None:
        if table.name not in self._keys:
            prefix = layout.table_prefix(table.name, self.job)
            self._keys[table.name] = {
                int(part[1:]): info.key
                for info in self._store.list_objects(prefix)
                if (part := info.key.removeprefix(prefix).removesuffix(".parquet"))[:1] == "p"
                and part[1:].isdigit()
            }
        object_key = self._keys[table.name].get(process_id)
        if object_key is None:
            return None
        path = self._store.local_file(object_key)
        levels = table is ln.LEVELS
        keys = ln.LEVEL_COLUMNS if levels else ln.PLACE_COLUMNS[ln.LANE_OF_TABLE[table]]
        category = "category" if table in (KERNELS, ln.LEVELS) else None
        return GroupFile(
            path,
            keys,
            self.names,
            self._cache,
            category=category,
            levels=levels,
            shift_ns=self.clocks.of_process(process_id),
        )

    def level_bins(self, process_id: int) -> list[int]:
        """Return the bins (ns) of a process's pyramid, finest first; empty if it has none."""
        bins: list[int] = self.kept(("bins", process_id), lambda: self._level_bins(process_id))
        return bins

    def _level_bins(self, process_id: int) -> list[int]:
        file = self.file(ln.LEVELS, process_id)
        limits = zip(*file.limits("bin_ns"), strict=True) if file is not None else ()
        known = [(low, high) for low, high in limits if low is not None]
        start, end = self._recorded
        return [
            bin_ns
            for bin_ns in level_bins(max(end - start, 1))
            if any(low <= bin_ns <= high for low, high in known)
        ]

    def lanes(self, process_id: int) -> list[Lane]:
        """Return the lanes of a process that have events, sorted by kind and place."""
        lanes: list[Lane] = self.kept(("lanes", process_id), lambda: self._find_lanes(process_id))
        return lanes

    @property
    def all_lanes(self) -> list[Lane]:
        """The lanes of all processes."""
        return [lane for p in self.processes for lane in self.lanes(p["process_id"])]

    def _find_lanes(self, process_id: int) -> list[Lane]:
        bins = self.level_bins(process_id)
        found = (
            self._lanes_of_level(process_id, bins[-1])
            if bins
            else self._lanes_of_events(process_id)
        )
        return sorted(found, key=lambda lane: (lane.kind, lane.place))

    def _lanes_of_level(self, process_id: int, bin_ns: int) -> list[Lane]:
        file = self.file(ln.LEVELS, process_id)
        assert file is not None
        found = set()
        for number in file.within("bin_ns", bin_ns, list(file.groups())):
            for bin_of, kind, device, stream, thread, depth in file.group(number).lanes:
                if bin_of == bin_ns:
                    place = tuple(v for v in (device, stream, thread, depth) if v is not None)
                    found.add(Lane(process_id, str(kind), place))
        return list(found)

    def _lanes_of_events(self, process_id: int) -> list[Lane]:
        found = set()
        for table, kind in ln.LANE_OF_TABLE.items():
            file = self.file(table, process_id)
            if file is None:
                continue
            columns = ln.PLACE_COLUMNS[kind]
            for number in file.groups():
                data = file.read(number, columns)
                for row in data.group_by(list(columns)).aggregate([]).to_pylist():
                    found.add(Lane(process_id, kind, tuple(row[name] for name in columns)))
        devices = {lane.place[0] for lane in found if lane.kind == ln.STREAM}
        return [*found, *(Lane(process_id, ln.DEVICE, (device,)) for device in devices)]

    def cost(self, process_id: int, tables: tuple[Table, ...], start: int, end: int) -> int:
        """Return how many rows must be decoded for a window of these tables (ns)."""
        total = 0
        for table in tables:
            file = self.file(table, process_id)
            if file is not None:
                total += file.rows_of(file.touching(start, end))
        return total

    def events(self, lane: Lane, start: int, end: int) -> Events:
        """Return the events of a lane that touch ``[start, end)`` ns, by start.

        An event touches if it overlaps the window, or is empty and lies in it. A device lane has
        the events of all its streams.
        """
        parts = [
            part
            for table in ln.EVENT_TABLES[lane.kind]
            for part in self._parts(table, lane, start, end)
        ]
        if not parts:
            return NO_EVENTS
        merged = Events(
            np.concatenate([p.start for p in parts]),
            np.concatenate([p.end for p in parts]),
            np.concatenate([p.name for p in parts]),
            np.concatenate([p.category for p in parts]),
        )
        return merged.take(np.lexsort((-merged.end, merged.start)))

    def _parts(self, table: Table, lane: Lane, start: int, end: int) -> Iterator[Events]:
        file = self.file(table, lane.owner)
        if file is None:
            return
        fixed = self._category_of(table)
        for number in file.touching(start, end):
            group = file.group(number)
            for first, last in _rows(group.lanes, lane):
                last = first + int(np.searchsorted(group.start[first:last], end))
                starts, ends = group.start[first:last], group.end[first:last]
                rows = first + np.flatnonzero((ends > start) | (starts >= start))
                if lane.kind == ln.DEVICE_COMM:
                    rows = rows[group.category[rows] == self.names.id_of("communication")]
                if len(rows):
                    category = group.category[rows]
                    if fixed is not None:
                        category = np.full(len(rows), fixed, np.int32)
                    yield Events(group.start[rows], group.end[rows], group.name[rows], category)

    def _category_of(self, table: Table) -> int | None:
        if table is KERNELS:
            return None
        host = table in (ANNOTATIONS, API_CALLS, OPERATORS)
        return self.names.id_of("host" if host else "memory")

    def utilization(self, resource: str, node: str, index: int) -> Any:
        """Return the rows of the utilisation table of a node's resource, by time."""
        table = self.profile.tables["utilization"]
        mask = pc.and_(
            pc.and_(pc.equal(table["resource"], resource), pc.equal(table["node"], node)),
            pc.equal(table["index"], pa.scalar(index, pa.int32())),
        )
        found = table.filter(mask).sort_by("bin_start_ns")
        return shifted(found, ("bin_start_ns",), self.clocks.of_node(node))


def _rows(found: dict[tuple[Any, ...], tuple[int, int]], lane: Lane) -> Iterator[tuple[int, int]]:
    """Yield the row ranges of a lane in a group of events."""
    if lane.kind in (ln.DEVICE, ln.DEVICE_COMM):
        for place, rows in found.items():
            if place[0] == lane.place[0]:
                yield rows
    elif lane.place in found:
        yield found[lane.place]
