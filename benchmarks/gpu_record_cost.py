"""What a GPU record costs on the recorder's thread and on disk, and what sampling a node costs.

python benchmarks/gpu_record_cost.py [--json FILE] [--trace KINETO.json.gz]

CUPTI is a stand-in (tests/sdk/fake_cuda) that hands over buffers as the real one does; everything
behind it, down to the file, is the recorder itself. Bytes are those of a real trace's kernels and
launches when ``--trace`` (or TRACEMILL_BENCH_TRACE) names one, else of launches like a training's;
the peers hold exactly the same events. Costs are CPU time of the recorder's thread, which has no
Python state and so never holds the GIL; the stand-in's share of stepping through its buffers is in
them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.sdk.fake_cuda.build import build  # noqa: E402
from tests.support import gpu, tmraw  # noqa: E402

ROUNDS = 5
PAIRS = 200_000
SAMPLED_S = 5
_EVENT_KINDS = {"kernels", "api_calls"}
_DICTIONARIES = {"strings", "gpu_tracks", "gpu_signatures"}

PROLOGUE = """
import json, os, statistics, sys, time
import tracemill
from tests.sdk.fake_cuda.driver import *
def thread_cpu_ns():
    for task in os.listdir("/proc/self/task"):
        if open(f"/proc/self/task/{task}/comm").read().strip() == "tracemill":
            return int(open(f"/proc/self/task/{task}/schedstat").read().split()[0])
f = Fakes(nvml=True)
"""

COST = """
rounds, pairs = int(sys.argv[1]), int(sys.argv[2])
tracemill.start(cpu_interval_ms=0, nvml_interval_ms=0, max_steps=0)
f.attach()
figures = []
for n in range(rounds):
    before, written = thread_cpu_ns(), tracemill.status()["written_bytes"]
    at = time.monotonic_ns() - 10_000_000_000
    for part in range(0, pairs, 4_000):
        at = f.launch_like_training(n * pairs + part, 4_000, at)
        time.sleep(0.02)
    f.wait_flushes(2)
    time.sleep(0.3)
    after = tracemill.status()["written_bytes"]
    figures.append([(thread_cpu_ns() - before) / (2 * pairs), (after - written) / (2 * pairs)])
drops = tracemill.status()["drops"]
tracemill.stop()
print(json.dumps({"figures": figures, "drops": drops}))
"""

SAMPLING = """
seconds = float(sys.argv[1])
tracemill.start(max_steps=0)
f.initialise_cuda()
time.sleep(1)
cpu, now = thread_cpu_ns(), time.monotonic_ns()
time.sleep(seconds)
print(json.dumps({"of_one_core": (thread_cpu_ns() - cpu) / (time.monotonic_ns() - now),
                  "cores": os.cpu_count()}))
tracemill.stop()
"""

REPLAY = """
rows = json.load(open(sys.argv[1]))
tracemill.start(flush_interval_ms=3_600_000, cpu_interval_ms=0, nvml_interval_ms=0, max_steps=0)
f.initialise_cuda()
f.wait_for(lambda: f.enabled(OVERHEAD))
time.sleep(0.2)
base = time.monotonic_ns() - rows[0][1]
for kind, start, end, correlation, lane, name, shape, registers, static in rows:
    if kind == "kernel":
        f.launch(base + start, base + end, lane=lane, stream=lane, name=name.encode(),
                 shape=tuple(shape), registers=registers, static=static, correlation=correlation)
    else:
        f.call(1000, RUNTIME, LAUNCH_KERNEL, base + start, base + end, lane, correlation)
tracemill.stop()
"""


def run(folder: Path, fakes: Path, code: str, *arguments: str) -> str:
    """Run a script beside the stand-ins; its output."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("TRACEMILL_")}
    env |= {"FAKE_CUDA": str(fakes), "PYTHONPATH": str(ROOT), "TRACEMILL_JOB": "benchmark"}
    env["TRACEMILL_OUTPUT"] = str(folder / "store")
    command = [sys.executable, "-c", PROLOGUE + code, *arguments]
    return subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout


def nanoseconds(text: Decimal | int) -> int:
    """Microseconds of a trace, to the digit, as nanoseconds."""
    return int(Decimal(text) * 1000)


def trace_rows(path: Path) -> list[list[Any]]:
    """Kernels and the calls that launch them, by their ends, as the stand-in takes them."""
    with gzip.open(path) as file:
        events = json.load(file, parse_float=Decimal)["traceEvents"]
    rows: list[list[Any]] = []
    for event in events:
        if event.get("ph") != "X" or event.get("cat") not in ("kernel", "cuda_runtime"):
            continue
        arguments, start = event["args"], nanoseconds(event["ts"])
        end = start + nanoseconds(event["dur"])
        if event["cat"] == "kernel":
            shape = [*arguments["grid"], *arguments["block"]]
            more = [shape, arguments["registers per thread"], int(arguments["shared memory"])]
            head = ["kernel", start, end, arguments["correlation"], arguments["stream"]]
            rows.append([*head, event["name"], *more])
        elif "Launch" in event["name"]:
            head = ["call", start, end, arguments["correlation"], event["tid"] & 0xFFFFFFFF]
            rows.append([*head, event["name"], [], 0, 0])
    return sorted(rows, key=lambda row: row[2])


def kineto_json(rows: list[list[Any]]) -> bytes:
    """The same events as Kineto writes them."""
    events = []
    for kind, start, end, correlation, lane, name, shape, registers, static in rows:
        event = {"ph": "X", "cat": "kernel" if kind == "kernel" else "cuda_runtime", "name": name}
        event |= {"pid": 0 if kind == "kernel" else 4242, "tid": lane, "ts": start / 1000}
        event |= {"dur": (end - start) / 1000}
        arguments = {"External id": correlation, "correlation": correlation}
        if kind == "kernel":
            arguments |= {"device": 0, "context": 1, "stream": lane, "grid": shape[:3]}
            arguments |= {"block": shape[3:], "registers per thread": registers}
            arguments |= {"shared memory": static}
        else:
            arguments |= {"cbid": 211}
        events.append({**event, "args": arguments})
    return json.dumps({"traceEvents": events}).encode()


def parquet_bytes(rows: list[list[Any]], path: Path) -> int:
    """The same events as one Parquet file, deltas and zstd."""
    columns = list(zip(*rows, strict=True))
    names = ("kind", "start", "end", "correlation", "lane", "name", "shape", "registers", "static")
    data = dict(zip(names, columns, strict=True))
    start = pa.array(data["start"], pa.int64())
    table = pa.table(
        {
            "kind": pa.array(data["kind"]),
            "start_ns": start,
            "dur_ns": pa.array([e - s for s, e in zip(data["start"], data["end"], strict=True)]),
            "correlation": pa.array(data["correlation"]),
            "lane": pa.array(data["lane"]),
            "what": pa.array(
                f"{n} {s} {r} {m}" for n, s, r, m in zip(*(data[c] for c in names[5:]), strict=True)
            ),
        }
    )
    delta = ("start_ns", "dur_ns", "correlation")
    pq.write_table(
        table, path, compression="zstd", use_dictionary=["kind", "lane", "what"],
        column_encoding=dict.fromkeys(delta, "DELTA_BINARY_PACKED"),
    )  # fmt: skip
    return path.stat().st_size


def segment_rows(segment: tmraw.Segment) -> list[list[Any]]:
    """A recorded segment's events in the form of ``trace_rows``."""
    rows = [
        ["kernel", k["start_ns"], k["start_ns"] + k["dur_ns"], k["correlation"], k["stream"],
         k["name"], list(k["shape"][:6]), k["shape"][6], k["shape"][7]]
        for k in gpu.kernels(segment)
    ]  # fmt: skip
    rows += [
        ["call", c["start_ns"], c["start_ns"] + c["dur_ns"], c["correlation"], c["thread"],
         c["name"], [], 0, 0]
        for c in gpu.calls(segment)
    ]  # fmt: skip
    return sorted(rows, key=lambda row: row[2])


def sizes(folder: Path, fakes: Path, rows: list[list[Any]]) -> dict[str, Any]:
    """Bytes per event of the rows, replayed through the recorder, and of the peers."""
    source = folder / "rows.json"
    source.write_text(json.dumps(rows), encoding="utf-8")
    run(folder, fakes, REPLAY, str(source))
    (path,) = (folder / "store").rglob("*.tmraw")
    segment = tmraw.read_all(folder / "store")[0]
    assert [row[:5] for row in _relative(segment_rows(segment))] == [
        row[:5] for row in _relative(rows)
    ], "the recording does not hold the events that were replayed"
    by_kind = tmraw.bytes_by_kind(path)
    events = sum(by_kind[kind] for kind in _EVENT_KINDS)
    gz = len(gzip.compress(kineto_json(rows), 6))
    figures = {
        "tmraw, the events' blocks": events,
        "tmraw, with names and signatures": events + sum(by_kind[k] for k in _DICTIONARIES),
        "tmraw, the whole file": path.stat().st_size,
        "Kineto JSON, gzip": gz,
        "Parquet, delta + zstd": parquet_bytes(rows, folder / "peer.parquet"),
    }
    per_event = {name: size / len(rows) for name, size in figures.items()}
    return {
        "events": len(rows),
        "bytes_per_event": per_event,
        "times_smaller_than_gzipped_kineto": gz / events,
    }


def _relative(rows: list[list[Any]]) -> list[list[Any]]:
    base = min(row[1] for row in rows)
    moved = [[row[0], row[1] - base, row[2] - base, *row[3:]] for row in rows]
    return sorted(moved, key=lambda row: (row[2], row[3], row[0]))


def synthetic_rows(folder: Path, fakes: Path) -> list[list[Any]]:
    """Launches like a training's, as recorded once."""
    run(folder, fakes, COST, "1", "4000")
    rows = segment_rows(tmraw.read_all(folder / "store")[0])
    return _relative(rows)


def measure(trace: Path | None) -> dict[str, Any]:
    """All figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fakes = build(folder / "fakes")
        parts = [folder / part for part in ("cost", "sampling", "made", "replay")]
        for part in parts:
            part.mkdir()
        cost = json.loads(run(parts[0], fakes, COST, str(ROUNDS), str(PAIRS)))
        assert not cost["drops"], cost["drops"]
        figures = sorted(cost["figures"])
        sampling = json.loads(run(parts[1], fakes, SAMPLING, str(SAMPLED_S)))
        rows = trace_rows(trace) if trace else synthetic_rows(parts[2], fakes)
        return {
            "records": 2 * PAIRS * ROUNDS,
            "cpu_ns_per_record": figures[len(figures) // 2][0],
            "best_cpu_ns_per_record": figures[0][0],
            "bytes_per_record_like_training": figures[len(figures) // 2][1],
            "gil_ns_per_record": 0,
            "sampling_of_one_core": sampling["of_one_core"],
            "cores": sampling["cores"],
            "trace": trace.name if trace else None,
            "sizes": sizes(parts[3], fakes, rows),
        }


def main() -> None:
    """Measure, print the table and the JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    parser.add_argument("--trace", type=Path, default=os.environ.get("TRACEMILL_BENCH_TRACE"))
    arguments = parser.parse_args()
    result = measure(Path(arguments.trace) if arguments.trace else None)
    print(f"{result['records']:,} kernels and launches through the recorder")
    print(f"{'CPU per record, median':34} {result['cpu_ns_per_record']:8.1f} ns")
    print(f"{'CPU per record, best of 5':34} {result['best_cpu_ns_per_record']:8.1f} ns")
    print(f"{'bytes per record':34} {result['bytes_per_record_like_training']:8.2f}")
    share = 100 * result["sampling_of_one_core"]
    print(f"{'sampling, ' + str(result['cores']) + ' cores, 2 GPUs':34} {share:8.3f} % of a core")
    print(f"{result['sizes']['events']:,} events of {result['trace'] or 'the same launches'}")
    for name, size in result["sizes"]["bytes_per_event"].items():
        print(f"{name:34} {size:8.2f} bytes per event")
    text = json.dumps(result, indent=1)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
