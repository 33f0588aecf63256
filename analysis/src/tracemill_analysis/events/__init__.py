"""From rows of an importer to event tables: linking, steps, depths, collectives, time slices.

``write_events`` is the one call for importers that hold their rows; ``EventWriter`` takes them
batch by batch in bounded memory.
"""

from tracemill_analysis.events.series import STEP_SERIES, fold
from tracemill_analysis.events.writer import EventSummary, EventWriter, write_events

__all__ = ["STEP_SERIES", "EventSummary", "EventWriter", "fold", "write_events"]
