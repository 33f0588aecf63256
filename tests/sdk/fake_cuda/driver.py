"""Drives the stand-ins from a script under test. The folder of the libraries is FAKE_CUDA."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from ctypes import c_char_p, c_int, c_int32, c_size_t, c_uint32, c_uint64
from pathlib import Path
from typing import Any

MEMCPY, MEMSET, DRIVER, RUNTIME, KERNEL, OVERHEAD, PEER, SYNC, GRAPH = (
    1,
    2,
    4,
    5,
    10,
    17,
    22,
    38,
    51,
)
LAUNCH_KERNEL, MEMCPY_ASYNC, MEMSET_ASYNC, DEVICE_SYNCHRONIZE, GET_DEVICE = 211, 41, 51, 165, 203
CU_LAUNCH_KERNEL = 307
HTOD = 0x030201
"""Copy kind, source and target memory as the bytes of a record: HtoD, pinned, device."""

_SIGNATURES: dict[str, list[Any]] = {
    "fake_version": [c_uint32],
    "fake_size": [c_uint32, c_uint32],
    "fake_fail": [c_char_p, c_int],
    "fake_calls": [c_char_p],
    "fake_enabled": [c_uint32],
    "fake_dropped": [c_size_t],
    "fake_block_flush": [c_int],
    "fake_kernel": [c_int, c_uint64, c_uint64, c_uint32, c_uint32, c_uint32, c_char_p]
    + [c_uint32 * 6, c_uint32, c_int32, c_int32, c_uint32, c_uint64],
    "fake_call": [c_int, c_uint32, c_uint32, c_uint64, c_uint64, c_uint32, c_uint32],
    "fake_copy": [c_int, c_uint32, c_uint64, c_uint64, c_uint32, c_uint32, c_uint32]
    + [c_uint32, c_uint64, c_uint32, c_uint32],
    "fake_set": [c_int, c_uint64, c_uint64, c_uint32, c_uint32, c_uint32]
    + [c_uint32, c_uint64, c_uint32, c_uint32],
    "fake_graph": [c_int, c_uint64, c_uint64, c_uint32, c_uint32, c_uint32, c_uint32, c_uint32],
    "fake_sync": [c_int, c_uint32, c_uint64, c_uint64, c_uint32, c_uint32, c_uint32],
    "fake_overhead": [c_int, c_uint32, c_uint32, c_uint32, c_uint64, c_uint64],
    "fake_launch_many": [c_int, c_uint32, c_uint64, c_uint64],
    "fake_launch_like_training": [c_uint32, c_uint32, c_uint64],
}


class Fakes:
    """The libraries, loaded as a framework would have them in the process."""

    def __init__(self, cupti: str = "libcupti.so.12", *, nvml: bool = False) -> None:
        folder = Path(os.environ["FAKE_CUDA"])
        self.cuda = ctypes.CDLL(str(folder / "libcuda.so.1"))
        self.cupti = ctypes.CDLL(str(folder / cupti)) if cupti else None
        self.nvml = ctypes.CDLL(str(folder / "libnvidia-ml.so.1")) if nvml else None
        for name, arguments in _SIGNATURES.items() if self.cupti else ():
            getattr(self.cupti, name).argtypes = arguments
        if self.cupti:
            self.cupti.fake_launch_like_training.restype = c_uint64

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return getattr(self.cupti, f"fake_{name}")  # type: ignore[no-any-return]

    def initialise_cuda(self) -> None:
        self.cuda.cuInit(0)

    def attach(self) -> None:
        """Initialise CUDA and wait until the recorder has attached and flushed once."""
        self.initialise_cuda()
        self.wait_for(lambda: self.calls(b"cuptiActivityFlushAll") > 0)

    def wait_for(self, condition: Callable[[], Any], seconds: float = 30.0) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "waited too long"
            time.sleep(0.002)

    def wait_flushes(self, count: int = 2) -> None:
        """Wait until the recorder has flushed ``count`` more times."""
        target = self.calls(b"cuptiActivityFlushAll") + count
        self.wait_for(lambda: self.calls(b"cuptiActivityFlushAll") >= target)

    def launch(
        self,
        start: int,
        end: int,
        *,
        lane: int = 0,
        device: int = 0,
        context: int = 1,
        stream: int = 7,
        name: bytes = b"gemm",
        shape: tuple[int, ...] = (4, 2, 1, 128, 1, 1),
        registers: int = 64,
        static: int = 1024,
        dynamic: int = 2048,
        correlation: int = 1,
        node: int = 0,
    ) -> None:
        self.kernel(
            lane, start, end, device, context, stream, name, (c_uint32 * 6)(*shape),
            registers, static, dynamic, correlation, node,
        )  # fmt: skip
