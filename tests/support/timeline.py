"""A job of two ranks whose timeline has everything: steps, operators, launches, copies, NCCL."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from tracemill_analysis.pipeline import import_traces
from tracemill_analysis.store import LocalStore

from tests.support import kineto

JOB = "two-ranks"
STEPS = 8
STEP_US = 40_000
KERNELS_PER_STEP = 190
THREAD = 7
STREAM, COMM_STREAM = 7, 20
MARKUP = "<img src=x onerror=alert(1)>" + "n" * 4_972
KERNEL_NAMES = ("gemm_128x64", "void at::native::relu<float>(int)", MARKUP)


def memcpy(correlation: int, ts: int, device: int) -> dict[str, Any]:
    """A copy to the device."""
    where = {"device": device, "stream": STREAM, "correlation": correlation, "bytes": 4096}
    name = "Memcpy HtoD (Pinned -> Device)"
    return {"ph": "X", "cat": "gpu_memcpy", "name": name, "ts": ts, "dur": 9, "pid": device,
            "tid": STREAM, "args": where}  # fmt: skip


def step_events(rank: int, step: int, random_: random.Random) -> list[dict[str, Any]]:
    """One step: an annotation, phases, and kernels that are launched one after the other."""
    begin = step * STEP_US + rank * 100
    events = [
        kineto.event("user_annotation", f"ProfilerStep#{step}", begin, STEP_US - 500),
        kineto.event("user_annotation", "Forward", begin + 100, 15_000),
        kineto.event("user_annotation", "Backward", begin + 16_000, 20_000),
    ]
    copy = step * 1_000 + 900
    events += [
        kineto.event("cuda_runtime", "cudaMemcpyAsync", begin + 120, 3, correlation=copy),
        memcpy(copy, begin + 130, rank),
    ]
    at, free = begin + 200, begin + 210
    for number in range(KERNELS_PER_STEP):
        correlation = step * 1_000 + number + 1
        length = random_.choice((3, 20, 150))
        comm = number % 25 == 24
        name = "ncclDevKernel_AllReduce_Sum_f32" if comm else KERNEL_NAMES[number % 3]
        stream = COMM_STREAM if comm else STREAM
        events += [
            kineto.event("cpu_op", "aten::mm", at - 5, 20),
            kineto.launch(correlation, at, dur=4),
            kineto.kernel(correlation, free, dur=length, name=name, stream=stream, device=rank),
        ]
        at += 200
        free = max(free + length, at + random_.choice((6, 60)))
    return events


def write_traces(folder: Path) -> None:
    """Write a trace per rank."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank in range(2):
        random_ = random.Random(rank)
        events = [one for step in range(STEPS) for one in step_events(rank, step, random_)]
        facts = {"distributedInfo": {"rank": rank, "world_size": 2}, "baseTimeNanoseconds": 0}
        (folder / f"rank{rank}.json").write_bytes(kineto.trace_text(events, **facts))


def write_job(store: LocalStore, folder: Path, name: str = JOB) -> None:
    """Import the traces as a job."""
    write_traces(folder)
    import_traces(store, name, [folder])
