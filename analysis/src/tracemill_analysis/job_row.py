"""The row of the ``jobs`` table: facts of a whole profile, computed from its other tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tracemill_schema import SCHEMA_VERSION
from tracemill_schema.tables import TABLE_BY_NAME
from tracemill_schema.vocab import Completeness, RunStatus, Severity, WindowKind

from tracemill_analysis.parquet import read_table
from tracemill_analysis.store import Store

_COUNTED_SEVERITIES = (Severity.HIGH, Severity.MEDIUM, Severity.LOW)


def build_job_row(
    store: Store,
    job: str,
    *,
    status: RunStatus,
    partial: bool,
    simulated: bool,
    instance_types: Sequence[str],
    verdict: str,
) -> dict[str, Any]:
    """Return the job's row; ``partial`` tells that an input could not be read."""
    processes = read_table(store, TABLE_BY_NAME["processes"], job).to_pylist()
    breakdown = _rows(
        store, job, "time_breakdown", ["window_kind", "window_ns", "busy_ns", "gpu_events"]
    )
    whole = [row for row in breakdown if row["window_kind"] == WindowKind.ALL_GPU]
    findings = _rows(store, job, "findings", ["severity", "abstained"])
    starts = [p["start_ns"] for p in processes if p["start_ns"] is not None]
    ends = [p["end_ns"] for p in processes if p["end_ns"] is not None]
    start_ns, end_ns = min(starts, default=0), max(ends, default=0)
    complete = not partial and all(p["complete"] for p in processes)
    return {
        "status": str(status),
        "completeness": str(Completeness.COMPLETE if complete else Completeness.PARTIAL),
        "source": _one_or_mixed({p["source_format"] for p in processes}),
        "framework": _joined(p["framework"] for p in processes),
        "device_name": _joined(p["device_name"] for p in processes),
        "instance_type": _joined(instance_types),
        "nodes": len({p["node"] for p in processes}),
        "gpus": _gpus(processes),
        "ranks": len({p["rank"] for p in processes if p["rank"] is not None}),
        "processes": len(processes),
        "start_ns": start_ns,
        "end_ns": end_ns,
        "dur_ns": end_ns - start_ns,
        "steps": len({row["step"] for row in _rows(store, job, "step_summary", ["step"])}),
        "gpu_events": sum(row["gpu_events"] for row in whole),
        "events_read": sum(p["events_read"] for p in processes),
        "events_kept": sum(p["events_kept"] for p in processes),
        "events_dropped": sum(p["events_dropped"] for p in processes),
        "gpu_utilization": _mean([r["busy_ns"] / r["window_ns"] for r in whole if r["window_ns"]]),
        "cpu_utilization": _cpu_utilization(store, job),
        "findings": sum(
            1 for f in findings if f["severity"] in _COUNTED_SEVERITIES and not f["abstained"]
        ),
        "verdict": verdict,
        "simulated": simulated,
        "schema_version": SCHEMA_VERSION,
    }


def _rows(store: Store, job: str, table: str, columns: list[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = read_table(store, TABLE_BY_NAME[table], job, columns).to_pylist()
    return rows


def _gpus(processes: Sequence[dict[str, Any]]) -> int:
    """Distinct GPUs: two processes of one node that use the same index share it."""
    return len(
        {(p["node"], device) for p in processes for device in p["devices"].split(",") if device}
    )


def _cpu_utilization(store: Store, job: str) -> float | None:
    rows = _rows(store, job, "cpu_summary", ["metric", "index", "mean"])
    return _mean([r["mean"] for r in rows if r["metric"] == "cpu_utilization" and r["index"] == -1])


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _joined(values: Iterable[str | None]) -> str | None:
    return ", ".join(sorted({value for value in values if value})) or None


def _one_or_mixed(values: set[str]) -> str:
    return values.pop() if len(values) == 1 else "mixed"
