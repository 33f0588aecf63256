"""The rules, in the order in which they claim time: the most specific cause first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tracemill_analysis.findings import (
    cpu_saturation,
    exposed_communication,
    gpu_idle_edges,
    input_bound,
    launch_bound,
    memory_limit,
    outlier_steps,
    pageable_copies,
    partial_data,
    rank_imbalance,
    slow_input,
    small_kernels,
    tensor_cores,
    warm_up,
)
from tracemill_analysis.findings.base import Finding
from tracemill_analysis.findings.ledger import Ledger
from tracemill_analysis.findings.tables import JobTables


@dataclass(frozen=True)
class Rule:
    """One rule: its name and the function that evaluates it."""

    name: str
    evaluate: Callable[[JobTables, Ledger], list[Finding]]


RULES: tuple[Rule, ...] = tuple(
    Rule(module.RULE, module.evaluate)
    for module in (
        warm_up,
        outlier_steps,
        slow_input,
        input_bound,
        gpu_idle_edges,
        rank_imbalance,
        exposed_communication,
        pageable_copies,
        small_kernels,
        launch_bound,
        tensor_cores,
        cpu_saturation,
        memory_limit,
        partial_data,
    )
)
