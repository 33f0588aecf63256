"""What the names of host calls and communication kernels say."""

from __future__ import annotations

import re
from functools import lru_cache

_HOST_SYNC = re.compile(r"(Device|Ctx|Context|Stream|Event)_?Synchronize|^synchronize(Stream)?$")
_SYNC_KIND = {"Device": "device", "Ctx": "device", "Context": "device"}

_OPERATIONS = (
    (re.compile(r"allreduce"), "all_reduce"),
    (re.compile(r"allgather"), "all_gather"),
    (re.compile(r"reducescatter"), "reduce_scatter"),
    (re.compile(r"alltoall"), "all_to_all"),
    (re.compile(r"broadcast|bcast"), "broadcast"),
    (re.compile(r"sendrecv|send|recv"), "send_recv"),
    (re.compile(r"barrier"), "barrier"),
    (re.compile(r"reduce"), "reduce"),
    (re.compile(r"gather"), "gather"),
    (re.compile(r"scatter"), "scatter"),
)


@lru_cache(maxsize=4096)
def host_sync_kind(call: str) -> str | None:
    """Return device, stream or event if the host call waits for one, else None."""
    match = _HOST_SYNC.search(call)
    if match is None:
        return None
    if match.group(1) is None:
        return "stream" if match.group(2) else "device"
    return _SYNC_KIND.get(match.group(1), match.group(1).lower())


@lru_cache(maxsize=4096)
def collective_operation(name: str) -> str:
    """Return the operation (``all_reduce`` …, else ``other``) of a collective or its kernel.

    >>> collective_operation("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)")
    'all_reduce'
    >>> collective_operation("_reduce_scatter_base")
    'reduce_scatter'
    """
    plain = re.sub(r"[^a-z]", "", name.split("(")[0].lower())
    return next((word for rule, word in _OPERATIONS if rule.search(plain)), "other")
