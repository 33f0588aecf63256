"""Memory, time and disk of the Lambda functions, each with its reason; limits of the workflow."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FunctionLimits:
    """Limits of one Lambda function. A full vCPU comes with 1,769 MiB."""

    memory_mib: int
    timeout_s: int
    disk_mib: int
    reason: str


LONGEST_TIMEOUT_S = 840
"""Lambda ends a call after 900 s; a minute less lets the state machine see the time-out first."""

FUNCTION_LIMITS: dict[str, FunctionLimits] = {
    "starter": FunctionLimits(256, 30, 512, "one API call"),
    "reconciler": FunctionLimits(512, 300, 512, "lists jobs and keys, a page at a time"),
    "discover": FunctionLimits(
        1024, 300, 512, "lists one job's keys, reads the head of segments; 110 MiB measured"
    ),
    "convert": FunctionLimits(
        3072,
        LONGEST_TIMEOUT_S,
        4096,
        "1.3 GiB and 19 s of CPU for 5 million events of one process; its files go to disk, 1.5 GiB"
        " for as many events as uncompressed JSON",
    ),
    "aggregate": FunctionLimits(
        10_240,
        LONGEST_TIMEOUT_S,
        10_240,
        "one worker per vCPU, of which 10,240 MiB bring nearly six: 1.9 s of CPU per million"
        " events; a worker takes 1.3 GiB for a process of 5 million events, and there are as many"
        " as fit; fetches all event tables of a job",
    ),
    "report": FunctionLimits(
        4096, 600, 2048, "0.2 GiB and 0.4 s for 16 ranks; more with more ranks, and cheap anyhow"
    ),
    "catalog": FunctionLimits(512, 300, 512, "one partition per table"),
}
"""From ``benchmarks/aws_lambda_size.py``; docs/decisions tells why these."""

TASK_GRACE_S = 30
"""What a task may take longer than its function: start of the container, queueing."""
EXECUTION_TIMEOUT_S = 6 * 3600
"""A run is given up after this time; the slowest seen part is bounded by retries × time-out."""
MAX_ITEMS = 10_000
"""Processes of one job at most (the map's own result stays below the state's size limit)."""
EVENT_MAX_AGE_S = 6 * 3600
EVENT_RETRIES = 10
DEAD_LETTER_DAYS = 14
ATHENA_RESULT_DAYS = 7
INCOMPLETE_UPLOAD_DAYS = 2
OLD_VERSION_DAYS = 7
