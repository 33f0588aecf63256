"""When everything of a step happens, on all ranks at once. Times are true time in nanoseconds since
the job began.

The rules: a host thread makes its calls one after the other and runs at most one step ahead of
its GPU (not at all if it reads the loss of each step). GPU work begins some microseconds after
its call, and not before the work before it on the stream and what it depends on has ended. An
all-reduce begins on each rank when its gradients are there and ends on all ranks at the same
time, some nanoseconds apart between nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracemill_simulate import program
from tracemill_simulate.scenarios import US, Scenario

Int64 = NDArray[np.int64]
Span = tuple[Int64, Int64]
"""Starts and ends, each of shape (ranks, events)."""

_CALL_NS = 4 * US
_LATENCY_NS = 5 * US
_KERNEL_GAP_NS = 900
_THREAD_START_NS = 15 * US
_WAKE_NS = 8 * US
_LOOP_NS = 3 * US
_NS_PER_KIB = 40
_MEMSET_NS = 30 * US
_COPY_FLOOR_NS = 2 * US
_JITTER_NS = 400
_JITTER_PATTERN = (0, 1, 0, -1, 0)
"""Which collectives end later (1) or earlier (-1) on the nodes after the first: as many earlier as
later and most alike, so that the median difference between nodes is that of their clocks."""


@dataclass(frozen=True)
class Step:
    """One step of all ranks."""

    number: int
    copies: Span
    copy_calls: Span
    compute: Span
    """Kernels of the compute stream: forward, backward, optimizer."""
    compute_calls: Span
    collectives: Span
    collective_calls: Span
    zeroing: Span
    zeroing_calls: Span
    loss: Span
    loss_calls: Span
    stream_waits: Span
    host_waits: Span
    ranges: Span
    """In the order of ``program.RANGES``."""

    def shifted(self, by_ns: int) -> Step:
        """Return the step that much later."""
        moved: dict[str, Any] = {
            field.name: (value[0] + by_ns, value[1] + by_ns)
            for field in fields(self)
            if isinstance(value := getattr(self, field.name), tuple)
        }
        return replace(self, **moved)


class Model:
    """Holds the state of all ranks from step to step."""

    def __init__(
        self, scenario: Scenario, node_of: Int64, slow_rank: int, rng: np.random.Generator
    ) -> None:
        self._scenario = scenario
        self._rng = rng
        self._ranks = len(node_of)
        self._node_of = node_of
        base = np.array([launch.dur_ns for launch in program.COMPUTE], np.int64)
        percent = np.full((self._ranks, 1), scenario.kernel_percent, np.int64)
        percent[slow_rank] = percent[slow_rank] * scenario.slow_rank_percent // 100
        self._compute_ns = base[None, :] * percent // 100
        copy_ns = [_COPY_FLOOR_NS + size * _NS_PER_KIB // 1024 for size in program.INPUT_BYTES]
        self._copy_ns = np.array(copy_ns, np.int64)[None, :]
        self._collectives = 0
        self.host_ns: Int64 = self._noisy(np.full((self._ranks, 1), 500 * US), 50)[:, 0]
        """Per rank: when the next step begins. All GPU work to come begins later."""
        zero = np.zeros(self._ranks, np.int64)
        self._compute_free, self._copy_free, self._collective_free = zero, zero, zero
        self.gpu_done_ns = zero

    def step(self, number: int) -> Step:
        """Return the next step."""
        begin = self.host_ns
        loaded = begin + US + self._noisy(self._column(self._scenario.input_ns), 3)[:, 0]
        copy_calls = self._calls(loaded + 2 * US, len(program.INPUT_BYTES))
        copies = self._in_order(copy_calls, self._noisy(self._copy_ns, 5), self._copy_free)
        self._copy_free = copies[1][:, -1]
        forward_calls = self._calls(copy_calls[1][:, -1] + US, len(program.FORWARD))
        forward_end = forward_calls[1][:, -1] + US
        backward_calls, collective_calls = self._backward_calls(forward_end + _THREAD_START_NS)
        backward_end = collective_calls[1][:, -1] + _THREAD_START_NS
        stream_waits = self._calls(backward_end + 2 * US, 1)
        zeroing_calls = self._calls(stream_waits[1][:, 0] + US, 1)
        optimizer_calls = self._calls(zeroing_calls[1][:, 0] + US, len(program.OPTIMIZER))
        loss_calls = self._calls(optimizer_calls[1][:, -1] + US, 1)
        optimizer_end = loss_calls[1][:, 0] + US

        durations = self._noisy(self._compute_ns, 4)
        early = len(program.FORWARD) + len(program.BACKWARD)
        first = self._in_order(
            _beside(forward_calls, backward_calls),
            durations[:, :early],
            np.maximum(self._compute_free, copies[1][:, -1]),
        )
        collectives = self._all_reduce(collective_calls, first[1])
        all_there = np.maximum(first[1][:, -1], collectives[1][:, -1])
        zeroing = self._in_order(
            zeroing_calls, self._noisy(self._column(_MEMSET_NS), 5), all_there + _KERNEL_GAP_NS
        )
        last = self._in_order(optimizer_calls, durations[:, early:], zeroing[1][:, 0])
        loss = self._in_order(
            loss_calls, self._noisy(self._column(_COPY_FLOOR_NS), 5), last[1][:, -1]
        )
        self._compute_free = loss[1][:, 0]
        previous_done, self.gpu_done_ns = self.gpu_done_ns, loss[1][:, 0]
        awaited = self.gpu_done_ns if self._scenario.reads_loss else previous_done

        wait_from = optimizer_end + US
        wait_to = np.maximum(wait_from + 2 * US, awaited + _WAKE_NS)
        end = wait_to + US
        self.host_ns = end + _LOOP_NS
        ranges = (
            np.stack([begin, begin + US, loaded + US, forward_end, backward_end], axis=1),
            np.stack([end, loaded, forward_end, backward_end, optimizer_end], axis=1),
        )
        return Step(
            number,
            copies=copies,
            copy_calls=copy_calls,
            compute=_beside(first, last),
            compute_calls=_beside(_beside(forward_calls, backward_calls), optimizer_calls),
            collectives=collectives,
            collective_calls=collective_calls,
            zeroing=zeroing,
            zeroing_calls=zeroing_calls,
            loss=loss,
            loss_calls=loss_calls,
            stream_waits=stream_waits,
            host_waits=(wait_from[:, None], wait_to[:, None]),
            ranges=ranges,
        )

    def _column(self, value: int) -> Int64:
        return np.full((self._ranks, 1), value, np.int64)

    def _noisy(self, values: Int64, percent: int) -> Int64:
        """Vary values evenly by up to so many percent, on each rank differently."""
        shape = np.broadcast_shapes(values.shape, (self._ranks, 1))
        factor = self._rng.integers(1000 - 10 * percent, 1001 + 10 * percent, shape)
        return values * factor // 1000

    def _calls(self, begin: Int64, count: int) -> Span:
        """Calls one after the other from ``begin`` on."""
        took = self._noisy(np.full((1, count), _CALL_NS, np.int64), 10)
        pause = self._noisy(np.full((1, count), self._scenario.call_gap_ns, np.int64), 20)
        pause[:, 0] = 0
        ends = begin[:, None] + np.cumsum(took + pause, axis=1)
        return ends - took, ends

    def _backward_calls(self, begin: Int64) -> tuple[Span, Span]:
        """Kernels of the backward pass, and after those of each bucket its all-reduce."""
        each = program.PER_BUCKET + 1
        starts, ends = self._calls(begin, each * program.BUCKETS)
        is_collective = np.arange(each * program.BUCKETS) % each == each - 1
        kernels = (starts[:, ~is_collective], ends[:, ~is_collective])
        return kernels, (starts[:, is_collective], ends[:, is_collective])

    def _in_order(self, calls: Span, durations: Int64, free: Int64) -> Span:
        """Run work on one stream: each when it has come and what is before it has ended.

        With S the running sum of durations and pauses, start[k] - S[k] is the largest of
        ready[j] - S[j] over j <= k: the recurrence without a loop.
        """
        ready = calls[0] + self._noisy(np.full(durations.shape, _LATENCY_NS, np.int64), 20)
        ready[:, 0] = np.maximum(ready[:, 0], free)
        taken = durations + _KERNEL_GAP_NS
        before = np.cumsum(taken, axis=1) - taken
        starts = before + np.maximum.accumulate(ready - before, axis=1)
        return starts, starts + durations

    def _all_reduce(self, calls: Span, computed: Int64) -> Span:
        ready = calls[0] + self._noisy(np.full(calls[0].shape, _LATENCY_NS, np.int64), 20)
        took = self._rng.integers(970, 1031, program.BUCKETS) * self._scenario.collective_ns // 1000
        starts, ends = np.empty_like(ready), np.empty_like(ready)
        for bucket in range(program.BUCKETS):
            gradients = len(program.FORWARD) + (bucket + 1) * program.PER_BUCKET
            start = np.maximum(ready[:, bucket], computed[:, gradients - 1])
            start = np.maximum(start, self._collective_free + _KERNEL_GAP_NS)
            sign = _JITTER_PATTERN[self._collectives % len(_JITTER_PATTERN)]
            jitter = sign * int(self._rng.integers(50, _JITTER_NS))
            self._collectives += 1
            end = start.max() + took[bucket] + np.where(self._node_of > 0, jitter, 0)
            starts[:, bucket], ends[:, bucket] = start, end
            self._collective_free = end
        return starts, ends


def _beside(one: Span, other: Span) -> Span:
    return np.concatenate((one[0], other[0]), axis=1), np.concatenate((one[1], other[1]), axis=1)
