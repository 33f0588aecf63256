"""What a finding is, and how much it has to matter to be called high, medium or low."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tracemill_schema.vocab import Severity

HIGH_SHARE = 0.10
MEDIUM_SHARE = 0.03
NS_PER_HOUR = 3_600_000_000_000


@dataclass(frozen=True)
class Finding:
    """One result of one rule. Fields are the columns of the ``findings`` table.

    ``at_stake_ns`` is wall-clock time per GPU (or per process, if the job has no GPU), the mean
    over those concerned; ``gpu_hours`` is the same time summed over the GPUs. ``evidence`` holds
    the aggregate rows the finding rests on, as plain dictionaries that JSON can carry.
    """

    rule: str
    severity: Severity
    title: str
    advice: str
    at_stake_ns: int = 0
    gpu_hours: float = 0.0
    confidence: float = 1.0
    abstained: bool = False
    evidence: list[dict[str, Any]] = field(default_factory=list)

    @property
    def counts(self) -> bool:
        """True if it is a problem: severity high, medium or low."""
        return not self.abstained and self.severity is not Severity.INFO


def abstain(rule: str, needed: str) -> Finding:
    """Return the finding of a rule the capture cannot answer; ``needed`` says what would do."""
    return Finding(rule, Severity.INFO, needed, "", confidence=0.0, abstained=True)


def severity_of(share: float) -> Severity:
    """Grade a finding by the share of the observed time it has at stake."""
    if share >= HIGH_SHARE:
        return Severity.HIGH
    return Severity.MEDIUM if share >= MEDIUM_SHARE else Severity.LOW


def order(findings: Iterable[Finding]) -> list[Finding]:
    """Sort: problems by what is at stake, then information, then abstentions."""

    def key(finding: Finding) -> tuple[Any, ...]:
        rank = list(Severity).index(finding.severity)
        return (
            finding.abstained,
            finding.severity is Severity.INFO,
            -finding.gpu_hours,
            -finding.at_stake_ns,
            rank,
            finding.rule,
            finding.title,
        )

    return sorted(findings, key=key)
