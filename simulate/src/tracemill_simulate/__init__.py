"""Simulator of multi-node training jobs: raw segments, and the truth about them.

    scenarios   what is wrong with the job, in numbers
    program     the calls and GPU work of one training step
    model       when they happen, on all ranks at once (true time)
    clocks      how each node's clocks differ from true time
    recording   the events as raw segments, written by the recorder's own writer
    truth       what every number of a right analysis must be

The truth is worked out from the model alone: nothing here imports the engine.
"""

from tracemill_simulate.job import Settings, Simulated, simulate
from tracemill_simulate.scenarios import SCENARIOS

__all__ = ["SCENARIOS", "Settings", "Simulated", "simulate"]
