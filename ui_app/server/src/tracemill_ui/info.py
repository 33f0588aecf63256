"""The Info page: what was recorded, by which processes, with which clocks, and what was dropped."""

from __future__ import annotations

from typing import Any

from tracemill_schema.tables.profile import DROPS, JOBS, PROCESSES

from tracemill_ui.panels.dashboard import job_row
from tracemill_ui.panels.model import Context

MAX_ROWS = 2_000


def information(context: Context) -> dict[str, Any]:
    """Return the JOBS row with each column's meaning, and the process and drop rows (bounded)."""
    tables = context.profile.tables
    processes, drops = tables[PROCESSES.name], tables[DROPS.name]
    return {
        "job_name": context.profile.entry.name,
        "job": job_row(context),
        "about": {column.name: column.doc for column in JOBS.columns},
        "units": {column.name: column.unit for column in JOBS.columns},
        "processes": processes.sort_by("process_id").slice(0, MAX_ROWS).to_pylist(),
        "processes_total": processes.num_rows,
        "drops": drops.sort_by([("lost", "descending"), ("events", "descending")])
        .slice(0, MAX_ROWS)
        .to_pylist(),
        "drops_total": drops.num_rows,
    }
