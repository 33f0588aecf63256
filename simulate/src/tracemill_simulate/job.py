"""Makes a whole job: model, recordings, truth."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tracemill_schema import layout
from tracemill_schema.errors import StoreError, UsageError

from tracemill_simulate import program
from tracemill_simulate.clocks import DRIFT_NS, EPOCH_NS, NodeClock, make_clocks
from tracemill_simulate.model import Int64, Model
from tracemill_simulate.recording import Place, Recording
from tracemill_simulate.samples import node_samples
from tracemill_simulate.scenarios import SCENARIOS, Scenario
from tracemill_simulate.truth import CollectiveTruth, RankTruth

Progress = Callable[[str, float], None]

TRUTH_VERSION = 1
_BATCH_STEPS = 128
_MAX_RANKS = 4096
_MAX_STEPS = 10_000_000


@dataclass(frozen=True)
class Settings:
    """What to simulate. UsageError if it cannot be."""

    job: str
    scenario: str
    nodes: int = 2
    gpus: int = 8
    steps: int = 50
    seed: int = 0

    def __post_init__(self) -> None:
        layout.check_name(self.job)
        if self.scenario not in SCENARIOS:
            raise UsageError(f"scenario {self.scenario!r}: take one of {', '.join(SCENARIOS)}")
        for name, value, most in (
            ("nodes", self.nodes, _MAX_RANKS),
            ("gpus", self.gpus, 64),
            ("steps", self.steps, _MAX_STEPS),
        ):
            if not 1 <= value <= most:
                raise UsageError(f"{name}: {value} is outside 1..{most}")
        if self.nodes * self.gpus > _MAX_RANKS:
            raise UsageError(f"{self.nodes} nodes x {self.gpus} GPUs: at most {_MAX_RANKS} ranks")
        if not 0 <= self.seed < 2**63:
            raise UsageError(f"seed: {self.seed} is outside 0..2^63-1")


@dataclass(frozen=True)
class Simulated:
    """What was written."""

    truth: dict[str, Any]
    truth_path: Path
    processes: int
    events: int
    size_bytes: int


def simulate(
    store: Path, settings: Settings, *, replace: bool = False, progress: Progress | None = None
) -> Simulated:
    """Write the raw segments of a simulated job and ``truth.json`` into a store folder.

    Same settings, same bytes. Raises UsageError if the store has recordings of that job and
    ``replace`` is not set, StoreError if the folder cannot be written.
    """
    folder = store / layout.raw_prefix(settings.job)
    if folder.exists() and any(folder.rglob(f"*{layout.RAW_SUFFIX}")):
        if not replace:
            raise UsageError(
                f"job {settings.job} has recordings in {store}: take another --job name, or "
                "--replace to remove them"
            )
        shutil.rmtree(folder)
    try:
        return _Job(store, settings).run(progress or (lambda _text, _fraction: None))
    except OSError as error:
        raise StoreError(f"{store}: cannot be written: {error}") from error


class _Job:
    def __init__(self, store: Path, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._scenario: Scenario = SCENARIOS[settings.scenario]
        ranks = settings.nodes * settings.gpus
        self._clock_rng, model_rng, self._sample_rng = (
            np.random.default_rng([settings.seed, stream]) for stream in range(3)
        )
        self._clocks: list[NodeClock] = make_clocks(settings.nodes, self._clock_rng)
        node_of: Int64 = np.arange(ranks, dtype=np.int64) // settings.gpus
        # Not rank 0, which others look at first anyway.
        self._slow_rank = int(self._clock_rng.integers(1, ranks)) if ranks > 1 else 0
        self._places = [
            Place(rank, rank % settings.gpus, int(node_of[rank]), f"node-{node_of[rank]}", ranks)
            for rank in range(ranks)
        ]
        self._model = Model(self._scenario, node_of, self._slow_rank, model_rng)
        self._ranks = [RankTruth(rank) for rank in range(ranks)]
        self._collectives = CollectiveTruth(ranks)

    def run(self, progress: Progress) -> Simulated:
        settings = self._settings
        recordings = [
            Recording(self._store, settings.job, place, self._clocks[place.node], {})
            for place in self._places
        ]
        for first in range(0, settings.steps, _BATCH_STEPS):
            progress(f"step {first}", first / settings.steps)
            last = min(first + _BATCH_STEPS, settings.steps)
            batch = [self._model.step(number) for number in range(first, last)]
            for step in batch:
                self._collectives.add(step)
            horizons = self._model.host_ns + EPOCH_NS
            absolute = [step.shifted(EPOCH_NS) for step in batch]
            for recording, truth, horizon in zip(recordings, self._ranks, horizons, strict=True):
                recording.add(absolute)
                truth.add(absolute, int(horizon))
        end_ns = EPOCH_NS + int(self._model.gpu_done_ns.max()) + 1_000_000
        samples = self._write_samples(recordings, end_ns)
        facts = {"scenario": self._scenario.name, "seed": settings.seed}
        size = sum(recording.finish(end_ns, facts) for recording in recordings)
        whole = self._truth(samples)
        path = self._store / layout.truth_key(settings.job)
        path.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
        progress("done", 1.0)
        return Simulated(whole, path, len(recordings), whole["events"], size)

    def _write_samples(self, recordings: list[Recording], end_ns: int) -> list[int]:
        """Write the samples of each node; only its first rank samples it."""
        counts = [0] * len(recordings)
        gpus = self._settings.gpus
        for first in range(0, len(recordings), gpus):
            shares = [truth.busy_share for truth in self._ranks[first : first + gpus]]
            columns = node_samples(EPOCH_NS, end_ns, shares, self._sample_rng)
            recordings[first].add_samples(*columns)
            counts[first] = len(columns[0])
        return counts

    def _truth(self, samples: list[int]) -> dict[str, Any]:
        settings, scenario = self._settings, self._scenario
        steps = settings.steps
        ranks = [
            truth.document(
                {
                    "rank": place.rank,
                    "local_rank": place.local_rank,
                    "node": place.node_name,
                    "device": place.local_rank,
                },
                self._clocks[place.node].error_ns,
                samples[place.rank],
            )
            for place, truth in zip(self._places, self._ranks, strict=True)
        ]
        per_step = program.LAUNCHES_PER_STEP + program.CALLS_PER_STEP + len(program.RANGES)
        return {
            "truth_version": TRUTH_VERSION,
            "simulated": True,
            "job": settings.job,
            "scenario": scenario.name,
            "description": scenario.doc,
            "seed": settings.seed,
            "nodes": [
                {
                    "node": f"node-{number}",
                    "clock_error_ns": clock.error_ns,
                    "clock_spread_ns": DRIFT_NS,
                }
                for number, clock in enumerate(self._clocks)
            ],
            "gpus": settings.nodes * settings.gpus,
            "steps": steps,
            "events": len(ranks) * steps * (per_step + 1) + sum(samples),
            "ranks": ranks,
            "collectives": self._collectives.document(),
            "findings": {
                "first": scenario.cause,
                "first_rank": self._slow_rank if scenario.slow_rank_percent != 100 else None,
                "also": list(scenario.also),
            },
        }
