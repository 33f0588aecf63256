"""Last step: findings, report, and the manifest that makes the job visible."""

from __future__ import annotations

from dataclasses import dataclass

from tracemill_schema import layout
from tracemill_schema.tables import TABLE_BY_NAME, TABLES

from tracemill_analysis.finish import finish_job
from tracemill_analysis.importers.base import Progress, no_progress
from tracemill_analysis.manifest import Manifest, list_tables, write_manifest
from tracemill_analysis.parquet import read_table
from tracemill_analysis.pipeline.assemble import JobFacts
from tracemill_analysis.pipeline.plan import Rejected
from tracemill_analysis.store import Store


@dataclass(frozen=True)
class JobOutcome:
    """What processing a job gave: its manifest, the inputs left out, the losses by reason."""

    manifest: Manifest
    rejected: tuple[Rejected, ...]
    drops: dict[str, int]

    @property
    def partial(self) -> bool:
        """True if something that was found could not be read."""
        return bool(self.manifest.job["completeness"] != "complete")


def begin(store: Store, job: str) -> None:
    """Take a job out of sight before its objects are replaced: manifest, failure record."""
    store.delete_prefix(layout.job_prefix(job))


def finish(store: Store, job: str, known: JobFacts, progress: Progress = no_progress) -> JobOutcome:
    """Write findings, the jobs row, the report and, last, the manifest of an assembled job."""
    progress("report", -1.0)
    job_row, verdict = finish_job(store, job, known.facts)
    tables = list_tables(store, job, [table.name for table in TABLES])
    values = {**job_row, **known.facts}
    manifest = Manifest(job, values, known.inputs, tables, verdict=list(verdict))
    write_manifest(store, manifest)
    return JobOutcome(manifest, known.rejected, _drops(store, job))


def _drops(store: Store, job: str) -> dict[str, int]:
    totals: dict[str, int] = {}
    for row in read_table(store, TABLE_BY_NAME["drops"], job, ["reason", "events"]).to_pylist():
        totals[row["reason"]] = totals.get(row["reason"], 0) + row["events"]
    return totals
