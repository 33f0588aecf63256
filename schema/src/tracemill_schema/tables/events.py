"""Event tables: one file set per process, rows in time slices sorted by track and start."""

from __future__ import annotations

from tracemill_schema.columns import Column, Role, Table, double, int32, int64, string


def _process() -> tuple[Column, ...]:
    return (
        int32("process_id", "number of the process within the job"),
        int32("rank", "global rank; null for a helper process", nullable=True),
    )


def _span() -> tuple[Column, ...]:
    return (int64("start_ns", "start", "ns"), int64("dur_ns", "duration", "ns"))


def _launch() -> tuple[Column, ...]:
    return (
        int64("correlation", "correlation id, 64 bits as signed; null without one", nullable=True),
        int64("launch_start_ns", "start of the host call that launched it", "ns", nullable=True),
        int64("launch_dur_ns", "duration of that call", "ns", nullable=True),
        int64("launch_thread", "thread of that call", nullable=True),
        int64("step", "step the launch (or, unlinked, the start) falls in", nullable=True),
    )


KERNELS = Table(
    "kernels",
    Role.EVENT,
    "One row per kernel run.",
    (
        *_process(),
        int32("device", "GPU index"),
        int64("stream", "stream"),
        string("name", "kernel name"),
        string("category", "compute or communication"),
        string("precision", "data type as far as the name tells"),
        *_span(),
        *_launch(),
        int32("grid_x", "grid size", "blocks", nullable=True),
        int32("grid_y", "grid size", "blocks", nullable=True),
        int32("grid_z", "grid size", "blocks", nullable=True),
        int32("block_x", "block size", "threads", nullable=True),
        int32("block_y", "block size", "threads", nullable=True),
        int32("block_z", "block size", "threads", nullable=True),
        int32("registers", "registers per thread", "registers", nullable=True),
        int64("shared_bytes", "shared memory per block", "bytes", nullable=True),
        int64("graph_node", "CUDA-graph node", nullable=True),
    ),
    sort=("device", "stream", "start_ns"),
)

MEMORY_OPS = Table(
    "memory_ops",
    Role.EVENT,
    "One row per memory copy or memory set on a GPU.",
    (
        *_process(),
        int32("device", "GPU index"),
        int64("stream", "stream"),
        string("name", "name as recorded"),
        string("kind", "HtoD, DtoH, DtoD, PtoP, HtoH, memset, other"),
        string("src_kind", "pageable, pinned, device, …", nullable=True),
        string("dst_kind", "pageable, pinned, device, …", nullable=True),
        int64("bytes", "size", "bytes", nullable=True),
        *_span(),
        *_launch(),
    ),
    sort=("device", "stream", "start_ns"),
)

API_CALLS = Table(
    "api_calls",
    Role.EVENT,
    "One row per host call into the CUDA or ROCm runtime or driver.",
    (
        *_process(),
        int64("thread", "operating system thread id"),
        string("name", "name of the call"),
        string("api", "runtime or driver"),
        *_span(),
        int64("correlation", "correlation id, 64 bits as signed; null without one", nullable=True),
        int64("run_start_ns", "start of the first GPU event it launched", "ns", nullable=True),
        int64("step", "step it falls in", nullable=True),
    ),
    sort=("thread", "start_ns"),
)

SYNCS = Table(
    "syncs",
    Role.EVENT,
    "One row per synchronisation, seen from the host or the device.",
    (
        *_process(),
        string("side", "host or device"),
        string("kind", "device, stream, event, stream_wait_event or other"),
        string("name", "name as recorded"),
        int32("device", "GPU index", nullable=True),
        int64("stream", "stream", nullable=True),
        int64("thread", "thread of the call, host side", nullable=True),
        *_span(),
        int64("correlation", "correlation id, 64 bits as signed", nullable=True),
    ),
    sort=("side", "start_ns"),
)

ANNOTATIONS = Table(
    "annotations",
    Role.EVENT,
    "One row per user range. `<series>_<index>` names are folded.",
    (
        *_process(),
        int64("thread", "operating system thread id"),
        string("name", "name as given"),
        string("series", "name without its trailing number"),
        int64("index", "trailing number; null without one", nullable=True),
        int32("depth", "ranges open on the thread when it began", "levels"),
        *_span(),
        int64("gpu_start_ns", "start of its first GPU event", "ns", nullable=True),
        int64("gpu_dur_ns", "first start to last end of its GPU events", "ns", nullable=True),
    ),
    sort=("thread", "start_ns", "depth"),
)

OPERATORS = Table(
    "operators",
    Role.EVENT,
    "One row per framework operator (imports).",
    (
        *_process(),
        int64("thread", "operating system thread id"),
        string("name", "operator name"),
        string("category", "cpu_op or python_function, as the recorder named it"),
        int32("depth", "operators open on the thread when it began", "levels"),
        *_span(),
        string("module", "module it belongs to", nullable=True),
        string("shapes", "input shapes as JSON", nullable=True),
        int64("step", "step it falls in", nullable=True),
    ),
    sort=("thread", "start_ns", "depth"),
)

COLLECTIVES = Table(
    "collectives",
    Role.EVENT,
    "One row per collective operation on one rank.",
    (
        *_process(),
        int32("device", "GPU index"),
        int64("stream", "stream"),
        string("process_group", "communicator or process group", nullable=True),
        int64("sequence", "position in that group on this rank, from 0", "operations"),
        string("operation", "all_reduce, all_gather, …"),
        string("name", "kernel name"),
        int64("bytes", "message size on this rank", "bytes", nullable=True),
        string("dtype", "element type", nullable=True),
        int32("group_size", "ranks in the group", "ranks", nullable=True),
        *_span(),
        int64("step", "step it falls in", nullable=True),
    ),
    sort=("process_group", "sequence"),
)

SAMPLES = Table(
    "samples",
    Role.EVENT,
    "One row per sampled value.",
    (
        *_process(),
        string("node", "name of the node"),
        string("metric", "name of the metric"),
        string("unit", "unit of the value"),
        string("scope", "what index counts: node, process, cpu, gpu"),
        int32("index", "core or device; -1 for node and process metrics"),
        int64("time_ns", "time of the sample", "ns"),
        double("value", "value; cumulative metrics only grow"),
    ),
    sort=("metric", "index", "time_ns"),
)

TABLES: tuple[Table, ...] = (
    KERNELS,
    MEMORY_OPS,
    API_CALLS,
    SYNCS,
    ANNOTATIONS,
    OPERATORS,
    COLLECTIVES,
    SAMPLES,
)
