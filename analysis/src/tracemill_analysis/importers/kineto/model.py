"""The fields of a trace event that are used, as msgspec reads them."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct, field

Number = int | str | float | None
"""An integer as recorders write it: also as text, as float, or not at all."""

Text = str | int | float | None

ABSENT = Raw(b"")


class Args(Struct, gc=False):
    """``args`` of a complete event, over all vintages."""

    correlation: Number = None
    device: Number = None
    stream: Number = None
    bytes: Number = None
    size: Number = None
    kind: Text = None
    direction: Text = None
    grid: list[int] | str | None = None
    block: list[int] | str | None = None
    registers: Number = field(default=None, name="registers per thread")
    shared_bytes: Number = field(default=None, name="shared memory")
    graph_node: Number = field(default=None, name="graph node id")
    external_id: Number = field(default=None, name="External id")
    sync_kind: Text = field(default=None, name="cuda_sync_kind")
    shapes: Raw = field(default=ABSENT, name="Input Dims")
    module: Text = field(default=None, name="Module Hierarchy")
    collective: Text = field(default=None, name="Collective name")
    in_elements: Number = field(default=None, name="In msg nelems")
    out_elements: Number = field(default=None, name="Out msg nelems")
    dtype: Text = None
    group: Text = field(default=None, name="Process Group Name")
    group_size: Number = field(default=None, name="Group size")


NO_ARGS = Args()


class Complete(Struct, gc=False, tag_field="ph", tag="X"):
    """A complete event: something with a start and a duration. Times are decimal text."""

    name: str = ""
    cat: str = ""
    pid: Number = None
    tid: Number = None
    ts: Raw = ABSENT
    dur: Raw = ABSENT
    args: Args | None = None


def _unused(phase: str) -> Any:
    return msgspec.defstruct(
        f"Phase{ord(phase)}", [], tag_field="ph", tag=phase, gc=False, module=__name__
    )


_UNUSED_PHASES = "MstfBEbneiIRPCNODSTpFcvaV()"
_UNUSED = tuple(_unused(phase) for phase in _UNUSED_PHASES if phase != "X")
UNUSED = _UNUSED[0]()
"""Stands for an event of a kind that is not stored."""

_EVENT: Any = Complete
for _kind in _UNUSED:
    _EVENT = _EVENT | _kind

EVENTS_DECODER: msgspec.json.Decoder[list[Any]] = msgspec.json.Decoder(list[_EVENT])
"""Decodes an array of events."""
