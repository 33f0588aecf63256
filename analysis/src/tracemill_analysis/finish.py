"""The last step of processing: findings, verdict, the job's row, the stored report."""

from __future__ import annotations

import json
from typing import Any

from tracemill_schema import layout
from tracemill_schema.tables import TABLE_BY_NAME
from tracemill_schema.vocab import RunStatus

from tracemill_analysis import findings, report
from tracemill_analysis.job_row import build_job_row
from tracemill_analysis.parquet import write_rows
from tracemill_analysis.report.model import build_report, verdict
from tracemill_analysis.store import Store


def finish_job(
    store: Store, job: str, facts: dict[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Write findings, jobs row and report of an aggregated job.

    ``facts`` are what the event tables do not tell: status, partial, simulated, instance_types.
    Returns the jobs row and the verdict's lines.
    """
    tables = findings.JobTables(store, job)
    found = findings.evaluate(tables)
    rows = [
        {
            "position": position,
            "rule": finding.rule,
            "severity": str(finding.severity),
            "title": finding.title,
            "advice": finding.advice,
            "at_stake_ns": finding.at_stake_ns,
            "gpu_hours": finding.gpu_hours,
            "confidence": finding.confidence,
            "abstained": finding.abstained,
            "evidence": json.dumps(finding.evidence, sort_keys=True),
        }
        for position, finding in enumerate(found)
    ]
    if rows:
        write_rows(store, TABLE_BY_NAME["findings"], job, layout.WHOLE_JOB_PART, rows)
    else:
        store.delete_prefix(layout.table_prefix("findings", job))
    lines = verdict(tables, found)
    job_row = build_job_row(
        store,
        job,
        status=RunStatus(facts["status"]),
        partial=facts["partial"],
        simulated=facts["simulated"],
        instance_types=facts["instance_types"],
        verdict=lines[0],
    )
    write_rows(store, TABLE_BY_NAME["jobs"], job, layout.WHOLE_JOB_PART, [job_row])
    model = build_report(store, job, found, job_row)
    for fmt in layout.REPORT_FORMATS:
        store.write_bytes(layout.report_key(job, fmt), report.render(model, fmt).encode())
    return job_row, lines
