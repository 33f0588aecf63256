"""Import of Kineto traces: MB of JSON per second and peak memory, beside HolisticTraceAnalysis.

    .venv/bin/python benchmarks/kineto_import.py              the shared traces, and 2 GB
    .venv/bin/python benchmarks/kineto_import.py --size-mb 0  without the larger file of real events
    .venv/bin/python benchmarks/kineto_import.py trace.json   the named files

Each measurement is a process of its own. Tracemill reads the file and writes Parquet event tables;
HolisticTraceAnalysis (PyPI ``traceinsight``) reads it into a data frame. The larger file repeats
the events of a real one with times and ids moved on; the peer reads it only with ``--peer-all``,
for it needs several times its size in memory.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PEER = HERE / ".peers" / "hta-0.6.1"
PEER_PACKAGES = (
    "traceinsight==0.6.1",
    "numpy==2.2.6",
    "pandas==2.3.3",
    "networkx==3.4.2",
    "plotly==5.24.1",
    "pydot==3.0.4",
    "psutil==7.1.0",
    "pyyaml==6.0.3",
)
TRACES = (
    "traces/hta/trace_diff__control__control.json.gz",
    "traces/param/resnet_kineto.json.gz",
    "traces/hta/nccl_parser_config__nccl_data.json.gz",
)
BASE_US = 10_000_000

_CHILD_HEAD = """
import json, re, sys, time
def peak_mb():  # not ru_maxrss, which a process takes over from the one that started it
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) / 1024
def cpu_s(): return time.process_time()
"""
_CHILD_TAIL = """
print(json.dumps({"wall_s": time.perf_counter() - wall, "cpu_s": cpu_s() - cpu,
                  "base_mb": base, "peak_mb": peak_mb(), "rows": rows,
                  "table_bytes": table_bytes()}))
"""
_TRACEMILL = (
    _CHILD_HEAD
    + """
from pathlib import Path
from tracemill_analysis.importers.discover import discover
from tracemill_analysis.importers.kineto.convert import convert
from tracemill_analysis.store import LocalStore
table_bytes = lambda: sum(p.stat().st_size for p in Path(sys.argv[2]).rglob("*.parquet"))
base, wall, cpu = peak_mb(), time.perf_counter(), cpu_s()
(item,) = discover([Path(sys.argv[1])]).items
rows = convert(item, LocalStore(sys.argv[2]), "bench").events_kept
"""
    + _CHILD_TAIL
)
_HTA = (
    _CHILD_HEAD
    + """
import logging
table_bytes = lambda: 0  # it keeps its data frame in memory
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
base, wall, cpu = peak_mb(), time.perf_counter(), cpu_s()
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="")
rows = len(analysis.t.get_trace(0))
"""
    + _CHILD_TAIL
)


def main() -> int:
    arguments = _arguments()
    results: list[dict[str, Any]] = []
    peer = None if arguments.no_peer else peer_python()
    with tempfile.TemporaryDirectory(prefix="tracemill-bench-") as folder:
        files = _files(arguments, Path(folder))
        print(
            f"{'file':34} {'MB':>6}  {'tool':26} {'MB/s':>6} {'per CPU s':>9}"
            f" {'peak MB':>8} {'rows':>9} {'B/row':>6}"
        )
        for path, with_peer in files:
            tools = [("Tracemill", Path(sys.executable), _TRACEMILL)]
            if peer is not None and with_peer:
                tools.append(("HolisticTraceAnalysis 0.6.1", peer, _HTA))
            row = _measure_in_turn(path, tools, arguments.repeat, Path(folder))
            results += row
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("files", nargs="*", type=Path, help="traces; default: the shared ones")
    parser.add_argument("--size-mb", type=int, default=2000, help="also a file of this size")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each; the median is printed")
    parser.add_argument("--peer-all", action="store_true", help="the peer reads the large file too")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--json", type=Path, help="write the figures here")
    return parser.parse_args()


def _files(arguments: argparse.Namespace, folder: Path) -> list[tuple[Path, bool]]:
    root = Path(os.environ.get("TRACEMILL_SHARED", HERE.parents[1] / "shared"))
    sources = arguments.files or [root / name for name in TRACES]
    files = [(plain(source, folder), True) for source in sources if source.exists()]
    if not files:
        sys.exit("no trace found: name one, or set TRACEMILL_SHARED")
    if arguments.size_mb:
        large = folder / f"repeated_{arguments.size_mb}mb.json"
        repeat_events(files[0][0], large, arguments.size_mb * 1_000_000)
        files.append((large, arguments.peer_all))
    return files


def plain(source: Path, folder: Path) -> Path:
    content = source.read_bytes()
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    target = folder / f"{source.name.split('.')[0]}.json"
    target.write_bytes(content)
    return target


def repeat_events(source: Path, target: Path, size_bytes: int) -> None:
    """Write a trace that repeats the events of ``source``, each time later and with new ids."""
    text = source.read_bytes()
    opening = re.search(rb'"traceEvents"\s*:\s*\[', text)
    assert opening is not None
    end = text.rindex(b"]")
    body = text[opening.end() : end].strip()
    stamp = re.compile(rb'("ts"\s*:\s*)(\d+)')
    link = re.compile(rb'("correlation"\s*:\s*)(\d+)')
    with target.open("wb") as file:
        file.write(text[: opening.end()])
        written = number = 0
        while written < size_bytes:
            moved = _moved(_moved(body, stamp, number * BASE_US), link, number << 32)
            file.write((b",\n" if number else b"") + moved)
            written += len(moved)
            number += 1
        file.write(text[end:])


def _moved(text: bytes, pattern: re.Pattern[bytes], by: int) -> bytes:
    return pattern.sub(lambda m: m.group(1) + b"%d" % (int(m.group(2)) + by), text)


def _measure_in_turn(
    path: Path, tools: list[tuple[str, Path, str]], repeat: int, folder: Path
) -> list[dict[str, Any]]:
    """Run the tools in turn, so that what disturbs the machine disturbs all."""
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name, _, _ in tools}
    for _ in range(repeat if path.stat().st_size < 200_000_000 else 1):
        for name, python, code in tools:
            with tempfile.TemporaryDirectory(dir=folder) as store:
                runs[name].append(_run(python, code, path, store))
    found = [_report(path, name, of_tool) for name, of_tool in runs.items()]
    if len(found) > 1:
        ratio = found[0]["mb_per_cpu_s"] / found[1]["mb_per_cpu_s"]
        print(f"{'':34} {'':6}  {ratio:.1f} times the peer per CPU second", flush=True)
    return found


def _run(python: Path, code: str, path: Path, store: str) -> dict[str, Any]:
    command = [str(python), "-W", "ignore", "-c", code, str(path), store]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{path.name}: {done.stderr.strip().splitlines()[-1]}")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def _report(path: Path, tool: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    megabytes = path.stat().st_size / 1e6
    middle = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
    figures = {
        "file": path.name,
        "json_mb": round(megabytes, 1),
        "tool": tool,
        "mb_per_s": round(megabytes / middle["wall_s"], 1),
        "mb_per_cpu_s": round(megabytes / middle["cpu_s"], 1),
        "base_mb": round(middle["base_mb"]),
        "peak_mb": round(middle["peak_mb"]),
        "rows": int(middle["rows"]),
        "bytes_per_row": round(middle["table_bytes"] / middle["rows"], 2),
    }
    print(
        f"{path.stem[:34]:34} {megabytes:6.0f}  {tool:26} {figures['mb_per_s']:6.1f}"
        f" {figures['mb_per_cpu_s']:9.1f} {figures['peak_mb']:8} {figures['rows']:9}"
        f" {figures['bytes_per_row'] or '':>6}",
        flush=True,
    )
    return figures


def peer_python() -> Path:
    """Python of the peer's environment, which is made on first use."""
    python = PEER / "bin" / "python"
    if not (PEER / "complete").exists():
        print(f"installing {PEER_PACKAGES[0]} …", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(PEER)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        # Without its dependency on JupyterLab, which loading a trace does not use.
        subprocess.run([*pip, *PEER_PACKAGES[1:]], check=True)
        subprocess.run([*pip, "--no-deps", PEER_PACKAGES[0]], check=True)
        (PEER / "complete").touch()
    return python


if __name__ == "__main__":
    sys.exit(main())
