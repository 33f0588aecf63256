"""Aggregates about waiting: in queues, for other ranks, and of an idle device for its host."""

from __future__ import annotations

from tracemill_schema.columns import Column, Role, Table, double, int32, int64, string

_RANK: tuple[Column, ...] = (
    int32("process_id", "number of the process within the job"),
    int32("rank", "global rank; null for a helper process", nullable=True),
    string("node", "name of the node"),
)
_DEVICE: tuple[Column, ...] = (*_RANK, int32("device", "GPU index"))

QUEUE_DEPTH = Table(
    "queue_depth",
    Role.AGGREGATE,
    "Launches that wait to run, by stream and time bin. A launch waits from the start of its call to "
    "the start of its first run. A bin in which none waits has no row.",
    (
        *_DEVICE,
        int64("stream", "stream"),
        int64("bin_start_ns", "start of the bin", "ns"),
        int64("bin_ns", "length of the bin", "ns"),
        int64("max_depth", "most that waited at one moment", "launches"),
        double("mean_depth", "waiting time summed over launches / bin_ns", "launches"),
    ),
    sort=("process_id", "device", "stream", "bin_start_ns"),
)

STRAGGLERS = Table(
    "stragglers",
    Role.AGGREGATE,
    "Ranks by order of arrival at collectives (start of their kernel). Only collectives that all "
    "ranks of a group took part in, in the same order, are judged. Arrivals are compared across "
    "clocks: see end_offset_ns and clock_spread_ns before trusting short waits.",
    (
        *_RANK,
        int64("collectives", "collectives judged", "collectives"),
        int64("last", "of these, how often this rank came last", "collectives"),
        int64("last_wait_ns", "waiting of all other ranks where this one came last", "ns"),
        int64(
            "caused_wait_ns",
            "time this rank came later than each rank before it, summed; ranks overlap",
            "ns",
        ),
        int64("suffered_wait_ns", "time from this rank's arrival to the last one's, summed", "ns"),
        int64("max_lateness_ns", "latest arrival after the first rank's", "ns"),
        int64(
            "end_offset_ns",
            "median of own end - median end of all ranks; ends should agree, so this hints at a clock error",
            "ns",
        ),
        int64("clock_spread_ns", "spread of the clock readings of the rank", "ns", nullable=True),
    ),
    sort=("process_id",),
)

IDLE_CAUSES = Table(
    "idle_causes",
    Role.AGGREGATE,
    "Why a device was idle within its all_gpu window, by rule; the causes add up to idle_ns of "
    "time_breakdown. Rules: docs/definitions.md.",
    (
        *_DEVICE,
        string("cause", "host_bound, launch_bound, sync, input_wait, communication_wait, other"),
        int64("idle_ns", "idle time of this cause", "ns"),
        int64("gaps", "gaps it has a part in", "gaps"),
        int64("longest_ns", "longest part of one gap", "ns"),
        double("share_of_idle", "idle_ns / idle time of the device", "0..1"),
        double("share_of_window", "idle_ns / window_ns", "0..1"),
    ),
    sort=("process_id", "device", "cause"),
)

TABLES: tuple[Table, ...] = (QUEUE_DEPTH, STRAGGLERS, IDLE_CAUSES)
