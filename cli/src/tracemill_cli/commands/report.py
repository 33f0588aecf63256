"""Print or save the report of a processed job."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tracemill_analysis.manifest import read_manifest
from tracemill_schema import layout
from tracemill_schema.errors import StoreError

from tracemill_cli.arguments import add_job, add_store, existing_store
from tracemill_cli.console import remark

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
    if options.output is None:
        sys.stdout.write(content.decode())
    else:
        path = Path(options.output).expanduser()
        try:
            path.write_bytes(content)
        except OSError as error:
            raise StoreError(f"{path}: cannot write the report: {error.strerror}") from error
        remark(f"report written to {path}")
    if manifest.job["completeness"] != "complete":
        remark(f"job {options.job} is partial: the report says what is missing")
    return 0
