"""What is missing from the capture: said once, so that no figure is read as more than it is."""

from __future__ import annotations

from tracemill_schema.vocab import Severity

from tracemill_analysis.findings.base import Finding
from tracemill_analysis.findings.ledger import Ledger
from tracemill_analysis.findings.tables import JobTables
from tracemill_analysis.units import integer, percent

RULE = "partial_data"


def evaluate(tables: JobTables, _ledger: Ledger) -> list[Finding]:
    """Tell what was lost, by reason; severity info."""
    lost: dict[str, int] = {}
    for row in tables.rows("drops"):
        if row["lost"]:
            lost[row["reason"]] = lost.get(row["reason"], 0) + row["events"]
    if not lost:
        return []
    events, files = sum(lost.values()), lost.get("unreadable_file", 0)
    read = sum(row["events_read"] for row in tables.rows("processes"))
    events -= files
    parts = []
    if events:
        share = f" ({percent(events / read)})" if read else ""
        parts.append(f"{integer(events)} of {integer(read)} events{share} are missing")
    if files:
        parts.append(f"{integer(files)} {'file' if files == 1 else 'files'} could not be read")
    reasons = ", ".join(
        f"{reason} {integer(count)}"
        for reason, count in sorted(lost.items(), key=lambda i: (-i[1], i[0]))
    )
    columns = ("process_id", "rank", "source_file", "reason", "events", "example")
    return [
        Finding(
            RULE,
            Severity.INFO,
            f"{' and '.join(parts)}: {reasons}",
            "Sums and counts are too small by what is missing. The table of drops says where; "
            "ring_full and byte_budget can be avoided with larger limits or a shorter capture.",
            confidence=1.0,
            evidence=[
                {"table": "drops", **{name: row[name] for name in columns}}
                for row in tables.rows("drops")
                if row["lost"]
            ][:50],
        )
    ]
