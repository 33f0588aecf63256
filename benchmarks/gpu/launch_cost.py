"""Time of one launch of an empty kernel, by what CUPTI records of it; prints one line of JSON.

python benchmarks/gpu/launch_cost.py [none | KIND[+KIND...]] [--launches N]

KIND is a number of CUPTI's activity kinds: 10 kernels, 5 runtime calls, 4 driver calls, 39 external
correlation, 17 overhead. Needs the driver and libcupti only; the kernel is PTX. The loop is
Python's, so the differences between the kinds say something, not the time alone.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import sys
import time
from ctypes.util import find_library
from typing import Any

BUFFER_BYTES = 1 << 20
ROUNDS = 15
PTX = b""".version 6.3
.target sm_75
.address_size 64
.visible .entry empty() { ret; }
"""
_REQUEST = ctypes.CFUNCTYPE(
    None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t),
    ctypes.POINTER(ctypes.c_size_t),
)  # fmt: skip
_COMPLETE = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t
)
_pool = [ctypes.create_string_buffer(BUFFER_BYTES) for _ in range(64)]
_free = [ctypes.addressof(buffer) for buffer in _pool]


@_REQUEST
def _request(buffer: Any, size: Any, records: Any) -> None:
    buffer[0] = _free.pop() if _free else None
    size[0] = BUFFER_BYTES if buffer[0] else 0
    records[0] = 0


@_COMPLETE
def _complete(_context: int, _stream: int, buffer: int, _size: int, _valid: int) -> None:
    _free.append(buffer)


def check(result: int, what: str) -> None:
    """End with a message if a call failed."""
    if result != 0:
        sys.exit(f"{what} failed: {result}")


def main() -> None:
    """Launch and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="?", default="none")
    parser.add_argument("--launches", type=int, default=20_000)
    arguments = parser.parse_args()
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        sys.exit(f"no driver of CUDA here: {error}")
    kinds = [] if arguments.kinds == "none" else [int(kind) for kind in arguments.kinds.split("+")]
    check(cuda.cuInit(0), "cuInit")
    context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    device = ctypes.c_int()
    check(cuda.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
    if kinds:
        cupti = ctypes.CDLL(find_library("cupti") or "libcupti.so")
        check(cupti.cuptiActivityRegisterCallbacks(_request, _complete), "register")
        for kind in kinds:
            check(cupti.cuptiActivityEnable(kind), f"enable {kind}")
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "context")
    check(cuda.cuCtxSetCurrent(context), "context")
    check(cuda.cuModuleLoadData(ctypes.byref(module), PTX), "module")
    check(cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"empty"), "function")
    launch = cuda.cuLaunchKernel
    one, zero, null = ctypes.c_uint(1), ctypes.c_uint(0), ctypes.c_void_p()
    call = (kernel, one, one, one, one, one, one, zero, null, null, null)
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        for _ in range(arguments.launches // ROUNDS):
            launch(*call)
        times.append((time.perf_counter_ns() - begin) / (arguments.launches // ROUNDS))
        check(cuda.cuCtxSynchronize(), "synchronize")
        if kinds:
            cupti.cuptiActivityFlushAll(0)
    print(json.dumps({"kinds": arguments.kinds, "launch_ns": statistics.median(times[1:])}))


if __name__ == "__main__":
    main()
