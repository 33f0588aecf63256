"""Is a pipeline-parallel job slowed by one worker or by a whole stage? A what-if on work per rank.

The step time of a pipeline with ``m`` microbatches is taken as that of its slowest data-parallel
copy: the sum of its stages' work on one microbatch, and ``m - 1`` times its slowest stage's. A
cause is judged by what the step would gain were its work the mean of all ranks, as a share of what
it would gain were all ranks alike. The share can pass 1: where a whole stage is slow it lifts the
mean too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

Place = tuple[int, int]
"""Pipeline stage, and which of its data-parallel copies."""

MIN_SHARE = 0.5
"""A cause that explains less of the loss than this is not named."""

MIN_LOSS = 0.02
"""Below this share of the step time nothing is worth a verdict."""


class Cause(StrEnum):
    """What slows the step."""

    WORKER = "worker"
    STAGE = "stage"
    UNCLEAR = "unclear"
    BALANCED = "balanced"


@dataclass(frozen=True)
class Attribution:
    """The verdict. Times are ns of one step, by the model; shares are of ``step_ns - ideal_ns``.

    ``worker`` and ``stage`` are the ones whose mending gains most.
    """

    cause: Cause
    step_ns: float
    ideal_ns: float
    worker: Place
    worker_share: float
    stage: int
    stage_share: float


def attribute(work_ns: Mapping[Place, float], microbatches: int) -> Attribution:
    """Judge the mean work (ns) of each rank on one microbatch, forward and backward together.

    ValueError without at least two stages, or where copies do not have the same stages.
    """
    stages = sorted({stage for stage, _ in work_ns})
    copies = sorted({copy for _, copy in work_ns})
    if len(stages) < 2 or len(work_ns) != len(stages) * len(copies) or microbatches < 1:
        raise ValueError("work of every stage in every copy, of two stages or more, is needed")
    mean = sum(work_ns.values()) / len(work_ns)
    step = _step(work_ns, stages, copies, microbatches)
    ideal = mean * (len(stages) + microbatches - 1)
    loss = step - ideal

    def share(mended: Iterable[Place]) -> float:
        better = {**work_ns, **dict.fromkeys(mended, mean)}
        gain = step - _step(better, stages, copies, microbatches)
        return gain / loss if loss > 0 else 0.0

    by_worker = {place: share([place]) for place in work_ns}
    by_stage = {stage: share((stage, copy) for copy in copies) for stage in stages}
    worker = max(by_worker, key=lambda place: (by_worker[place], work_ns[place]))
    stage = max(by_stage, key=lambda one: by_stage[one])
    return Attribution(
        _cause(loss / step if step else 0.0, by_worker[worker], by_stage[stage]),
        step,
        ideal,
        worker,
        by_worker[worker],
        stage,
        by_stage[stage],
    )


def _step(
    work_ns: Mapping[Place, float], stages: list[int], copies: list[int], microbatches: int
) -> float:
    each = ([work_ns[stage, copy] for stage in stages] for copy in copies)
    return max(sum(work) + (microbatches - 1) * max(work) for work in each)


def _cause(loss: float, worker_share: float, stage_share: float) -> Cause:
    if loss < MIN_LOSS:
        return Cause.BALANCED
    # A worker explains its stage as well, but a stage never one worker: the worker is asked first.
    if worker_share >= MIN_SHARE:
        return Cause.WORKER
    return Cause.STAGE if stage_share >= MIN_SHARE else Cause.UNCLEAR
