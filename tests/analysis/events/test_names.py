from __future__ import annotations

import pytest
from tracemill_analysis.events import fold
from tracemill_analysis.events.names import collective_operation, host_sync_kind
from tracemill_analysis.importers.kineto.labels import memory_kind, sync_kind


@pytest.mark.parametrize(
    ("name", "series", "index"),
    [
        ("ProfilerStep#12", "ProfilerStep", 12),
        ("step_12", "step", 12),
        ("step_0", "step", 0),
        ("step12", "step12", None),
        ("a_b_3", "a_b", 3),
        ("_3", "_3", None),
        ("", "", None),
        ("Optimizer.step#SGD.step", "Optimizer.step#SGD.step", None),
        ("x_1234567890123456789", "x_1234567890123456789", None),
        ("two\nlines_4", "two\nlines", 4),
    ],
)
def test_fold(name: str, series: str, index: int | None) -> None:
    assert fold(name) == (series, index)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("cudaDeviceSynchronize", "device"),
        ("hipDeviceSynchronize", "device"),
        ("cuCtxSynchronize", "device"),
        ("cudaStreamSynchronize", "stream"),
        ("cudaEventSynchronize", "event"),
        ("synchronizeStream", "stream"),
        ("synchronize", "device"),
        ("cudaStreamWaitEvent", None),
        ("cudaMemcpyAsync", None),
    ],
)
def test_host_sync(call: str, kind: str | None) -> None:
    assert host_sync_kind(call) == kind


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long)", "all_reduce"),
        ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all_gather"),
        ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "reduce_scatter"),
        ("ncclKernel_Broadcast_RING_LL_Sum_int8_t", "broadcast"),
        ("ncclDevKernel_SendRecv", "send_recv"),
        ("ncclDevKernel_Reduce_Sum_f32_RING_LL", "reduce"),
        ("_allgather_base", "all_gather"),
        ("all_to_allv", "all_to_all"),
        ("ncclDevKernel_Generic", "other"),
    ],
)
def test_collective(name: str, operation: str) -> None:
    assert collective_operation(name) == operation


@pytest.mark.parametrize(
    ("name", "recorded", "expected"),
    [
        ("Memcpy HtoD (Pageable -> Device)", None, ("HtoD", "pageable", "device")),
        ("Memcpy DtoH (Device -> Pinned)", None, ("DtoH", "device", "pinned")),
        ("Memcpy PtoP (Device -> Device)", None, ("PtoP", "device", "device")),
        ("Memcpy HtoD (Host -> Device)", "HtoD", ("HtoD", "host", "device")),
        ("Memset (Device)", "Device", ("memset", None, "device")),
        ("CopyDeviceToHost", None, ("DtoH", "device", "host")),
        ("dma_request", "HOST_TO_DEVICE", ("HtoD", "host", "device")),
        ("Memcpy DtoA (Device -> Array)", None, ("other", "device", "array")),
        ("copy", None, ("other", None, None)),
    ],
)
def test_memory_kind(name: str, recorded: str | None, expected: tuple[str, str, str]) -> None:
    assert memory_kind(name, recorded) == expected


def test_sync_kind() -> None:
    labels = ("Stream Sync", "Event Sync", "Context Sync", "Stream Wait Event", "event_record", "?")
    kinds = ["stream", "event", "device", "stream_wait_event", "other", "other"]
    assert [sync_kind(label) for label in labels] == kinds
