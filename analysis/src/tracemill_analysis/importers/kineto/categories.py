"""What the categories of all Kineto vintages are."""

from __future__ import annotations

from enum import IntEnum


class EventKind(IntEnum):
    """Which table an event belongs to."""

    NOT_USED = 0
    UNKNOWN = 1
    KERNEL = 2
    MEMORY = 3
    RUNTIME = 4
    DRIVER = 5
    SYNC = 6
    ANNOTATION = 7
    GPU_ANNOTATION = 8
    OPERATOR = 9
    OLD_OPERATOR = 10
    """Operators and annotations under one category, as in 2021."""
    MTIA = 11
    """Anything on an MTIA device: kernels, transfers, waits."""


class _Kinds(dict[str, int]):
    def __missing__(self, _category: str) -> int:
        return EventKind.UNKNOWN


KIND_BY_CATEGORY = _Kinds(
    {
        "kernel": EventKind.KERNEL,
        "Kernel": EventKind.KERNEL,
        "concurrent_kernel": EventKind.KERNEL,
        "gpu_memcpy": EventKind.MEMORY,
        "Memcpy": EventKind.MEMORY,
        "gpu_memset": EventKind.MEMORY,
        "Memset": EventKind.MEMORY,
        "cuda_runtime": EventKind.RUNTIME,
        "Runtime": EventKind.RUNTIME,
        "hip_runtime": EventKind.RUNTIME,
        "xpu_runtime": EventKind.RUNTIME,
        "mtia_runtime": EventKind.RUNTIME,
        "glow_runtime": EventKind.RUNTIME,
        "privateuse1_runtime": EventKind.RUNTIME,
        "cuda_driver": EventKind.DRIVER,
        "hip_driver": EventKind.DRIVER,
        "xpu_driver": EventKind.DRIVER,
        "privateuse1_driver": EventKind.DRIVER,
        "cuda_sync": EventKind.SYNC,
        "xpu_sync": EventKind.SYNC,
        "hip_sync": EventKind.SYNC,
        "user_annotation": EventKind.ANNOTATION,
        "gpu_user_annotation": EventKind.GPU_ANNOTATION,
        "cpu_op": EventKind.OPERATOR,
        "python_function": EventKind.OPERATOR,
        "Operator": EventKind.OLD_OPERATOR,
        "mtia_ccp_events": EventKind.MTIA,
        "mtia_workloadd": EventKind.NOT_USED,
        "mtia_insight": EventKind.NOT_USED,
        "Trace": EventKind.NOT_USED,
        "overhead": EventKind.NOT_USED,
        "cuda_profiler_range": EventKind.NOT_USED,
        "cpu_instant_event": EventKind.NOT_USED,
        "collective_comm": EventKind.NOT_USED,
        "External": EventKind.NOT_USED,
    }
)
"""Kind by category; UNKNOWN for one that no profiler of PyTorch writes."""

_ANNOTATION_PREFIXES = (
    "ProfilerStep#",
    "enumerate(DataLoader)",
    "Optimizer.step#",
    "Optimizer.zero_grad#",
)


def is_annotation_name(name: str) -> bool:
    """Tell whether an event of the old common category is an annotation of the profiler."""
    return name.startswith(_ANNOTATION_PREFIXES)
