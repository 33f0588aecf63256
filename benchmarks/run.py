"""Run all benchmarks, each in its own process, and collect their figures.

    make bench                                    every benchmark
    .venv/bin/python benchmarks/run.py raw_bytes  the named ones

Each benchmark prints a table with Tracemill's figure next to its peers', measured in the same run,
and writes the same as JSON to benchmarks/results/<name>.json. Peers are installed into
environments of their own under benchmarks/.peers on first use.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
NOT_BENCHMARKS = {"run", "peers", "big_profile"}


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all; return 1 if one of them failed."""
    known = {
        path.stem: path for path in sorted(HERE.glob("*.py")) if path.stem not in NOT_BENCHMARKS
    }
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    RESULTS.mkdir(exist_ok=True)
    failed = []
    for name in names or known:
        print(f"== {name}", flush=True)
        result = RESULTS / f"{name}.json"
        command = [sys.executable, str(known[name]), "--json", str(result)]
        if subprocess.run(command, check=False).returncode:
            failed.append(name)
        print(flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
