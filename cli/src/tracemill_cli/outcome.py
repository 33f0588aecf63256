"""Tells the outcome of processing: a summary for people, one object for programs."""

from __future__ import annotations

import json
from typing import Any

from tracemill_analysis.pipeline import JobOutcome
from tracemill_analysis.store import Store
from tracemill_schema import layout
from tracemill_schema.vocab import DropReason

from tracemill_cli.console import remark


def outcome_document(store: Store, outcome: JobOutcome) -> dict[str, Any]:
    """Return what ``--json`` prints."""
    manifest = outcome.manifest
    return {
        "job": manifest.job_name,
        "store": store.address,
        "completeness": manifest.job["completeness"],
        "partial": outcome.partial,
        "verdict": manifest.verdict,
        "processes": manifest.job["processes"],
        "ranks": manifest.job["ranks"],
        "events_read": manifest.job["events_read"],
        "events_kept": manifest.job["events_kept"],
        "events_dropped": manifest.job["events_dropped"],
        "drops": outcome.drops,
        "rejected": [{"path": path, "error": error} for path, error in outcome.rejected],
        "report": layout.report_key(manifest.job_name, "html"),
    }


def tell(store: Store, outcome: JobOutcome, *, as_json: bool) -> None:
    """Print the outcome; what was lost or left out goes to stderr in any case."""
    for _, error in outcome.rejected:
        remark(f"left out: {error}")
    lost = {r: n for r, n in outcome.drops.items() if DropReason(r).loses_event}
    if outcome.partial:
        reasons = ", ".join(f"{reason} {events}" for reason, events in lost.items())
        remark(f"job {outcome.manifest.job_name} is partial" + (f": {reasons}" if reasons else ""))
    document = outcome_document(store, outcome)
    if as_json:
        print(json.dumps(document, indent=1))
        return
    print("\n".join(outcome.manifest.verdict))
    print(
        f"{document['events_kept']:,} events of {document['processes']} processes in "
        f"{store.address}, job {document['job']}"
    )
    print(f"report: {store.address.rstrip('/')}/{document['report']}")
