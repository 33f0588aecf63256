"""Import traces of PyTorch (Kineto JSON, plain or .gz) as one job and process it.

Several files, or a folder of them, are the ranks of one job. Files that cannot be read are named on
stderr and left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tracemill_analysis.pipeline import import_traces
from tracemill_analysis.store import open_store
from tracemill_schema.errors import InputError
from tracemill_schema.layout import safe_name

from tracemill_cli.arguments import add_job, add_store
from tracemill_cli.console import progress_bar
from tracemill_cli.outcome import tell

NAME = "import"
HELP = "import traces of other tools and process them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="trace file or folder of them")
    add_store(parser)
    add_job(parser, required=False, help_="name of the job; default: after the first path")
    parser.add_argument("--replace", action="store_true", help="overwrite a job of the same name")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(options: argparse.Namespace) -> int:
    """Import, process, tell."""
    paths = [Path(path).expanduser() for path in options.paths]
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: no such file or folder")
    job = options.job or default_job_name(paths[0])
    store = open_store(options.store)
    with progress_bar(f"importing {job}") as progress:
        outcome = import_traces(store, job, paths, replace=options.replace, progress=progress)
    tell(store, outcome, as_json=options.json)
    return 0


def default_job_name(path: Path) -> str:
    """Name a job after a file or folder, without the suffixes of trace files."""
    name = path.resolve().name
    for suffix in (".gz", ".json", ".trace", ".pt"):
        name = name.removesuffix(suffix)
    return safe_name(name)
