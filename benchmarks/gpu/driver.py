"""Runs the loops of ``train.py`` and ``launch_cost.py`` in turn; one table and ``gpu.json``.

Started by run.sh. Modes are interleaved, so that a machine that slows down does so for all of them.
What no time is left for is left out and named.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tracemill import _generated

HERE = Path(__file__).resolve().parent
LOOPS = [("gpt", "bare"), ("gpt", "tracemill"), ("gpt", "torch"),
         ("resnet", "bare"), ("resnet", "tracemill"), ("resnet", "torch"),
         ("graph", "bare"), ("graph", "tracemill"), ("graph", "tracemill-nodes"),
         ("graph", "torch")]  # fmt: skip
LAUNCHES = ("none", "10", "10+5", "10+5+4", "10+4+39", "10+4+17")
_FRAME = struct.Struct("<IHBBIIIIQQII")
_EVENTS = {"kernels": "kernel", "memcpys": "gpu_memcpy", "memsets": "gpu_memset",
           "graph_runs": "graph", "api_calls": "launches and other calls"}  # fmt: skip
_LEAST_S = 20


def raw_rows(folder: Path) -> Counter[str]:
    """Rows of the GPU kinds in the segments below a folder, by the blocks' frames."""
    names = {kind["id"]: kind["name"] for kind in json.loads(_generated.KINDS_JSON)}
    rows: Counter[str] = Counter()
    for path in folder.rglob("*.tmraw"):
        content, at = path.read_bytes(), 0
        while at + _FRAME.size <= len(content):
            _, kind, _, _, count, stored, *_ = _FRAME.unpack_from(content, at)
            if names.get(kind) in _EVENTS:
                rows[_EVENTS[names[kind]]] += count
            at += _FRAME.size + stored
    return rows


def torch_rows(folder: Path) -> Counter[str]:
    """Events of torch.profiler's trace by category."""
    (path,) = folder.glob("*.json.gz")
    with gzip.open(path) as file:
        events = json.load(file)["traceEvents"]
    return Counter(event.get("cat", "") for event in events if event.get("ph") == "X")


class Bench:
    """Runs commands while there is time and keeps what they found."""

    def __init__(self, out: Path, budget_s: float) -> None:
        self._out = out
        self._end = time.monotonic() + budget_s
        self.left_out: list[str] = []

    def run(self, name: str, *command: str) -> dict[str, Any] | None:
        """The JSON that a command prints last; None if it failed or there was no time."""
        left = self._end - time.monotonic()
        if left < _LEAST_S:
            self.left_out.append(f"{name}: no time")
            return None
        try:
            done = subprocess.run(
                [sys.executable, *command], capture_output=True, text=True, timeout=left, check=True
            )
            return dict(json.loads(done.stdout.splitlines()[-1]))
        except subprocess.TimeoutExpired:
            self.left_out.append(f"{name}: no time")
        except (subprocess.CalledProcessError, ValueError, IndexError) as error:
            said = getattr(error, "stderr", "") or str(error)
            self.left_out.append(f"{name}: {said.strip().splitlines()[-1:]}")
        return None

    def loop(self, model: str, mode: str, device: str, steps: int) -> dict[str, Any] | None:
        """One training loop; its last recording is kept beside the results."""
        with tempfile.TemporaryDirectory() as folder:
            options = ["--device", device, "--steps", str(steps), "--out", folder]
            found = self.run(f"{model} {mode}", str(HERE / "train.py"), model, mode, *options)
            if found is None or mode == "bare":
                return found
            counted = torch_rows if mode == "torch" else raw_rows
            found["events"] = dict(counted(Path(folder)))
            kept = self._out / f"{model}-{mode}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept)
            return found


def summary(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Medians over the rounds, with the slowdown against bare of the same model."""
    rows = []
    for model, mode in LOOPS:
        found = [run for run in runs if (run["model"], run["mode"]) == (model, mode)]
        if not found:
            continue
        last = found[-1]
        row = {"model": model, "mode": mode, "rounds": len(found)}
        row["step_ms"] = statistics.median(run["step_ms"] for run in found)
        row["process_cpu_ms"] = statistics.median(run["process_cpu_ms"] for run in found)
        bare = next((r for r in rows if r["model"] == model and r["mode"] == "bare"), None)
        row["slowdown_percent"] = 100 * (row["step_ms"] / bare["step_ms"] - 1) if bare else None
        events = last.get("events", {})
        row["events"], row["bytes"] = events, last.get("bytes")
        total = sum(events.values())
        row["bytes_per_event"] = last["bytes"] / total if total and "bytes" in last else None
        row["drops"], row["notices"] = last.get("drops"), last.get("notices")
        rows.append(row)
    return rows


def show(rows: list[dict[str, Any]], launches: list[dict[str, Any]]) -> None:
    """Print the table."""

    def number(value: float | None, form: str) -> str:
        return "-" if value is None else format(value, form)

    print(f"{'loop':24}{'step ms':>10}{'slower %':>10}{'kernels':>10}{'copies':>8}{'bytes':>12}"
          f"{'B/event':>9}")  # fmt: skip
    for row in rows:
        events = row["events"]
        copies = events.get("gpu_memcpy", 0) + events.get("gpu_memset", 0)
        slower, size = number(row["slowdown_percent"], ".2f"), number(row["bytes"], ",d")
        head = f"{row['model'] + ' ' + row['mode']:24}{row['step_ms']:10.3f}{slower:>10}"
        counts = f"{events.get('kernel', 0):10,}{copies:8,}"
        print(f"{head}{counts}{size:>12}{number(row['bytes_per_event'], '.2f'):>9}")
    for launch in launches:
        print(
            f"launch of an empty kernel, kinds {launch['kinds']:10} {launch['launch_ns']:8.0f} ns"
        )


def main() -> int:
    """Run everything; 1 if nothing could be measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget-s", type=float, default=440)
    arguments = parser.parse_args()
    bench = Bench(arguments.out, arguments.budget_s)
    launches = [bench.run(f"launch {kinds}", str(HERE / "launch_cost.py"), kinds)
                for kinds in (LAUNCHES if arguments.device == "cuda" else ())]  # fmt: skip
    runs = []
    for _ in range(arguments.rounds):
        for model, mode in LOOPS:
            found = bench.loop(model, mode, arguments.device, arguments.steps)
            runs += [found] if found else []
    rows, launches = summary(runs), [launch for launch in launches if launch]
    show(rows, launches)
    result = {"loops": rows, "launches": launches, "left_out": bench.left_out, "runs": runs}
    for line in bench.left_out:
        print(f"left out: {line}")
    path = arguments.out / "gpu.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(path)
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
