"""Lanes: one row of marks each, named by a key that stays the same from day to day.

3.stream.0.7          process 3, GPU 0, stream 7
3.annotation.4711.1   process 3, thread 4711, nesting level 1
n0.gpus               first node: mean over its GPUs
n0.cpu.-1             first node: mean over its cores (or the core with that number)
n0.counter.5          first node: its sixth sampled metric
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tracemill_schema.columns import Table
from tracemill_schema.tables.events import ANNOTATIONS, API_CALLS, KERNELS, MEMORY_OPS, OPERATORS
from tracemill_schema.tables.timeline import TIMELINE_LEVELS

from tracemill_ui.errors import ApiError

MAX_LANES = 400

DEVICE, DEVICE_COMM = "device", "device_comm"
STREAM, ANNOTATION, OPERATOR, API = "stream", "annotation", "operator", "api"
GPUS, CPU, COUNTER = "gpus", "cpu", "counter"

PLACE_COLUMNS: dict[str, tuple[str, ...]] = {
    DEVICE: ("device",),
    DEVICE_COMM: ("device",),
    STREAM: ("device", "stream"),
    ANNOTATION: ("thread", "depth"),
    OPERATOR: ("thread", "depth"),
    API: ("thread",),
}
"""Which columns of the tables tell the lanes of a kind apart."""

EVENT_TABLES: dict[str, tuple[Table, ...]] = {
    DEVICE: (KERNELS, MEMORY_OPS),
    DEVICE_COMM: (KERNELS,),
    STREAM: (KERNELS, MEMORY_OPS),
    ANNOTATION: (ANNOTATIONS,),
    OPERATOR: (OPERATORS,),
    API: (API_CALLS,),
}

LANE_OF_TABLE: dict[Table, str] = {
    KERNELS: STREAM,
    MEMORY_OPS: STREAM,
    ANNOTATIONS: ANNOTATION,
    OPERATORS: OPERATOR,
    API_CALLS: API,
}
"""The kind of lane an event of a table is drawn in."""

LEVEL_COLUMNS = ("bin_ns", "lane", "device", "stream", "thread", "depth")
LEVELS = TIMELINE_LEVELS

_KEY = re.compile(r"(n?)(\d{1,9})\.([a-z_]{1,12})((?:\.-?\d{1,19}){0,2})")
_NODE_KINDS = {GPUS: 0, CPU: 1, COUNTER: 1}


@dataclass(frozen=True)
class Lane:
    """One lane. ``owner`` is a process id, or a position in the list of nodes if ``of_node``."""

    owner: int
    kind: str
    place: tuple[int, ...] = ()
    of_node: bool = False

    @property
    def key(self) -> str:
        """The lane's name in addresses."""
        owner = f"n{self.owner}" if self.of_node else str(self.owner)
        return ".".join((owner, self.kind, *map(str, self.place)))


def parse_lane(key: str) -> Lane:
    """Read a key; ApiError (400) if it is none."""
    match = _KEY.fullmatch(key)
    if match is not None:
        of_node, owner, kind, rest = match.groups()
        place = tuple(int(part) for part in rest.split(".")[1:])
        kinds = _NODE_KINDS if of_node else {k: len(v) for k, v in PLACE_COLUMNS.items()}
        if kinds.get(kind) == len(place) and all(abs(value) < 2**63 for value in place):
            return Lane(int(owner), kind, place, bool(of_node))
    raise ApiError(400, f"{key[:60]!r} is no lane.", "Take lanes from the timeline's meta answer.")


def parse_lanes(text: str) -> list[Lane]:
    """Read comma-separated keys; ApiError (400) if there are none or too many."""
    keys = list(dict.fromkeys(part for part in text.split(",") if part))
    if not 0 < len(keys) <= MAX_LANES:
        raise ApiError(400, "Which lanes?", f"Name 1 to {MAX_LANES} with ?lanes=a,b.")
    return [parse_lane(key) for key in keys]
