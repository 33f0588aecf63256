"""Columns an importer gives for each event table; the others are worked out by the writer."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from tracemill_schema.columns import Table
from tracemill_schema.tables.events import (
    ANNOTATIONS,
    API_CALLS,
    KERNELS,
    MEMORY_OPS,
    OPERATORS,
    SYNCS,
)

from tracemill_analysis.parquet import arrow_schema

GPU_ANNOTATIONS = "gpu_annotations"
"""Name of the staged rows that say when an annotation's work ran on the GPU."""

_DERIVED = {
    KERNELS: (
        "category", "precision", "launch_start_ns", "launch_dur_ns", "launch_thread", "step",
    ),
    MEMORY_OPS: ("launch_start_ns", "launch_dur_ns", "launch_thread", "step"),
    API_CALLS: ("run_start_ns", "step"),
    SYNCS: (),
    ANNOTATIONS: ("series", "index", "depth", "gpu_start_ns", "gpu_dur_ns"),
    OPERATORS: ("depth", "step"),
}  # fmt: skip

_EXTRA: dict[Table, dict[str, Any]] = {
    KERNELS: {
        "collective_group": pa.string(),
        "collective_operation": pa.string(),
        "collective_bytes": pa.int64(),
        "collective_dtype": pa.string(),
        "collective_ranks": pa.int32(),
    },
    ANNOTATIONS: {"external_id": pa.int64()},
}


def given_columns(table: Table) -> dict[str, Any]:
    """Return name and Arrow type of the columns that an importer gives.

    Besides declared columns these are, for kernels, what is known of a collective
    (``collective_group`` … ``collective_ranks``) and, for annotations, the ``external_id`` that GPU
    annotations refer to.
    """
    derived = {"process_id", "rank", *_DERIVED[table]}
    declared = {
        field.name: field.type for field in arrow_schema(table) if field.name not in derived
    }
    return {**declared, **_EXTRA.get(table, {})}


GPU_ANNOTATION_COLUMNS: dict[str, Any] = {
    "external_id": pa.int64(),
    "start_ns": pa.int64(),
    "dur_ns": pa.int64(),
}

EVENT_TABLES: tuple[Table, ...] = tuple(_DERIVED)
"""Tables that the writer takes rows for."""

JOINED_TABLES = (API_CALLS, KERNELS, MEMORY_OPS)
"""Tables whose rows share correlation ids: calls first, then what they launch."""
