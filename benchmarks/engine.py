"""The engine: recordings to tables, tables to aggregates and pyramid, and how both grow.

    .venv/bin/python benchmarks/engine.py                        1 and 4 million events
    .venv/bin/python benchmarks/engine.py --millions 1 10 100    other sizes
    .venv/bin/python benchmarks/engine.py --no-peer

A simulated recording of one process (the recorder's own writer) is converted to event tables, then
aggregated; each step in a process of its own. Rates count all rows of the event tables. Then a real
trace: Tracemill's aggregates (all of them, with the pyramid) beside the analyses of
HolisticTraceAnalysis that have a counterpart, each on its own loaded form of the same file.
TraceLens is not on the package index (another project has its name), so it is not measured here.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import kineto_import

HERE = Path(__file__).resolve().parent
JOB = "bench"

_HEAD = """
import json, re, sys, time
from pathlib import Path
def peak_mb():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) / 1024
def report(wall, cpu, **more):
    print(json.dumps({"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu,
                      "peak_mb": peak_mb(), **more}))
"""
_SIMULATE = (
    _HEAD
    + """
from tracemill_simulate import Settings, simulate
store, events = Path(sys.argv[1]), int(sys.argv[2])
def made(steps):
    return simulate(store, Settings("bench", "healthy", 1, 1, steps), replace=True)
wall, cpu = time.perf_counter(), time.process_time()
per_step = made(20).events / 20
found = made(max(1, round(events / per_step)))
report(wall, cpu, events=found.events, size_bytes=found.size_bytes)
"""
)
_CONVERT = (
    _HEAD
    + """
from tracemill_analysis.pipeline import assemble
from tracemill_analysis.pipeline.convert import convert_item
from tracemill_analysis.pipeline.plan import plan_recorded, plan_traces
from tracemill_analysis.store import LocalStore
store, job = LocalStore(sys.argv[1]), "bench"
plan = plan_traces(job, [Path(sys.argv[2])]) if len(sys.argv) > 2 else plan_recorded(store, job)
wall, cpu = time.perf_counter(), time.process_time()
results = [convert_item(store, job, item) for item in plan.items]
wall, cpu = wall - time.perf_counter(), cpu - time.process_time()
assemble.aggregates.build = lambda *_: None  # timed by itself, in a process of its own
assemble.assemble(store, plan, results)
report(time.perf_counter() + wall, time.process_time() + cpu,
       events=sum(result.process.events_kept for result in results))
"""
)
_AGGREGATE = (
    _HEAD
    + """
from tracemill_analysis import aggregates
from tracemill_analysis.store import LocalStore
import numpy.ma
wall, cpu = time.perf_counter(), time.process_time()
aggregates.build(LocalStore(sys.argv[1]), "bench")
report(wall, cpu)
"""
)
_HTA = (
    _HEAD
    + """
import logging
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="")
wall, cpu = time.perf_counter(), time.process_time()
analysis.get_temporal_breakdown(visualize=False)
analysis.get_gpu_kernel_breakdown(visualize=False)
analysis.get_comm_comp_overlap(visualize=False)
analysis.get_idle_time_breakdown(visualize=False)
analysis.get_cuda_kernel_launch_stats(visualize=False)
analysis.get_queue_length_summary()
analysis.get_memory_bw_summary()
report(wall, cpu, events=len(analysis.t.get_trace(0)))
"""
)


def main() -> int:
    arguments = _arguments()
    rows: list[dict[str, Any]] = []
    print(
        f"{'what':44} {'M events':>8} {'M/s':>6} {'per CPU s':>9} {'ns/event':>8} {'peak MB':>8}"
        f" {'B/event':>7}"
    )
    with tempfile.TemporaryDirectory(prefix="tracemill-bench-") as folder:
        for millions in arguments.millions:
            rows += _recorded(Path(folder) / str(millions), millions)
        rows += _real(Path(folder), arguments)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--millions", type=float, nargs="*", default=[1, 4], help="events")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--json", type=Path, help="write the figures here")
    return parser.parse_args()


def _recorded(store: Path, millions: float) -> list[dict[str, Any]]:
    made = _run(sys.executable, _SIMULATE, str(store), str(int(millions * 1e6)))
    converted = _run(sys.executable, _CONVERT, str(store))
    table_bytes = _size(store / "tables", without=("processes", "drops"))
    aggregated = _run(sys.executable, _AGGREGATE, str(store))
    events = converted["events"]
    return [
        _report("recording on disk (simulated)", {**made, "events": events}, made["size_bytes"]),
        _report("recording to event tables", converted, table_bytes),
        _report("tables to aggregates and pyramid", {**aggregated, "events": events}, None),
    ]


def _real(folder: Path, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    root = Path(os.environ.get("TRACEMILL_SHARED", HERE.parents[1] / "shared"))
    source = root / kineto_import.TRACES[0]
    if not source.exists():
        print(f"no {source.name}: set TRACEMILL_SHARED", file=sys.stderr)
        return []
    trace, store = kineto_import.plain(source, folder), folder / "real"
    converted = _run(sys.executable, _CONVERT, str(store), str(trace))
    aggregated = _run(sys.executable, _AGGREGATE, str(store))
    found = {**aggregated, "events": converted["events"]}
    rows = [_report("real trace: all aggregates and pyramid", found, None)]
    if not arguments.no_peer:
        python = kineto_import.peer_python()
        rows.append(
            _report("real trace: HTA 0.6.1, 7 analyses", _run(python, _HTA, str(trace)), None)
        )
    return rows


def _run(python: Path | str, code: str, *arguments: str) -> dict[str, Any]:
    command = [str(python), "-W", "ignore", "-c", code, *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip()[-2000:])
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def _size(folder: Path, without: tuple[str, ...]) -> int:
    files = (p for p in folder.rglob("*.parquet") if p.relative_to(folder).parts[0] not in without)
    return sum(path.stat().st_size for path in files)


def _report(what: str, run: dict[str, Any], size_bytes: int | None) -> dict[str, Any]:
    events = run["events"]
    figures = {
        "what": what,
        "events": events,
        "events_per_s": round(events / run["wall_s"]),
        "events_per_cpu_s": round(events / run["cpu_s"]),
        "ns_per_event": round(run["cpu_s"] * 1e9 / events),
        "peak_mb": round(run["peak_mb"]),
        "bytes_per_event": None if size_bytes is None else round(size_bytes / events, 2),
    }
    size = "" if size_bytes is None else f"{size_bytes / events:7.2f}"
    print(
        f"{what:44} {events / 1e6:8.2f} {events / run['wall_s'] / 1e6:6.2f}"
        f" {events / run['cpu_s'] / 1e6:9.2f} {figures['ns_per_event']:8} {figures['peak_mb']:8}"
        f" {size:>7}",
        flush=True,
    )
    return figures


if __name__ == "__main__":
    sys.exit(main())
