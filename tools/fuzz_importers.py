"""Imports thousands of damaged inputs: no crash, no hang, bounded memory, all losses counted.

python tools/fuzz_importers.py --importer kineto --count 10000 --seed 1

A worker process does one trial after the other; its parent watches time and memory. A trial is
wrong if the worker dies, takes too long or too much memory, or if the importer fails in a way it
did not foresee. The numbers of such trials are printed: --only NUMBER does one again, --keep DIR
writes its input there.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_ROOT))

from tools.fuzzing.inputs import IMPORTERS, Inputs  # noqa: E402
from tools.fuzzing.trial import run_trial  # noqa: E402

_PEAK_RESET = "5"


def main() -> int:
    """Run the trials and print a summary; 1 if any went wrong."""
    options = _arguments()
    if options.keep:
        rng = random.Random(f"{options.importer} {options.seed} {options.only}")
        options.keep.mkdir(parents=True, exist_ok=True)
        print(Inputs(options.traces).write(options.importer, rng, options.keep))
        return 0
    numbers = [options.only] if options.only is not None else list(range(options.count))
    tally: Counter[str] = Counter()
    wrong: list[tuple[int, str]] = []
    highest_mb, slowest_s, started = 0.0, 0.0, time.monotonic()
    worker = _Worker(options)
    for number in numbers:
        begin = time.monotonic()
        verdict, detail, peak_mb = worker.trial(number)
        slowest_s = max(slowest_s, time.monotonic() - begin)
        highest_mb = max(highest_mb, peak_mb)
        if peak_mb > options.memory_mb:
            verdict, detail = "wrong", f"{peak_mb:.0f} MB"
        tally[verdict] += 1
        if verdict == "wrong":
            wrong.append((number, detail))
            print(f"trial {number}: {detail}", flush=True)
        if options.only is not None:
            print(verdict, detail)
    worker.stop()
    counts = ", ".join(f"{tally[name]} {name}" for name in ("whole", "partial", "refused", "wrong"))
    print(
        f"{options.importer}, seed {options.seed}: {sum(tally.values())} trials: {counts}; "
        f"slowest {slowest_s:.1f} s, memory up to {highest_mb:.0f} MB, "
        f"{time.monotonic() - started:.0f} s"
    )
    return 1 if wrong else 0


class _Worker:
    """A process that does trials; a new one is started when it dies or hangs."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._context = multiprocessing.get_context("spawn")
        self._start()

    def _start(self) -> None:
        self._pipe, theirs = self._context.Pipe()
        self._process = self._context.Process(
            target=_work, args=(theirs, vars(self._options)), daemon=True
        )
        self._process.start()
        theirs.close()

    def trial(self, number: int) -> tuple[str, str, float]:
        """Return verdict, detail and the peak of memory in MB."""
        self._pipe.send(number)
        try:
            if self._pipe.poll(self._options.seconds):
                verdict, detail, peak_mb = self._pipe.recv()
                return str(verdict), str(detail), float(peak_mb)
            fault = f"no end after {self._options.seconds} s"
        except (EOFError, ConnectionResetError):
            self._process.join(5)
            fault = f"the worker died, exit code {self._process.exitcode}"
        self._process.kill()
        self._process.join()
        self._start()
        return "wrong", fault, 0.0

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()


def _work(pipe: Connection, options: dict[str, Any]) -> None:
    inputs = Inputs(options["traces"])
    while True:
        number = pipe.recv()
        _reset_peak()
        try:
            outcome = run_trial(
                inputs,
                options["importer"],
                options["seed"],
                number,
                writes=number % options["write_every"] == 0,
            )
            answer = (outcome.verdict, outcome.detail)
        except Exception as error:
            answer = ("wrong", f"{type(error).__name__}: {error}"[:500])
        pipe.send((*answer, _peak_mb()))


def _reset_peak() -> None:
    """Let the kernel forget the process's peak of memory (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text(_PEAK_RESET)
    except OSError:
        return


def _peak_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    shared = Path(os.environ.get("TRACEMILL_SHARED", _ROOT.parent / "shared"))
    parser.add_argument("--importer", choices=IMPORTERS, required=True)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--traces", type=Path, default=shared / "traces", help="real traces")
    parser.add_argument("--seconds", type=float, default=60, help="limit of one trial")
    parser.add_argument("--memory-mb", type=float, default=700, help="limit of one trial")
    parser.add_argument(
        "--write-every", type=int, default=1, help="write the tables of every Nth trial only"
    )
    parser.add_argument("--only", type=int, help="do this trial alone")
    parser.add_argument("--keep", type=Path, help="write the input of --only here and stop")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
