"""Turn a recorded job's raw segments into tables and report. Safe to repeat: same bytes again."""

from __future__ import annotations

import argparse

from tracemill_analysis.pipeline import process_job

from tracemill_cli.arguments import add_job, add_store, existing_store
from tracemill_cli.console import progress_bar
from tracemill_cli.outcome import tell

NAME = "process"
HELP = "turn a recording into tables and a report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_store(parser)
    add_job(parser)
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(options: argparse.Namespace) -> int:
    """Process and tell."""
    store = existing_store(options.store)
    with progress_bar(f"processing {options.job}") as progress:
        outcome = process_job(store, options.job, progress)
    tell(store, outcome, as_json=options.json)
    return 0
