"""What processing a job on AWS costs: measured seconds, list prices, and their product."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tracemill_schema.tables import TABLES

REGION = "us-east-1"
PRICES_OF = "2026-12"
"""Month for which the prices below were written down; look up the current ones of your region."""

USD_PER_GB_SECOND = 0.0000166667
USD_PER_CALL = 0.20 / 1e6
USD_PER_TRANSITION = 0.025 / 1e3
USD_PER_PUT = 0.005 / 1e3
USD_PER_GET = 0.0004 / 1e3
USD_PER_KEY_CALL = 0.03 / 1e4
USD_PER_TB_SCANNED = 5.0
USD_PER_GB_MONTH = 0.023

CONVERT_S_PER_MILLION = 2.5
AGGREGATE_WORKERS_S_PER_MILLION = 2.0
AGGREGATE_HERE_S_PER_MILLION = 0.43
REPORT_S = 0.3
"""CPU seconds of one core per million events, as ``benchmarks/aws_cost.py`` prints them: recordings
of simulated jobs on a shared 2-core machine. The larger of the measured sizes is taken. Of
Aggregate, what its workers do side by side, and what remains for the call itself."""
MIB_PER_VCPU = 1_769
TABLE_BYTES_PER_EVENT = 9.0
START_S = 2.0
"""Start of the container, libraries, first calls. Not measured: no account is at hand."""
CALL_LIMIT_S = 840
"""A function's call ends after this time (``infra/limits.py``)."""

_TRANSITIONS_PER_PROCESS = 3
_TRANSITIONS_PER_JOB = 8
_QUERY_SHARE = 0.05
"""Part of a job's tables that one question reads: few columns of few tables."""


@dataclass(frozen=True)
class Estimate:
    """Cost of one job in US dollars by what it is paid for, and what to know about it."""

    usd: dict[str, float]
    gb_seconds: dict[str, float]
    transitions: int
    table_gigabytes: float
    aggregate_s: float
    usd_per_query: float
    usd_per_month: float

    @property
    def total(self) -> float:
        """Processing of the job, once."""
        return sum(self.usd.values())

    @property
    def aggregate_fits(self) -> bool:
        """False if one call of Aggregate is expected to take longer than a call may."""
        return self.aggregate_s <= CALL_LIMIT_S


def function_memory_gib() -> dict[str, float]:
    """Memory of the functions, as the stacks set it."""
    sizes = json.loads(Path(__file__).with_name("function_sizes.json").read_text(encoding="utf-8"))
    return {name: mib / 1024 for name, mib in sizes.items()}


def _workers(memory_gib: dict[str, float], ranks: int) -> float:
    """Return how many processes Aggregate works on side by side."""
    return max(1.0, min(ranks, memory_gib["aggregate"] * 1024 / MIB_PER_VCPU))


def estimate(ranks: int, events_per_rank: int) -> Estimate:
    """Estimate one job; ``ranks`` processes with so many events each."""
    memory = function_memory_gib()
    million = events_per_rank / 1e6
    aggregate_s = START_S + million * ranks * (
        AGGREGATE_HERE_S_PER_MILLION + AGGREGATE_WORKERS_S_PER_MILLION / _workers(memory, ranks)
    )
    seconds = {
        "discover": START_S,
        "convert": ranks * (START_S + CONVERT_S_PER_MILLION * million),
        "aggregate": aggregate_s,
        "report": START_S + REPORT_S,
        "catalog": START_S,
    }
    gb_seconds = {name: memory[name] * s for name, s in seconds.items()}
    transitions = _TRANSITIONS_PER_PROCESS * ranks + _TRANSITIONS_PER_JOB
    # Per process: its event tables, its result; read again by Aggregate.
    puts = ranks * (len(TABLES) / 3 + 2) + len(TABLES)
    gets = 2 * puts
    gigabytes = TABLE_BYTES_PER_EVENT * events_per_rank * ranks / 1e9
    usd = {
        "Lambda: convert": gb_seconds["convert"] * USD_PER_GB_SECOND,
        "Lambda: aggregate": gb_seconds["aggregate"] * USD_PER_GB_SECOND,
        "Lambda: the rest": USD_PER_GB_SECOND
        * sum(gb_seconds[name] for name in ("discover", "report", "catalog"))
        + USD_PER_CALL * (ranks + 5),
        "Step Functions": transitions * USD_PER_TRANSITION,
        "S3 requests": puts * USD_PER_PUT + gets * USD_PER_GET,
        # With the bucket's own key S3 asks KMS once per session of a caller, not per object.
        "KMS requests": 2 * ranks * USD_PER_KEY_CALL,
    }
    return Estimate(
        usd,
        gb_seconds,
        transitions,
        gigabytes,
        aggregate_s,
        max(0.01, gigabytes * _QUERY_SHARE) / 1e3 * USD_PER_TB_SCANNED,
        gigabytes * USD_PER_GB_MONTH,
    )
