"""Host CPUs that are busy nearly all the time."""

from __future__ import annotations

from tracemill_schema.vocab import Severity

from tracemill_analysis.findings.base import Finding, abstain
from tracemill_analysis.findings.ledger import Ledger
from tracemill_analysis.findings.tables import JobTables
from tracemill_analysis.units import percent

RULE = "cpu_saturation"
SATURATED = 0.90
WHOLE_NODE = -1


def evaluate(tables: JobTables, _ledger: Ledger) -> list[Finding]:
    """Report nodes whose cores are busy 90 % on average; no time is claimed.

    In a job without GPUs the CPUs do the training, so being busy is only information.
    """
    nodes = [
        row
        for row in tables.rows("cpu_summary")
        if row["metric"] == "cpu_utilization" and row["index"] == WHOLE_NODE
    ]
    if not nodes:
        return [abstain(RULE, "samples of CPU utilisation are needed")]
    busy = [row for row in nodes if row["mean"] >= SATURATED]
    if not busy:
        return []
    worst = max(busy, key=lambda row: row["mean"])
    where = f"Node {worst['node']}" if len(nodes) == 1 else f"{len(busy)} of {len(nodes)} nodes"
    columns = ("node", "samples", "mean", "p95", "max")
    return [
        Finding(
            RULE,
            Severity.MEDIUM if tables.has_gpu else Severity.INFO,
            f"{where}: the CPU cores are busy {percent(worst['mean'])} of the time on average"
            + ("" if len(nodes) == 1 else f" (worst: {worst['node']})"),
            "The input pipeline and the launching threads compete for cores. Use fewer loader "
            "workers than cores, move decoding to the GPU, or take an instance with more cores per "
            "GPU."
            if tables.has_gpu
            else "The cores do the training here, so this is expected; more cores would help.",
            confidence=0.6,
            evidence=[{"table": "cpu_summary", **{n: row[n] for n in columns}} for row in busy][
                :50
            ],
        )
    ]
