"""A large simulated profile, written straight as event tables and timeline levels.

    .venv/bin/python benchmarks/big_profile.py STORE [EVENTS]

Sixteen processes on two nodes, a GPU each; steps of 100 ms of 1,044 events per process: kernels on
two streams, their launches, nested operators, annotations. No importer is passed through, so that
100 million events take minutes. The job is called ``big`` and labelled simulated.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from tracemill_analysis.aggregates.gpu import load_gpu_events
from tracemill_analysis.aggregates.pyramid import timeline_levels
from tracemill_analysis.aggregates.source import open_source
from tracemill_analysis.manifest import Manifest, write_manifest
from tracemill_analysis.parquet import TableWriter, arrow_schema, write_rows, write_table
from tracemill_analysis.store import LocalStore
from tracemill_schema import SCHEMA_VERSION, layout
from tracemill_schema.columns import Table
from tracemill_schema.tables import TABLE_BY_NAME
from tracemill_schema.tables.events import ANNOTATIONS, API_CALLS, KERNELS, OPERATORS

JOB = "big"
PROCESSES, PER_NODE = 16, 8
STEP_NS = 100_000_000
COMPUTE, COMM, OPERATORS_OUTER = 400, 20, 100
EVENTS_PER_STEP = 2 * (COMPUTE + COMM) + 2 * OPERATORS_OUTER + 4
CHUNK_STEPS = 150
THREAD, STREAM, COMM_STREAM = 1001, 7, 20
NAMES = [f"void cutlass::Kernel2<gemm_{n}_bf16>(Params)" for n in range(40)]
START_NS = 1_700_000_000_000_000_000


def table_of(table: Table, size: int, process: int, values: dict[str, Any]) -> pa.Table:
    """Return rows of a table: given columns, the process, null or zero for the others."""
    columns = []
    for field, column in zip(arrow_schema(table), table.columns, strict=True):
        if column.name in ("process_id", "rank"):
            data = pa.array(np.full(size, process, np.int32))
        elif column.name in values:
            data = pa.array(values[column.name]).cast(field.type)
        elif column.nullable:
            data = pa.nulls(size, field.type)
        else:
            data = pa.array(np.zeros(size, np.int64)).cast(field.type)
        columns.append(data)
    return pa.Table.from_arrays(columns, schema=arrow_schema(table))


def words(codes: Any, texts: list[str]) -> pa.Array:
    """Return a text per code."""
    return pa.array(texts).take(pa.array(codes))


def chunk(process: int, first: int, steps: int, random: Any) -> dict[Table, pa.Table]:
    """Return the events of some steps of one process."""
    begin = START_NS + (first + np.arange(steps)) * STEP_NS + random.integers(0, 900_000, steps)
    found: dict[Table, pa.Table] = {}
    parts = {}
    for stream, number, longest in ((STREAM, COMPUTE, 180_000), (COMM_STREAM, COMM, 2_000_000)):
        every = 90_000_000 // number
        offset = np.arange(number) * every + random.integers(0, every // 8, (steps, number))
        start = (begin[:, None] + 3_000_000 + offset).ravel()
        length = random.integers(2_000, min(longest, every * 3 // 4), steps * number)
        delay = random.integers(4_000, 2_000_000, steps * number)
        parts[stream] = (start, length, np.maximum(start - delay, begin.repeat(number)))
    start, length, launch = (
        np.concatenate(columns) for columns in zip(*parts.values(), strict=True)
    )
    compute = steps * COMPUTE
    size = len(start)
    codes = np.concatenate(
        (
            np.sort(random.integers(0, 40, (steps, COMPUTE)), axis=1).ravel(),
            np.full(size - compute, 40),
        )
    )
    correlation = first * 1_000 + np.arange(size)
    is_comm = np.arange(size) >= compute
    found[KERNELS] = table_of(KERNELS, size, process, {
        "device": np.full(size, process % PER_NODE),
        "stream": np.where(is_comm, COMM_STREAM, STREAM),
        "name": words(codes, [*NAMES, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"]),
        "category": words(is_comm.astype(int), ["compute", "communication"]),
        "precision": words(np.zeros(size, int), ["BF16"]),
        "start_ns": start, "dur_ns": length, "correlation": correlation,
        "launch_start_ns": launch, "launch_dur_ns": np.full(size, 3_500),
        "launch_thread": np.full(size, THREAD), "step": first + (start - begin[0]) // STEP_NS,
    })  # fmt: skip
    order = np.argsort(launch, kind="stable")
    found[API_CALLS] = table_of(API_CALLS, size, process, {
        "thread": np.full(size, THREAD), "name": words(np.zeros(size, int), ["cudaLaunchKernel"]),
        "api": words(np.zeros(size, int), ["runtime"]), "start_ns": launch[order],
        "dur_ns": np.full(size, 3_500), "correlation": correlation[order],
        "run_start_ns": start[order],
    })  # fmt: skip
    outer = (begin[:, None] + np.arange(OPERATORS_OUTER) * 900_000).ravel()
    count = 2 * len(outer)
    found[OPERATORS] = table_of(OPERATORS, count, process, {
        "thread": np.full(count, THREAD), "depth": np.tile([0, 1], len(outer)),
        "name": words(np.arange(count) % 60, [f"aten::op_{n}" for n in range(60)]),
        "category": words(np.zeros(count, int), ["cpu_op"]),
        "start_ns": np.stack((outer, outer + 20_000), axis=1).ravel(),
        "dur_ns": np.tile([700_000, 400_000], len(outer)),
    })  # fmt: skip
    found[ANNOTATIONS] = annotations(process, first, begin)
    return found


def annotations(process: int, first: int, begin: Any) -> pa.Table:
    """Return a step and its three phases for each begin."""
    size, phases = 4 * len(begin), ["step", "Forward", "Backward", "Optimizer"]
    offsets = np.array([0, 100_000, 35_000_000, 90_000_000])
    index = np.repeat(first + np.arange(len(begin)), 4)
    names = [f"step_{n}" if at % 4 == 0 else phases[at % 4] for at, n in enumerate(index)]
    return table_of(ANNOTATIONS, size, process, {
        "thread": np.full(size, THREAD), "name": names, "series": phases * len(begin),
        "index": pa.array(index, mask=np.arange(size) % 4 != 0),
        "depth": np.tile([0, 1, 1, 1], len(begin)),
        "start_ns": (begin[:, None] + offsets).ravel(),
        "dur_ns": np.tile([98_000_000, 34_000_000, 54_000_000, 7_000_000], len(begin)),
    })  # fmt: skip


def write_profile(folder: Path, events: int) -> int:
    """Write the job into a store; return how many events it has."""
    store = LocalStore(folder)
    steps = max(events // (EVENTS_PER_STEP * PROCESSES), 2)
    end = START_NS + (steps + 1) * STEP_NS
    for process in range(PROCESSES):
        random = np.random.default_rng(process)
        part = layout.process_part(process)
        writers = {
            t: TableWriter(store, t, JOB, part)
            for t in (KERNELS, API_CALLS, OPERATORS, ANNOTATIONS)
        }
        for writer in writers.values():
            writer.__enter__()
        for first in range(0, steps, CHUNK_STEPS):
            data = chunk(process, first, min(CHUNK_STEPS, steps - first), random)
            for table, rows in data.items():
                writers[table].write(rows)
        for writer in writers.values():
            writer.__exit__(None, None, None)
    write_small_tables(store, steps, end)
    write_levels(store, end - START_NS)
    write_manifest(store, Manifest(JOB, job_row(steps, end), [], {}))
    return steps * EVENTS_PER_STEP * PROCESSES


def write_levels(store: LocalStore, span_ns: int) -> None:
    """Write the timeline levels of all processes."""
    table = TABLE_BY_NAME["timeline_levels"]
    with open_source(store, JOB) as source:
        for process in source.processes:
            gpu = load_gpu_events(source, process.process_id)
            rows = timeline_levels(source, process, gpu, span_ns)
            write_table(store, table, JOB, layout.process_part(process.process_id), rows)


def filled(table: str, **values: Any) -> dict[str, Any]:
    """Return a row with null, zero or an empty text where no value is given."""
    empty = {"string": "", "boolean": False, "double": 0.0}
    return {
        c.name: values.get(c.name, None if c.nullable else empty.get(c.kind.value, 0))
        for c in TABLE_BY_NAME[table].columns
    }


def write_small_tables(store: LocalStore, steps: int, end: int) -> None:
    """Write processes and steps."""
    rows, ranks = [], []
    for process in range(PROCESSES):
        where = {"process_id": process, "rank": process, "node": f"node-{process // PER_NODE}"}
        ranks.append(filled("processes", **where, pid=4000 + process, clock="unix",
                            start_ns=START_NS, end_ns=end))  # fmt: skip
        rows += [
            filled("step_summary", **where, thread=THREAD, occurrence=step, step=step,
                   start_ns=START_NS + step * STEP_NS, dur_ns=STEP_NS - 2_000_000)
            for step in range(steps)
        ]  # fmt: skip
    write_rows(store, TABLE_BY_NAME["processes"], JOB, layout.WHOLE_JOB_PART, ranks)
    write_rows(store, TABLE_BY_NAME["step_summary"], JOB, layout.WHOLE_JOB_PART, rows)


def job_row(steps: int, end: int) -> dict[str, Any]:
    """Return the row of the jobs table."""
    return filled(
        "jobs", status="Completed", completeness="complete", source="tracemill", start_ns=START_NS,
        end_ns=end, dur_ns=end - START_NS, simulated=True, nodes=2, steps=steps,
        schema_version=SCHEMA_VERSION,
    )  # fmt: skip


if __name__ == "__main__":
    began = time.monotonic()
    written = write_profile(Path(sys.argv[1]), int(float(sys.argv[2])) if sys.argv[2:] else 10**8)
    print(f"{written:,} events in {time.monotonic() - began:.0f} s")
