"""Make the recording of a multi-node training job that never ran, with the truth beside it.

  tracemill simulate --scenario straggler --store DIR --job NAME
  tracemill process --store DIR --job NAME

The raw segments are written by the recorder's own writer; raw/job_name=NAME/truth.json says what
every number must be. Reports and app label such a job simulated. Same arguments, same bytes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tracemill_schema.errors import TracemillError, UsageError

from tracemill_cli.arguments import add_job, add_store
from tracemill_cli.console import progress_bar, remark

NAME = "simulate"
HELP = "make the recording of a job that never ran, with the truth beside it"

SCENARIOS = ("healthy", "input-bound", "launch-bound", "comm-bound", "straggler", "mixed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_store(parser)
    add_job(parser)
    parser.add_argument("--scenario", choices=SCENARIOS, required=True, help="what is wrong")
    parser.add_argument("--nodes", metavar="N", type=int, default=2, help="default: 2")
    parser.add_argument("--gpus", metavar="G", type=int, default=8, help="per node; default: 8")
    parser.add_argument("--steps", metavar="S", type=int, default=50, help="default: 50")
    parser.add_argument("--seed", metavar="K", type=int, default=0, help="default: 0")
    parser.add_argument("--replace", action="store_true", help="remove recordings of that job")


def run(options: argparse.Namespace) -> int:
    """Simulate and say what was written."""
    try:
        # Not at the top: the other verbs run where there is no recorder.
        from tracemill_simulate import Settings, simulate
    except ImportError as error:
        raise TracemillError(
            f"the simulator is not installed ({error}): pip install tracemill-simulate"
        ) from error
    if "://" in options.store:
        raise UsageError(f"--store {options.store}: the simulator writes to a folder")
    settings = Settings(
        options.job, options.scenario, options.nodes, options.gpus, options.steps, options.seed
    )
    store = Path(options.store).expanduser()
    with progress_bar(f"simulating {options.job}") as progress:
        made = simulate(store, settings, replace=options.replace, progress=progress)
    remark(
        f"simulated {made.processes} processes, {made.events:,} events, {made.size_bytes:,} bytes"
    )
    remark(f"truth: {made.truth_path}")
    remark(f"next: tracemill process --store {options.store} --job {options.job}")
    return 0
