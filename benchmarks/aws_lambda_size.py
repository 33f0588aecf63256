"""Memory, time and disk of each Lambda function on a rank of five million events.

    .venv/bin/python benchmarks/aws_lambda_size.py                    both kinds of recording
    .venv/bin/python benchmarks/aws_lambda_size.py --events 1000000   a smaller rank
    .venv/bin/python benchmarks/aws_lambda_size.py --kinds kineto

``kineto`` is a real PyTorch trace repeated with times and ids moved on, ``raw`` a simulated
recording, ``ranks`` a simulated job of 16 ranks that have as many events together. The functions'
own handlers run, each in a process of its own, over a folder instead of S3: fetching costs no CPU
to speak of, and its MiB are printed (``fetched`` has to fit on the function's disk). Of several
calls the largest is printed.
Seconds are CPU time, so that a shared machine blurs them little; Lambda gives one vCPU per
1,769 MiB. The limits stand in infra/limits.py.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import pyarrow.parquet as pq  # noqa: E402
from kineto_import import plain, repeat_events  # noqa: E402
from tracemill_schema.tables import events  # noqa: E402

from infra.limits import FUNCTION_LIMITS  # noqa: E402

JOB = "bench"
STEPS = ("discover", "convert", "aggregate", "report", "catalog")
TRACE = "traces/hta/trace_diff__control__control.json.gz"

_CHILD = """
import importlib, json, logging, os, re, sys, time
from pathlib import Path
from tracemill_analysis.store import LocalStore

class FolderStore(LocalStore):
    bucket = "bucket"
    fetched = {}
    def whole_key(self, key): return key
    def local_file(self, key):
        path = super().local_file(key)
        FolderStore.fetched[path] = path.stat().st_size
        return path
    def local_files(self, keys): return [self.local_file(key) for key in keys]

class Context:
    function_name = "bench"; memory_limit_in_mb = 0; aws_request_id = "0"
    invoked_function_arn = "arn:aws:lambda:eu-central-1:123456789012:function:bench"
    def get_remaining_time_in_millis(self): return 10**9

class Silent:
    def __getattr__(self, name): return lambda **_: {}

folder, step, event = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
os.environ.update(TRACEMILL_STORE_URI="s3://bucket", TRACEMILL_GLUE_DATABASE="tracemill",
                  AWS_DEFAULT_REGION="eu-central-1", POWERTOOLS_LOG_LEVEL="CRITICAL")
module = importlib.import_module(f"lambdas.{step}.handler")
module.open_store = lambda uri: FolderStore(folder)
module.client = lambda service: Silent()
if step == "discover":
    from lambdas.discover.training_job import TrainingJob
    module.describe = lambda *_: TrainingJob()
def peak_mib():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) / 1024
base, wall, cpu = peak_mib(), time.perf_counter(), time.process_time()
sys.stdout = open(os.devnull, "w")  # metrics
module.handler(event, Context())
sys.stdout = sys.__stdout__
print(json.dumps({"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu,
                  "base_mib": base, "peak_mib": peak_mib(),
                  "fetched_mib": sum(FolderStore.fetched.values()) / 2**20}))
"""


def main() -> int:
    arguments = _arguments()
    results: list[dict[str, Any]] = []
    print(
        f"{'recording':10} {'function':10} {'CPU s':>7} {'wall s':>7} {'base MiB':>9}"
        f" {'peak MiB':>9} {'fetched':>8} {'memory':>7} {'time':>5} {'disk':>6}"
    )
    for kind in arguments.kinds:
        with tempfile.TemporaryDirectory(prefix="tracemill-bench-", dir=arguments.folder) as folder:
            made = _MAKERS[kind](Path(folder), arguments.events)
            rows = [_measure(Path(folder), kind, step) for step in STEPS]
            kept = _rows(Path(folder))
            tables = sum(p.stat().st_size for p in Path(folder, "tables").rglob("*.parquet"))
            size = f"tables {tables / 2**20:,.0f} MiB"
            print(f"  {kind}: {made:,} events in, {kept:,} rows of events, {size}")
            results += rows
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--events", type=int, default=5_000_000, help="events of the rank")
    parser.add_argument("--kinds", nargs="+", choices=sorted(_MAKERS), default=sorted(_MAKERS))
    parser.add_argument("--folder", type=Path, help="where the gigabytes go for a while")
    parser.add_argument("--json", type=Path, help="write the figures here")
    return parser.parse_args()


def _kineto(folder: Path, count: int) -> int:
    """Repeat a real trace until it holds so many events."""
    shared = HERE.parents[1] / "shared"
    source = plain(shared / TRACE, folder)
    one = sum('"ph"' in line for line in source.read_text(encoding="utf-8").splitlines())
    times = -(-count // one)
    target = folder / "raw" / JOB / "profiler-output" / "rank0.json"
    target.parent.mkdir(parents=True)
    repeat_events(source, target, int(source.stat().st_size * times * 0.99))
    source.unlink()
    return one * times


def _raw(folder: Path, count: int, ranks: int = 1) -> int:
    """Simulate a job; a small one tells how many events a step has."""
    one = _simulate(folder / "small", ranks, 20) / 20
    shutil.rmtree(folder / "small")
    return _simulate(folder, ranks, round(count / one))


def _ranks(folder: Path, count: int) -> int:
    return _raw(folder, count, ranks=16)


def _simulate(folder: Path, ranks: int, steps: int) -> int:
    from tracemill_simulate import Settings, simulate

    return simulate(folder, Settings(JOB, "launch-bound", 1, ranks, steps, 0)).events


_MAKERS = {"kineto": _kineto, "raw": _raw, "ranks": _ranks}


def _measure(folder: Path, kind: str, step: str) -> dict[str, Any]:
    event: dict[str, Any] = {"job_name": JOB, "work": {}}
    events_in = [event]
    if step == "convert":
        items = (folder / "work" / f"job_name={JOB}" / "items.json").read_text()
        events_in = [{**event, "item": item} for item in json.loads(items)]
    calls = [_call(folder, kind, step, one) for one in events_in]
    found = {name: max(call[name] for call in calls) for name in calls[0]}
    limits = FUNCTION_LIMITS[step]
    print(
        f"{kind:10} {step:10} {found['cpu_s']:7.1f} {found['wall_s']:7.1f}"
        f" {found['base_mib']:9.0f} {found['peak_mib']:9.0f} {found['fetched_mib']:8.0f}"
        f" {limits.memory_mib:7} {limits.timeout_s:5} {limits.disk_mib:6}",
        flush=True,
    )
    return {"recording": kind, "function": step, **found}


def _call(folder: Path, kind: str, step: str, event: dict[str, Any]) -> dict[str, float]:
    command = [sys.executable, "-W", "ignore", "-c", _CHILD, str(folder), step, json.dumps(event)]
    done = subprocess.run(command, cwd=HERE.parent, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{kind} {step}: {done.stderr.strip()[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def _rows(folder: Path) -> int:
    return sum(
        pq.ParquetFile(path).metadata.num_rows
        for table in events.TABLES
        for path in folder.glob(f"tables/{table.name}/job_name={JOB}/*.parquet")
    )


if __name__ == "__main__":
    sys.exit(main())
