"""Export a job's events for other viewers.

  tracemill export --store DIR --job NAME --format perfetto -o job.pftrace
  tracemill export --store DIR --job NAME --from 1.5s --to 1.8s --ranks 0,4-7 -o part.pftrace

perfetto: open the file at ui.perfetto.dev or with trace_processor. chrome: JSON that PyTorch's
tools read and `tracemill import` takes back; several ranks are written into a folder.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tracemill_analysis.export import EXPORT_FORMATS, export_job, select
from tracemill_analysis.manifest import read_manifest

from tracemill_cli.arguments import add_job, add_store, existing_store
from tracemill_cli.console import progress_bar, remark

NAME = "export"
HELP = "write events for other viewers"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_store(parser)
    add_job(parser)
    parser.add_argument("--format", choices=EXPORT_FORMATS, default="perfetto")
    parser.add_argument(
        "--from",
        dest="from_",
        metavar="TIME",
        help="from here: a table time in ns, or since the job's start with a unit (1.5s, 250ms)",
    )
    parser.add_argument("--to", metavar="TIME", help="up to here, written as for --from")
    parser.add_argument("--ranks", metavar="LIST", help="only these ranks, for example 0,4-7")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="file to write")


def run(options: argparse.Namespace) -> int:
    """Check the selection, export, say what was written."""
    store = existing_store(options.store)
    manifest = read_manifest(store, options.job)
    selection = select(
        store, options.job, from_=options.from_, until=options.to, ranks=options.ranks
    )
    path = Path(options.output).expanduser()
    with progress_bar(f"exporting {options.job}") as progress:
        exported = export_job(store, options.job, selection, path, options.format, progress)
    said = ", ".join(f"{name} {count:,}" for name, count in exported.counts.items())
    files = f"{len(exported.paths)} files in {path}" if len(exported.paths) > 1 else f"{path}"
    remark(f"exported to {files}: {said}")
    if manifest.job["completeness"] != "complete":
        remark(f"job {options.job} is partial: the report says what is missing")
    return 0
