"""Compare two jobs of a store: step time, GPU time, kernels by name, findings gained and lost.

  tracemill compare --store DIR baseline faster
  tracemill compare --store DIR baseline faster --format html -o compare.html

Every difference is B - A. What the figures mean: docs/compare.md.
"""

from __future__ import annotations

import argparse

from tracemill_analysis.compare import COMPARISON_FORMATS, compare_jobs, render
from tracemill_schema.errors import StoreBusyError, StoreError, UsageError

from tracemill_cli.arguments import add_store, existing_store
from tracemill_cli.console import write_result

NAME = "compare"
HELP = "compare two jobs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("a", metavar="A", help="job to compare with")
    parser.add_argument("b", metavar="B", help="job that is compared")
    add_store(parser)
    parser.add_argument("--format", choices=COMPARISON_FORMATS, default="table")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to this file, not to stdout")


def run(options: argparse.Namespace) -> int:
    """Compare and write; a job or store that is not there is wrong usage (exit code 2)."""
    try:
        comparison = compare_jobs(existing_store(options.store), options.a, options.b)
    except StoreBusyError:
        raise
    except StoreError as error:
        raise UsageError(str(error)) from error
    write_result(render(comparison, options.format).encode(), options.output, "comparison")
    return 0
