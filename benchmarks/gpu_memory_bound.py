"""Memory of the recorder while the disk takes nothing, and whether every lost event is counted.

python benchmarks/gpu_memory_bound.py [--seconds 300] [--json FILE]

200,000 kernels and launches a second come in while every write to a segment waits; then the disk
works again and the recording ends. What is recorded and what is counted as dropped must be what
came in. ``make bench`` runs it for 20 seconds; the promise is for 300.
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

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.sdk.fake_cuda.build import build  # noqa: E402

EVENTS_PER_S = 200_000
BATCHES_PER_S = 20

CODE = """
import json, os, resource, sys, time
import tracemill
from tests.sdk.fake_cuda.driver import *
seconds, rate, batches = (int(word) for word in sys.argv[1:])
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
f = Fakes()
before = resident()
tracemill.start(cpu_interval_ms=0, nvml_interval_ms=0, max_steps=0)
f.attach()
open(os.environ["STALL"], "w").close()
pairs = rate // batches // 2
begin = time.monotonic()
at = time.monotonic_ns() - 1_000_000_000
sent = 0
samples = []
for batch in range(seconds * batches):
    at = f.launch_like_training(sent, pairs, time.monotonic_ns() - 1_000_000_000)
    sent += pairs
    with tracemill.annotate("batch"):
        pass
    if batch % batches == batches - 1:
        samples.append(resident() - before)
    time.sleep(max(0.0, begin + (batch + 1) / batches - time.monotonic()))
took = time.monotonic() - begin
os.unlink(os.environ["STALL"])
tracemill.stop()
print(json.dumps({"sent": 2 * sent, "annotations": seconds * batches, "took_s": took,
                  "resident": samples, "drops": tracemill.status()["drops"]}))
"""


def measure(seconds: int, events_per_s: int = EVENTS_PER_S) -> dict[str, Any]:
    """Feed a stalled recorder; its memory over time, and the count of what came in and out."""
    from tests.support import tmraw

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fakes = build(folder / "fakes")
        env = {key: value for key, value in os.environ.items() if "TRACEMILL" not in key}
        env |= {"FAKE_CUDA": str(fakes), "PYTHONPATH": str(ROOT), "STALL": str(folder / "stall")}
        env |= {"TRACEMILL_OUTPUT": str(folder / "store"), "TRACEMILL_JOB": "benchmark"}
        env["LD_PRELOAD"] = str(fakes / "libstall.so")
        words = [str(seconds), str(events_per_s), str(BATCHES_PER_S)]
        command = [sys.executable, "-c", CODE, *words]
        done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
        found = json.loads(done.stdout)
        paths = sorted((folder / "store").rglob("*.tmraw"))
        recorded = sum(tmraw.count_rows(path, ("kernels", "api_calls")) for path in paths)
        annotations = sum(tmraw.count_rows(path, ("annotations",)) for path in paths)
    dropped = sum(found["drops"].values())
    total = found["sent"] + found["annotations"]
    return {
        "seconds": seconds,
        "events": total,
        "events_per_s": total / found["took_s"],
        "recorded": recorded + annotations,
        "drops": found["drops"],
        "uncounted": total - recorded - annotations - dropped,
        "most_resident_mb": max(found["resident"]) / 1e6,
        "last_resident_mb": found["resident"][-1] / 1e6,
    }


def main() -> int:
    """Measure, print the table and the JSON; 1 if an event is neither recorded nor counted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    parser.add_argument("--seconds", type=int, default=20)
    arguments = parser.parse_args()
    result = measure(arguments.seconds)
    print(f"{result['events']:,} events in {result['seconds']} s, {result['events_per_s']:,.0f}/s")
    print(f"memory of the recorder      {result['most_resident_mb']:8.1f} MB at most")
    print(f"recorded                    {result['recorded']:12,}")
    for reason, count in result["drops"].items():
        print(f"dropped, {reason:18} {count:12,}")
    print(f"neither recorded nor counted{result['uncounted']:12,}")
    text = json.dumps(result, indent=1)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return 1 if result["uncounted"] else 0


if __name__ == "__main__":
    sys.exit(main())
