"""Print or save the report of a processed job."""

from __future__ import annotations

import argparse

from tracemill_analysis.manifest import read_manifest
from tracemill_schema import layout

from tracemill_cli.arguments import add_job, add_store, existing_store
from tracemill_cli.console import remark, write_result

NAME = "report"
HELP = "print or save a job's report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_store(parser)
    add_job(parser)
    parser.add_argument("--format", choices=layout.REPORT_FORMATS, default="txt")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to this file, not to stdout")


def run(options: argparse.Namespace) -> int:
    """Hand out the stored report."""
    store = existing_store(options.store)
    manifest = read_manifest(store, options.job)
    content = store.read_bytes(layout.report_key(options.job, options.format))
    write_result(content, options.output, "report")
    if manifest.job["completeness"] != "complete":
        remark(f"job {options.job} is partial: the report says what is missing")
    return 0
