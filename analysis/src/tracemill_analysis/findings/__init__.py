"""Findings: rules that read the aggregates of a job and say what costs it time.

One rule per file, listed in ``registry``; thresholds are documented in docs/findings.md.
"""

from __future__ import annotations

from tracemill_analysis.findings.base import Finding, order
from tracemill_analysis.findings.ledger import Ledger
from tracemill_analysis.findings.registry import RULES
from tracemill_analysis.findings.tables import JobTables

__all__ = ["RULES", "Finding", "JobTables", "evaluate"]


def evaluate(tables: JobTables) -> list[Finding]:
    """Run all rules: problems by what is at stake, then information, then abstentions."""
    ledger = Ledger(tables)
    return order(finding for rule in RULES for finding in rule.evaluate(tables, ledger))
