"""Recorded time before a process's first and after its last GPU event."""

from __future__ import annotations

from tracemill_schema.vocab import Severity

from tracemill_analysis.findings.base import Finding, abstain, severity_of
from tracemill_analysis.findings.ledger import Claim, Ledger
from tracemill_analysis.findings.tables import JobTables, Lane, Window
from tracemill_analysis.units import duration, percent

RULE = "gpu_idle_edges"
MIN_SHARE = 0.05
SHORT_CAPTURE_NS = 600_000_000_000
"""In a recording shorter than ten minutes set-up weighs more than in the training: information."""


def evaluate(tables: JobTables, ledger: Ledger) -> list[Finding]:
    """Report if set-up and tear-down take 5 % of the recorded time of the processes with GPUs."""
    if not tables.has_gpu:
        return [abstain(RULE, "GPU events are needed")]
    spans = {
        row["process_id"]: Window(row["start_ns"], row["end_ns"])
        for row in tables.rows("processes")
        if row["start_ns"] is not None and row["end_ns"] is not None
    }
    claim = Claim()
    evidence = []
    before = after = recorded = 0
    for row in tables.gpu_windows:
        span = spans.get(row["process_id"])
        if span is None:
            continue
        lane = Lane(row["process_id"], row["device"])
        lead = ledger.claim(lane, Window(span.start_ns, row["window_start_ns"]))
        tail = ledger.claim(lane, Window(row["window_end_ns"], span.end_ns))
        claim.add(lane, lead + tail)
        before, after, recorded = before + lead, after + tail, recorded + span.length_ns
        evidence.append(
            {
                "table": "time_breakdown",
                "rank": row["rank"],
                "process_id": row["process_id"],
                "device": row["device"],
                "idle_before_ns": lead,
                "idle_after_ns": tail,
                "recorded_ns": span.length_ns,
            }
        )
    if recorded == 0 or claim.total_ns < MIN_SHARE * recorded:
        return []
    short = max(span.length_ns for span in spans.values()) < SHORT_CAPTURE_NS
    gpus = len(tables.gpu_windows)
    mean = ", mean per GPU" if gpus > 1 else ""
    return [
        Finding(
            RULE,
            Severity.INFO if short else severity_of(claim.total_ns / recorded),
            f"No GPU event in the first {duration(before / gpus)} and the last "
            f"{duration(after / gpus)} of the recording{mean}: "
            f"{percent(claim.total_ns / recorded)} of the recorded time",
            "Before the first event: imports, data set indexing, model set-up, compilation; after "
            "the last: evaluation on the host, saving. In a long run this share shrinks by itself.",
            claim.at_stake_ns,
            claim.gpu_hours,
            0.7,
            evidence=evidence,
        )
    ]
