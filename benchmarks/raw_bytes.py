"""How many bytes an annotation takes on disk, beside other formats holding the same events.

python benchmarks/raw_bytes.py [--json FILE]

Events: training steps of four phases with layers inside, with durations that vary. The peers hold
exactly the recorded events: Chrome trace JSON as Kineto writes it, gzipped, and Parquet with
zstd in two settings.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import tracemill
from tracemill_analysis.importers.base import DropCounter
from tracemill_analysis.importers.raw.segment import Segment, read_segment

STEPS = 1_500
LAYERS = 6
PHASES = ("Forward", "Loss", "Backward", "Optimizer")


def record(folder: Path) -> tuple[Segment, int]:
    """Record the steps; the decoded segment and its size in bytes."""
    tracemill.start(output=str(folder), job="benchmark", max_steps=0, cpu_interval_ms=0)
    for i in range(STEPS):
        with tracemill.step(i):
            for phase in PHASES:
                with tracemill.annotate(phase):
                    for layer in range(LAYERS):
                        with tracemill.annotate(f"layer_{layer}"):
                            sum(range(200 + (i * 7919 + layer * 104729) % 900))
        if i % 10 == 0:
            time.sleep(0.002)
    tracemill.stop()
    (path,) = folder.rglob("*.tmraw")
    drops = DropCounter()
    return read_segment(path, path.name, drops), path.stat().st_size


def _names(segment: Segment) -> list[str]:
    columns = segment.columns["annotations"]
    pairs = zip(columns["series_id"].tolist(), columns["index"].tolist(), strict=True)
    return [segment.strings[s] if n < 0 else f"{segment.strings[s]}_{n}" for s, n in pairs]


def chrome_json_gz(segment: Segment) -> int:
    """Size of the events as gzipped Chrome trace JSON with nanosecond digits."""
    columns = segment.columns["annotations"]
    events = [
        {
            "ph": "X",
            "cat": "user_annotation",
            "name": name,
            "pid": 1,
            "tid": thread,
            "ts": start / 1000,
            "dur": duration / 1000,
        }
        for name, thread, start, duration in zip(
            _names(segment),
            columns["thread"].tolist(),
            columns["start_ns"].tolist(),
            columns["dur_ns"].tolist(),
            strict=True,
        )
    ]
    return len(gzip.compress(json.dumps({"traceEvents": events}).encode(), 6))


def parquet(segment: Segment, path: Path, **options: Any) -> int:
    """Size of the events as one Parquet file."""
    columns = segment.columns["annotations"]
    table = pa.table(
        {
            "thread": columns["thread"],
            "name": pa.array(segment.strings[s] for s in columns["series_id"].tolist()),
            "index": columns["index"],
            "depth": columns["depth"],
            "start_ns": columns["start_ns"],
            "dur_ns": columns["dur_ns"],
        }
    )
    pq.write_table(table, path, compression="zstd", **options)
    return path.stat().st_size


def measure() -> dict[str, Any]:
    """Bytes per event of each format."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        segment, raw_bytes = record(folder / "store")
        events = len(segment.columns["annotations"]["start_ns"])
        delta = {"start_ns": "DELTA_BINARY_PACKED", "dur_ns": "DELTA_BINARY_PACKED"}
        sizes = {
            "tmraw (whole file)": raw_bytes,
            "Chrome JSON, gzip": chrome_json_gz(segment),
            "Parquet, dictionary + zstd": parquet(segment, folder / "a.parquet"),
            "Parquet, delta + zstd": parquet(
                segment,
                folder / "b.parquet",
                use_dictionary=["name", "thread", "index", "depth"],
                column_encoding=delta,
            ),
        }
    return {
        "events": events,
        "expected_events": STEPS * (1 + len(PHASES) * (1 + LAYERS)),
        "bytes_per_event": {name: size / events for name, size in sizes.items()},
    }


def main() -> None:
    """Measure, print the table and the JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    arguments = parser.parse_args()
    result = measure()
    print(f"{result['events']:,} annotation events")
    for name, size in result["bytes_per_event"].items():
        print(f"{name:30} {size:8.2f} bytes per event")
    text = json.dumps(result, indent=1)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
