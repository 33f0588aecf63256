"""After `cdk deploy`: does the system work? Uploads a tiny recording, sends a training job's event
to the starter, waits for the report and says what failed. Removes what it wrote.

  tracemill deploy-check --store s3://tracemill-ACCOUNT-REGION
"""

from __future__ import annotations

import argparse
import time
from importlib.metadata import entry_points

from tracemill_schema.errors import TracemillError, UsageError

from tracemill_cli.arguments import add_store

NAME = "deploy-check"
HELP = "does the system deployed on AWS work?"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_store(parser)
    parser.add_argument(
        "--name", default="tracemill", help="`name` given to cdk deploy (tracemill)"
    )
    parser.add_argument("--region", help="default: that of the AWS configuration")
    parser.add_argument("--job", help="name to use; default: tracemill-check- and the time")
    parser.add_argument("--timeout", type=float, default=600, metavar="S", help="seconds (600)")
    parser.add_argument("--keep", action="store_true", help="leave the profile in the store")


def run(options: argparse.Namespace) -> int:
    """Find the check by its entry point and run it."""
    if not options.store.startswith("s3://"):
        raise UsageError(f"--store {options.store}: a deployed system has its store in s3://")
    checks = entry_points(group="tracemill.checks", name="deployed")
    if not checks:
        raise TracemillError("the check is not installed: pip install tracemill-s3")
    job = options.job or f"tracemill-check-{time.time_ns() // 1_000_000_000}"
    (check,) = checks
    check.load()(
        options.store,
        options.name,
        options.region,
        job,
        timeout_s=options.timeout,
        tell=print,
        keep=options.keep,
    )
    print("the deployed system works")
    return 0
