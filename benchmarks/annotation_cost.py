"""What an annotation costs the thread that makes it, beside peers measured in the same run.

python benchmarks/annotation_cost.py [--json FILE] [--here]

Peers: nvtx and PyTorch's record_function, from PyPI in an environment of their own, where
Tracemill's recorder is installed too and the measuring runs. ``--here`` measures in the present
environment with the peers it has. Figures are medians over rounds of the thread's CPU time per
annotation; the cost of the empty loop is included.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tracemill

CALLS = 20_000
ROUNDS = 25
PEERS = ("numpy==2.4.6", "nvtx==0.2.17", "torch==2.13.0")
TARGETS_NS = {"tracemill begin + end": 110, "tracemill with annotate(name)": 260}


def _pair(begin: Callable[[str], Any], end: Callable[[Any], Any]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(CALLS):
            end(begin("Forward"))

    return run


def _with(make: Callable[[str], Any]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(CALLS):
            with make("Forward"):
                pass

    return run


def _step() -> None:
    for i in range(CALLS):
        with tracemill.step(i):
            pass


def _numbered() -> None:
    for i in range(CALLS):
        with tracemill.annotate(f"layer_{i}"):
            pass


def _empty() -> None:
    for _ in range(CALLS):
        pass


def _nvtx_pair(nvtx: Any) -> Callable[[], None]:
    def run() -> None:
        for _ in range(CALLS):
            nvtx.push_range("Forward")
            nvtx.pop_range()

    return run


def cases() -> dict[str, Callable[[], None]]:
    """Name of each case with a function that makes CALLS annotations."""
    found = {
        "empty loop": _empty,
        "tracemill begin + end": _pair(tracemill.annotation_begin, tracemill.annotation_end),
        "tracemill with annotate(name)": _with(tracemill.annotate),
        "tracemill with annotate(f-string)": _numbered,
        "tracemill with step(i)": _step,
    }
    try:
        nvtx = importlib.import_module("nvtx")
        found["nvtx push_range + pop_range"] = _nvtx_pair(nvtx)
        found["nvtx with annotate(name)"] = _with(nvtx.annotate)
    except ImportError:
        pass
    try:
        profiler = importlib.import_module("torch.profiler")
        found["torch with record_function(name)"] = _with(profiler.record_function)
    except ImportError:
        pass
    return found


def measure() -> dict[str, Any]:
    """Nanoseconds per annotation: median, best and worst round of each case."""
    samples: dict[str, list[float]] = {name: [] for name in cases()}
    with tempfile.TemporaryDirectory() as folder:
        tracemill.start(output=folder, job="benchmark", max_steps=0, ring_events=262_144)
        for _ in range(ROUNDS):
            for name, run in cases().items():
                begin = time.thread_time_ns()
                run()
                samples[name].append((time.thread_time_ns() - begin) / CALLS)
                time.sleep(0.002)  # the recorder drains on its own core, as in a training
        tracemill.stop()
    status = tracemill.status()
    return {
        "unit": "ns of thread CPU time per annotation",
        "clock": status["clock"],
        "dropped": sum(status["drops"].values()),
        "cases": {
            name: {"median": statistics.median(s), "best": min(s), "worst": max(s)}
            for name, s in samples.items()
        },
        "targets": TARGETS_NS,
    }


def _in_peers_environment() -> int:
    """Run this file again where the peers are and return its exit code."""
    from peers import environment

    python = environment("annotations", PEERS, own=["./sdk"])
    return subprocess.run([str(python), __file__, "--here", *sys.argv[1:]], check=False).returncode


def main() -> None:
    """Measure, print the table and the JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    parser.add_argument("--here", action="store_true", help="do not make an environment for peers")
    arguments = parser.parse_args()
    if not arguments.here:
        sys.exit(_in_peers_environment())
    result = measure()
    print(f"{'annotation':36} {'median':>8} {'best':>8} {'reach':>8}   ns, thread CPU time")
    for name, figures in result["cases"].items():
        target = f"<= {TARGETS_NS[name]}" if name in TARGETS_NS else ""
        print(f"{name:36} {figures['median']:8.0f} {figures['best']:8.0f} {target:>8}")
    text = json.dumps(result, indent=1)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
