"""What an annotation costs the thread that makes it, beside peers measured in the same run.

python benchmarks/annotation_cost.py [--json FILE]

Peers: nvtx (PyPI) and torch's record_function, each if it can be imported. Figures are medians over
rounds of the thread's CPU time per annotation; the cost of the empty loop is included.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tracemill

CALLS = 20_000
ROUNDS = 25
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


def main() -> None:
    """Measure, print the table and the JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    arguments = parser.parse_args()
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
