"""Host memory that came near its limit: the next run may be killed."""

from __future__ import annotations

from tracemill_schema.vocab import Severity

from tracemill_analysis.findings.base import Finding, abstain
from tracemill_analysis.findings.ledger import Ledger
from tracemill_analysis.findings.tables import JobTables
from tracemill_analysis.units import percent, size

RULE = "memory_near_limit"
NEAR = 0.90
CRITICAL = 0.97


def evaluate(tables: JobTables, _ledger: Ledger) -> list[Finding]:
    """Report nodes that used 90 % of their memory at some sample; no time is claimed."""
    used: dict[str, float] = {}
    total: dict[str, float] = {}
    for row in tables.rows("cpu_summary"):
        if row["metric"] == "memory_used_bytes":
            used[row["node"]] = row["max"]
        elif row["metric"] == "memory_total_bytes":
            total[row["node"]] = row["max"]
    shares = {node: used[node] / total[node] for node in used if total.get(node)}
    if not shares:
        return [abstain(RULE, "samples of host memory are needed")]
    near = {node: share for node, share in shares.items() if share >= NEAR}
    if not near:
        return []
    node = max(sorted(near), key=lambda name: near[name])
    others = (
        f" ({len(near)} of {len(shares)} nodes above {percent(NEAR)})" if len(shares) > 1 else ""
    )
    return [
        Finding(
            RULE,
            Severity.HIGH if near[node] >= CRITICAL else Severity.MEDIUM,
            f"Node {node} used {percent(near[node])} of its memory at the peak: "
            f"{size(used[node])} of {size(total[node])}{others}",
            "Fewer loader workers, smaller prefetch queues, no caching of the data set per worker, "
            "or an instance with more memory. Beyond the limit the kernel kills the training.",
            confidence=0.9,
            evidence=[
                {
                    "table": "cpu_summary",
                    "node": n,
                    "max_used_bytes": used[n],
                    "total_bytes": total[n],
                }
                for n in sorted(near)
            ][:50],
        )
    ]
