"""One process as Perfetto tracks: threads, GPU streams, synchronisations, counters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import BinaryIO

from tracemill_analysis.export.lanes import Lanes
from tracemill_analysis.export.packets import Argument, Packets
from tracemill_analysis.export.source import ProcessEvents
from tracemill_analysis.findings.tables import Row
from tracemill_analysis.report.names import clean

_FLOW_SHIFT = 40
"""Flow ids: the process above, the place of the run in its file below."""

_HOST_ARGUMENTS = ("correlation", "step", "module", "shapes")
_GPU_ARGUMENTS = (
    "correlation", "step", "bytes", "grid", "block", "registers", "shared_bytes", "graph_node",
)  # fmt: skip


class _Track:
    """A track and, where its slices overlap, more lanes below it."""

    def __init__(self, packets: Packets, key: str, uuid: int, name: str) -> None:
        self._packets, self._key, self._name = packets, key, name
        self._uuids = [uuid]
        self._lanes = Lanes()

    def slice(
        self, row: Row, columns: Sequence[str], flows: Sequence[int], end: int | None
    ) -> None:
        """Write the slice of a row, after the ends that come before it."""
        for lane, time_ns, begins in self._lanes.add(row["start_ns"], row["dur_ns"]):
            uuid = self._uuid(lane)
            if begins:
                arguments = _arguments(row, columns)
                self._packets.begin(
                    uuid, time_ns, row["name"], row["category"], arguments, flows, end
                )
            else:
                self._packets.end(uuid, time_ns)

    def close(self) -> None:
        """Write the ends of what is open."""
        for lane, time_ns, _ in self._lanes.close():
            self._packets.end(self._uuid(lane), time_ns)

    def _uuid(self, lane: int) -> int:
        if lane == len(self._uuids):
            name = f"{self._name} (overlapping, {lane + 1})"
            key = f"{self._key}/lane {lane}"
            self._uuids.append(self._packets.track(key, self._uuids[0], name))
        return self._uuids[lane]


class PerfettoProcess:
    """Writes one process; ``number`` (from 1) stands for its pid, which nodes may share."""

    def __init__(
        self,
        output: BinaryIO,
        job: str,
        process: Row,
        number: int,
        label: str,
        counts: Counter[str],
    ) -> None:
        self._counts = counts
        self._number = number
        self._flow_base = process["process_id"] << _FLOW_SHIFT
        self._key = f"process {process['process_id']}"
        self._packets = Packets(output, number, job)
        self._root = self._packets.process(self._key, number, clean(label))
        self._gpus: dict[int, int] = {}
        self._threads = 0

    def write(self, events: ProcessEvents) -> None:
        """Write all of its events."""
        self._slices(events.rows("host"), ("thread",), self._thread, _HOST_ARGUMENTS)
        self._slices(events.rows("runs"), ("device", "stream"), self._stream, _GPU_ARGUMENTS)
        self._slices(events.rows("syncs"), ("device", "stream"), self._sync, ("correlation",))
        self._samples(events.rows("samples"))

    def _slices(
        self,
        rows: Iterable[Row],
        key: Sequence[str],
        track_of: Callable[[Row], _Track],
        columns: Sequence[str],
    ) -> None:
        """Write rows that come track by track, each track in order of start."""
        place: Hashable = None
        track: _Track | None = None
        for row in rows:
            here = tuple(row[name] for name in key)
            if track is None or here != place:
                if track is not None:
                    track.close()
                place, track = here, track_of(row)
            flows = [self._flow_base + flow for flow in row.get("flows") or ()]
            flow = row.get("flow")
            track.slice(row, columns, flows, None if flow is None else self._flow_base + flow)
            self._counts[row["kind"]] += 1
            self._counts["flows"] += len(flows)
        if track is not None:
            track.close()

    def _thread(self, row: Row) -> _Track:
        self._threads += 1
        name = f"thread {row['thread']}"
        key = f"{self._key}/{name}"
        # Thread ids of the system may repeat between nodes and pass 32 bits: numbered instead.
        tid = self._number * 100_000 + self._threads
        uuid = self._packets.thread(key, self._root, self._number, tid, name)
        return _Track(self._packets, key, uuid, name)

    def _stream(self, row: Row) -> _Track:
        return self._below_gpu(row["device"], _place(row))

    def _sync(self, row: Row) -> _Track:
        name = _place(row) + " synchronisation"
        return self._below_gpu(row["device"], name)

    def _below_gpu(self, device: int | None, name: str) -> _Track:
        at = -1 if device is None else device
        if at not in self._gpus:
            title = "GPU" if device is None else f"GPU {device}"
            self._gpus[at] = self._packets.track(f"{self._key}/{title}", self._root, title)
        return self._below(self._gpus[at], name)

    def _below(self, parent: int, name: str) -> _Track:
        key = f"{self._key}/{name}"
        return _Track(self._packets, key, self._packets.track(key, parent, name), name)

    def _samples(self, rows: Iterable[Row]) -> None:
        tracks: dict[tuple[object, ...], int] = {}
        for row in rows:
            key = tuple(row[name] for name in ("node", "metric", "scope", "index"))
            if key not in tracks:
                name = row["metric"] + (
                    f" {row['scope']} {row['index']}" if row["index"] >= 0 else ""
                )
                path = f"{self._key}/counter/{key}"
                tracks[key] = self._packets.counter(path, self._root, clean(name), row["unit"])
            self._packets.value(tracks[key], row["time_ns"], row["value"])
            self._counts["samples"] += 1


def _place(row: Row) -> str:
    device = "GPU" if row["device"] is None else f"GPU {row['device']}"
    return f"{device}, all streams" if row["stream"] is None else f"{device} stream {row['stream']}"


def _arguments(row: Row, columns: Sequence[str]) -> list[tuple[str, Argument]]:
    """Return what a slice says beside its name; lists (grid, block) as ``8x1x1``."""
    found: list[tuple[str, Argument]] = []
    for name in columns:
        value = row[name]
        if value is not None:
            found.append((name, "x".join(map(str, value)) if isinstance(value, list) else value))
    return found
