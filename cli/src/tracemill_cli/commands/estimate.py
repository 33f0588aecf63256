"""Estimate what processing a job costs on AWS, from measured seconds and list prices.

tracemill estimate --ranks 1000 --events 1000000
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from tracemill_schema.errors import UsageError

from tracemill_cli import costs
from tracemill_cli.console import remark

NAME = "estimate"
HELP = "what processing a job costs on AWS"
MOST = 10**12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("--ranks", type=int, required=True, metavar="N", help="recorded processes")
    parser.add_argument("--events", type=int, required=True, metavar="M", help="events per process")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the estimate."""
    for name, value in (("--ranks", options.ranks), ("--events", options.events)):
        if not 1 <= value <= MOST:
            raise UsageError(f"{name} {value}: take 1 to {MOST}")
    found = costs.estimate(options.ranks, options.events)
    if options.json:
        more = {"total_usd": found.total, "region": costs.REGION, "prices_of": costs.PRICES_OF}
        print(json.dumps({**asdict(found), **more}, indent=1))
    else:
        print("\n".join(_lines(found)))
    if not found.aggregate_fits:
        remark(
            f"one call of Aggregate would take {found.aggregate_s:,.0f} s and may take "
            f"{costs.CALL_LIMIT_S} s: a job of this size may not be finished on Lambda; record "
            "fewer steps, or process it with: tracemill process"
        )
    return 0


def _lines(found: costs.Estimate) -> list[str]:
    paid = sorted(found.usd.items(), key=lambda item: -item[1])
    return [
        *(f"{name:<20} {usd:10.4f} USD" for name, usd in paid),
        f"{'processing, once':<20} {found.total:10.4f} USD",
        f"{'tables, a month':<20} {found.usd_per_month:10.4f} USD ({found.table_gigabytes:.2f} GB)",
        f"{'a question':<20} {found.usd_per_query:10.6f} USD (Athena)",
        f"list prices of {costs.REGION}, {costs.PRICES_OF}; measured seconds: docs/aws-cost.md",
    ]
