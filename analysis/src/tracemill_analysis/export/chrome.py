"""One process as Chrome JSON in the layout of PyTorch's profiler, which Tracemill imports again.

Times are microseconds with three decimals, written as decimal text: nothing is rounded.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

from tracemill_schema.vocab import MemoryOpKind

from tracemill_analysis.export.source import ProcessEvents
from tracemill_analysis.findings.tables import Row
from tracemill_analysis.importers.kineto.categories import KIND_BY_CATEGORY, EventKind
from tracemill_analysis.importers.kineto.labels import message_bytes
from tracemill_analysis.importers.kineto.model import Args

_OPERATOR_KINDS = (EventKind.OPERATOR, EventKind.OLD_OPERATOR)
_KERNEL_ARGUMENTS = {"registers": "registers per thread", "shared_bytes": "shared memory",
                     "graph_node": "graph node id", "grid": "grid", "block": "block"}  # fmt: skip
_FLUSH_EVENTS = 4_096


class ChromeProcess:
    """Writes one process as a file of its own."""

    def __init__(self, output: BinaryIO, process: Row, label: str, counts: Counter[str]) -> None:
        self._write = output.write
        self._process = process
        self._label = label
        self._pid = process["pid"] or 0
        self._counts = counts

    def write(self, events: ProcessEvents) -> None:
        """Write the whole file."""
        self._write(self._head())
        separator = "\n"
        buffer: list[str] = []
        for event in self._events(events):
            buffer.append(event)
            if len(buffer) >= _FLUSH_EVENTS:
                self._write((separator + ",\n".join(buffer)).encode())
                buffer, separator = [], ",\n"
        if buffer:
            self._write((separator + ",\n".join(buffer)).encode())
        self._write(b"\n]}\n")

    def _head(self) -> bytes:
        facts: dict[str, Any] = {"schemaVersion": 1, "displayTimeUnit": "ms"}
        if self._process["rank"] is not None:
            facts["distributedInfo"] = {"rank": self._process["rank"]}
            if self._process["world_size"] is not None:
                facts["distributedInfo"]["world_size"] = self._process["world_size"]
        if self._process["device_name"]:
            devices = [int(n) for n in self._process["devices"].split(",") if n.isdecimal()]
            facts["deviceProperties"] = [
                {"id": n, "name": self._process["device_name"]} for n in devices or [0]
            ]
        return (json.dumps(facts)[:-1] + ', "traceEvents": [').encode()

    def _events(self, events: ProcessEvents) -> Iterator[str]:
        yield json.dumps({"ph": "M", "name": "process_name", "pid": self._pid, "tid": 0,
                          "args": {"name": self._label}})  # fmt: skip
        for row in events.rows("host"):
            yield from self._host(row)
        collectives = _Collectives(events.rows("collectives"))
        for row in events.rows("runs"):
            yield from self._run(row, collectives)
        for row in events.rows("syncs"):
            yield self._sync(row)

    def _host(self, row: Row) -> Iterator[str]:
        self._counts[row["kind"]] += 1
        arguments: dict[str, Any] = {}
        if row["kind"] == "annotations":
            category = "user_annotation"
        elif row["kind"] == "api_calls":
            category = f"cuda_{row['category']}"
            if row["correlation"] is not None:
                arguments["correlation"] = row["correlation"]
        else:
            known = KIND_BY_CATEGORY[row["category"]] in _OPERATOR_KINDS
            category = row["category"] if known else "cpu_op"
            if row["module"] is not None:
                arguments["Module Hierarchy"] = row["module"]
            if row["shapes"] is not None:
                arguments["Input Dims"] = _json_or_text(row["shapes"])
        yield self._slice(row, category, self._pid, row["thread"], arguments)
        for flow in row["flows"] or ():
            yield self._flow("s", flow, self._pid, row["thread"], row["start_ns"])
            self._counts["flows"] += 1

    def _run(self, row: Row, collectives: _Collectives) -> Iterator[str]:
        self._counts[row["kind"]] += 1
        arguments: dict[str, Any] = {"device": row["device"], "stream": row["stream"]}
        if row["correlation"] is not None:
            arguments["correlation"] = row["correlation"]
        if row["kind"] == "memory_ops":
            kind = row["category"]
            category = "gpu_memset" if kind == MemoryOpKind.MEMSET else "gpu_memcpy"
            arguments["kind"] = kind
            if row["bytes"] is not None:
                arguments["bytes"] = row["bytes"]
        else:
            category = "kernel"
            for column, name in _KERNEL_ARGUMENTS.items():
                if row[column] is not None:
                    arguments[name] = row[column]
            arguments.update(collectives.of(row))
        yield self._slice(row, category, row["device"], row["stream"], arguments)
        if row["flow"] is not None:
            yield self._flow("f", row["flow"], row["device"], row["stream"], row["start_ns"])

    def _sync(self, row: Row) -> str:
        self._counts["syncs"] += 1
        places = ("device", "stream", "correlation")
        arguments = {name: row[name] for name in places if row[name] is not None}
        arguments["cuda_sync_kind"] = row["name"]
        return self._slice(row, "cuda_sync", row["device"] or 0, row["stream"] or 0, arguments)

    @staticmethod
    def _slice(row: Row, category: str, pid: int, tid: int, arguments: dict[str, Any]) -> str:
        return (
            f'{{"ph": "X", "cat": {json.dumps(category)}, "name": {json.dumps(row["name"])}, '
            f'"pid": {pid}, "tid": {tid}, "ts": {microseconds(row["start_ns"])}, '
            f'"dur": {microseconds(row["dur_ns"])}, "args": {json.dumps(arguments)}}}'
        )

    @staticmethod
    def _flow(phase: str, flow: int, pid: int, tid: int, time_ns: int) -> str:
        binding = ', "bp": "e"' if phase == "f" else ""
        return (
            f'{{"ph": "{phase}", "id": {flow}, "cat": "ac2g", "name": "ac2g", "pid": {pid}, '
            f'"tid": {tid}, "ts": {microseconds(time_ns)}{binding}}}'
        )


class _Collectives:
    """Walks the collectives beside the runs, which come in the same order."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = iter(rows)
        self._next = next(self._rows, None)

    def of(self, run: Row) -> dict[str, Any]:
        """Return the arguments of the collective that a kernel is; empty for any other kernel."""
        row = self._next
        if row is None or any(row[name] != run[name] for name in _SAME):
            return {}
        self._next = next(self._rows, None)
        if row["process_group"] is None and row["dtype"] is None and row["group_size"] is None:
            return {}
        found = {"Collective name": row["operation"], "Process Group Name": row["process_group"],
                 "Group size": row["group_size"], "dtype": row["dtype"]}  # fmt: skip
        if row["bytes"] is not None:
            # Bytes as elements of one byte would lose the type: say how many of its elements.
            found["In msg nelems"] = row["bytes"] // element_bytes(row["dtype"])
        return {name: value for name, value in found.items() if value is not None}


_SAME: Sequence[str] = ("device", "stream", "start_ns", "dur_ns", "name")


def element_bytes(dtype: str | None) -> int:
    """Return the size of an element of a collective in bytes, as the importer reckons it; or 1."""
    return message_bytes(Args(in_elements=1, dtype=dtype)) or 1


def microseconds(ns: int) -> str:
    """Write nanoseconds as microseconds with three decimals, exactly."""
    whole, part = divmod(abs(ns), 1_000)
    return f"{'-' if ns < 0 else ''}{whole}.{part:03d}"


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
