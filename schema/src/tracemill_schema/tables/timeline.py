"""The timeline pyramid: what a lane looks like from afar. One file per process."""

from __future__ import annotations

from tracemill_schema.columns import Role, Table, boolean, int32, int64, string

TIMELINE_LEVELS = Table(
    "timeline_levels",
    Role.AGGREGATE,
    "Lanes of the timeline at coarser and coarser bins. At each level an event of at least the bin's "
    "length is kept as it is; shorter ones are summed up in bins. Below the finest level read the "
    "event tables.",
    (
        int32("process_id", "number of the process within the job"),
        int32("rank", "global rank; null for a helper process", nullable=True),
        int64(
            "bin_ns",
            "length of the level's bins, a power of two; bins begin at multiples of it",
            "ns",
        ),
        string(
            "lane",
            "device (any GPU event), device_comm (communication), stream, annotation, operator, api",
        ),
        int32("device", "GPU index of a device or stream lane", nullable=True),
        int64("stream", "stream of a stream lane", nullable=True),
        int64("thread", "thread of a host lane", nullable=True),
        int32("depth", "level of nesting of a host lane", nullable=True),
        boolean("exact", "true for one event, false for a bin"),
        int64("start_ns", "start of the event or bin", "ns"),
        int64("dur_ns", "length of the event or bin", "ns"),
        int64("count", "events that start in it", "events"),
        int64(
            "busy_ns", "union of the shorter events within the bin; dur_ns of an exact one", "ns"
        ),
        string("name", "name of the event, or of the longest that starts in the bin"),
        string(
            "category", "of that event: compute, communication, memory; host; busy in device lanes"
        ),
    ),
    sort=("bin_ns", "lane", "device", "stream", "thread", "depth", "start_ns"),
)

TABLES: tuple[Table, ...] = (TIMELINE_LEVELS,)
