"""Simulated events as raw segments, written by the recorder's own encoder and block writer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tracemill import __version__, _generated, _native
from tracemill_schema import layout
from tracemill_schema.options import OPTION_BY_NAME

from tracemill_simulate import program
from tracemill_simulate.clocks import DRIFT_NS, EPOCH_NS, NodeClock
from tracemill_simulate.model import Int64, Span, Step

_FIRST_PID = 1000
_FIRST_THREAD = 10_000
_CONTEXT = 1
_RUNTIME = 0
_HTOD, _DTOH = 1, 2
_PINNED, _DEVICE = 2, 3
_EVENT_SYNC = 1
_UNUSED = -1


@dataclass(frozen=True)
class Place:
    """Where a rank runs."""

    rank: int
    local_rank: int
    node: int
    node_name: str
    world_size: int

    @property
    def pid(self) -> int:
        """Process id on its node."""
        return _FIRST_PID + self.local_rank

    def thread(self, which: int) -> int:
        """Id of a thread (``program.MAIN``, ``program.AUTOGRAD``)."""
        return _FIRST_THREAD + 10 * self.local_rank + which


def _call_indexes() -> dict[str, Int64]:
    """Place of each call among those of its step, in the order the host makes them."""
    each = program.PER_BUCKET + 1
    first_backward = len(program.INPUT_BYTES) + len(program.FORWARD)
    backward = first_backward + np.arange(each * program.BUCKETS)
    is_collective = np.arange(len(backward)) % each == each - 1
    rest = int(backward[-1]) + 1
    optimizer = rest + 2 + np.arange(len(program.OPTIMIZER))
    loss = int(optimizer[-1]) + 1
    forward = np.arange(len(program.INPUT_BYTES), first_backward)
    return {
        "copies": np.arange(len(program.INPUT_BYTES)),
        "compute": np.concatenate((forward, backward[~is_collective], optimizer)),
        "collectives": backward[is_collective],
        "stream_wait": np.array([rest]),
        "zeroing": np.array([rest + 1]),
        "loss": np.array([loss]),
        "host_wait": np.array([loss + 1]),
    }


_INDEX = _call_indexes()
_COMPUTE_THREADS = np.array(
    [program.MAIN] * len(program.FORWARD)
    + [program.AUTOGRAD] * len(program.BACKWARD)
    + [program.MAIN] * len(program.OPTIMIZER)
)


class Recording:
    """The recording of one rank. OSError if the folder cannot be written."""

    def __init__(
        self, store: Path, job: str, place: Place, clock: NodeClock, facts: dict[str, Any]
    ):
        self.place = place
        self._clock = clock
        key = layout.SegmentKey(job, place.node_name, place.pid, clock.realtime_ns(EPOCH_NS), 0)
        self._native = _native.Replay(
            str((store / layout.segment_key(key)).parent),
            _meta_members(job, place, key.start_ns, facts),
            int(OPTION_BY_NAME["rotate_bytes"].default or 0),
            clock.monotonic_ns(EPOCH_NS),
            clock.realtime_ns(EPOCH_NS),
        )
        self._names = {name: self._native.name(name) for name in (*_CALLS, *program.RANGES)}
        self._signatures = np.array(
            [self._native.signature(k.name, *k.shape) for k in program.COMPUTE], np.int64
        )
        self._all_reduce = self._native.signature(
            program.ALL_REDUCE.name, *program.ALL_REDUCE.shape
        )

    def add(self, steps: Sequence[Step]) -> None:
        """Write steps: the rows of this rank in them."""
        self._add_kernels(steps)
        self._add_memory(steps)
        self._add_calls(steps)
        self._add_ranges(steps)
        self._native.flush()

    def add_samples(self, metrics: Int64, indexes: Int64, times: Int64, values: Int64) -> None:
        """Write samples (arrays of one length; true times)."""
        self._give("samples", metrics, indexes, self._times(times), values)

    def finish(self, true_ns: int, scenario: dict[str, Any]) -> int:
        """End the recording and return its size in bytes."""
        realtime = self._clock.realtime_ns(true_ns)
        self._native.set_clock(self._clock.monotonic_ns(true_ns), realtime + DRIFT_NS)
        end = {"end_reason": "exit", "stop_reason": "exit", "end_ns": realtime, "notices": []}
        members = json.dumps({**end, "simulation": scenario})[1:-1]
        return self._native.finish(members)[0]

    def _times(self, true_ns: Int64) -> Int64:
        return true_ns - self._clock.booted_ns

    def _rows(self, spans: Sequence[Span]) -> tuple[Int64, Int64]:
        """Starts and ends of this rank on its own clock, each of shape (steps, events)."""
        rank = self.place.rank
        starts = np.stack([span[0][rank] for span in spans])
        ends = np.stack([span[1][rank] for span in spans])
        return self._times(starts), self._times(ends)

    def _correlations(self, steps: Sequence[Step], what: str) -> Int64:
        numbers = np.array([step.number for step in steps], np.int64)
        return 1 + numbers[:, None] * program.CALLS_PER_STEP + _INDEX[what][None, :]

    def _give(self, kind: str, *columns: Int64 | int) -> None:
        """Hand rows to the writer; a number stands for a column of it."""
        rows = max(np.size(column) for column in columns)
        table = np.empty((len(columns), rows), np.int64)
        for at, column in enumerate(columns):
            table[at] = np.ravel(column)
        self._native.add(kind, len(columns), table.tobytes())

    def _track(self, stream: int) -> tuple[int, int, int]:
        return self.place.local_rank, _CONTEXT, stream

    def _add_kernels(self, steps: Sequence[Step]) -> None:
        compute = self._rows([step.compute for step in steps])
        signatures = np.broadcast_to(self._signatures, compute[0].shape)
        of_compute = self._correlations(steps, "compute")
        track = self._track(program.COMPUTE_STREAM)
        self._give("kernels", *track, *compute, of_compute, signatures, 0)
        collectives = self._rows([step.collectives for step in steps])
        correlations = self._correlations(steps, "collectives")
        track = self._track(program.COLLECTIVE_STREAM)
        self._give("kernels", *track, *collectives, correlations, self._all_reduce, 0)

    def _add_memory(self, steps: Sequence[Step]) -> None:
        copies = self._rows([step.copies for step in steps])
        sizes = np.broadcast_to(np.array(program.INPUT_BYTES, np.int64), copies[0].shape)
        correlations = self._correlations(steps, "copies")
        track = self._track(program.COPY_STREAM)
        inwards = (_HTOD, _PINNED, _DEVICE, 0, sizes)
        self._give("memcpys", *track, *copies, correlations, *inwards)
        loss = self._rows([step.loss for step in steps])
        track = self._track(program.COMPUTE_STREAM)
        outwards = (_DTOH, _DEVICE, _PINNED, 0, program.LOSS_BYTES)
        self._give("memcpys", *track, *loss, self._correlations(steps, "loss"), *outwards)
        zeroing = self._rows([step.zeroing for step in steps])
        what = (_DEVICE, 0, program.ZEROED_BYTES)
        self._give("memsets", *track, *zeroing, self._correlations(steps, "zeroing"), *what)

    def _add_calls(self, steps: Sequence[Step]) -> None:
        main = self.place.thread(program.MAIN)
        threads: dict[str, Int64 | int] = {
            "compute": main + _COMPUTE_THREADS - program.MAIN,
            "collectives": self.place.thread(program.AUTOGRAD),
        }
        spans = {
            "copies": [step.copy_calls for step in steps],
            "compute": [step.compute_calls for step in steps],
            "collectives": [step.collective_calls for step in steps],
            "stream_wait": [step.stream_waits for step in steps],
            "zeroing": [step.zeroing_calls for step in steps],
            "loss": [step.loss_calls for step in steps],
            "host_wait": [step.host_waits for step in steps],
        }
        for what, found in spans.items():
            starts, ends = self._rows(found)
            thread = np.broadcast_to(threads.get(what, main), starts.shape)
            name = self._names[_CALL_NAMES[what]]
            correlations = self._correlations(steps, what)
            self._give("api_calls", thread, starts, ends, correlations, name, _RUNTIME)
        starts, ends = self._rows(spans["host_wait"])
        correlations = self._correlations(steps, "host_wait")
        self._give("gpu_syncs", _EVENT_SYNC, _CONTEXT, _UNUSED, correlations, starts, ends)

    def _add_ranges(self, steps: Sequence[Step]) -> None:
        starts, ends = self._rows([step.ranges for step in steps])
        names = np.array([self._names[name] for name in program.RANGES], np.int64)
        indexes = np.full(starts.shape, -1, np.int64)
        indexes[:, 0] = [step.number for step in steps]
        depths = np.array([0] + [1] * (len(program.RANGES) - 1), np.int64)
        self._give(
            "annotations",
            self.place.thread(program.MAIN),
            np.broadcast_to(names, starts.shape),
            indexes,
            np.broadcast_to(depths, starts.shape),
            starts,
            ends - starts,
        )


_CALL_NAMES = {
    "copies": "cudaMemcpyAsync",
    "compute": "cudaLaunchKernel",
    "collectives": "cudaLaunchKernelExC",
    "stream_wait": "cudaStreamWaitEvent",
    "zeroing": "cudaMemsetAsync",
    "loss": "cudaMemcpyAsync",
    "host_wait": "cudaEventSynchronize",
}
_CALLS = tuple(dict.fromkeys(_CALL_NAMES.values()))


def _meta_members(job: str, place: Place, start_ns: int, facts: dict[str, Any]) -> str:
    """What a segment says about its process: as a recorder's, but labelled simulated."""
    meta = {
        "pid": place.pid,
        "start_ns": start_ns,
        "tracemill_version": __version__,
        "job": job,
        "node": place.node_name,
        "rank": place.rank,
        "local_rank": place.local_rank,
        "world_size": place.world_size,
        "framework": "simulated training loop",
        "instance_type": None,
        "command": "simulate",
        "simulated": True,
        "options": {},
        "gpu": {"devices": [{"device": place.local_rank, "name": "simulated GPU"}]},
        **facts,
    }
    return f'{json.dumps(meta)[1:-1]},"kinds":{_generated.KINDS_JSON}'
