"""CPU seconds of the pipeline's steps per million events: what docs/aws-cost.md is reckoned from.

    python benchmarks/aws_cost.py [--json FILE]

Simulated jobs of several sizes are recorded, then processed step by step as the Lambda functions
do, in one process. CPU time, not time on the clock: other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tracemill_analysis.pipeline.assemble import assemble, job_facts
from tracemill_analysis.pipeline.convert import convert_item
from tracemill_analysis.pipeline.finish import begin, finish
from tracemill_analysis.pipeline.plan import plan_recorded
from tracemill_analysis.store import LocalStore
from tracemill_schema import layout

SIZES = ((4, 300), (16, 300), (4, 3_000))
"""GPUs and steps; 338 events per GPU and step."""
JOB = "cost"


def cpu_s(who: int) -> float:
    """CPU seconds of this process, or of its ended children, so far."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def timed(call: Callable[[], Any]) -> tuple[Any, float, float]:
    """Result of a call, its CPU seconds here and those of its workers."""
    here, workers = cpu_s(resource.RUSAGE_SELF), cpu_s(resource.RUSAGE_CHILDREN)
    result = call()
    return (
        result,
        cpu_s(resource.RUSAGE_SELF) - here,
        cpu_s(resource.RUSAGE_CHILDREN) - workers,
    )


def measure(folder: Path, gpus: int, steps: int) -> dict[str, float]:
    """Record and process one job."""
    command = [sys.executable, "-m", "tracemill_cli.main", "simulate", "--scenario", "healthy"]
    command += ["--store", str(folder), "--job", JOB, "--nodes", "1"]
    command += ["--gpus", str(gpus), "--steps", str(steps)]
    subprocess.run(command, check=True, capture_output=True)
    store = LocalStore(folder)
    plan = plan_recorded(store, JOB)
    begin(store, JOB)
    results, convert, _ = timed(lambda: [convert_item(store, JOB, item) for item in plan.items])
    _, serial, workers = timed(lambda: assemble(store, plan, results, lambda *_: None))
    outcome, finished, _ = timed(lambda: finish(store, JOB, job_facts(plan, results)))
    events = outcome.manifest.job["events_kept"]
    tables = sum(info.size_bytes for info in store.list_objects(layout.TABLES_PREFIX))
    return {
        "gpus": gpus,
        "events": events,
        "convert_s_per_million": 1e6 * convert / events,
        "assemble_here_s_per_million": 1e6 * serial / events,
        "assemble_workers_s_per_million": 1e6 * workers / events,
        "finish_s": finished,
        "table_bytes_per_event": tables / events,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }


def main() -> int:
    """Measure all sizes and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for gpus, steps in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measure(Path(folder), gpus, steps))
    print("  ".join(rows[0]))
    for row in rows:
        print("  ".join(f"{row[name]:>{len(name)}.4g}" for name in row))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
