"""From inputs to a finished job, in steps.

    plan      what there is to convert                    → work items
    convert   one process to event tables, each alone     → a result per item
    assemble  processes, drops, aggregates
    finish    findings, report, manifest

Every step is a function of its inputs, and what it hands on can be sent as JSON: on one machine
they run one after the other (``run``), on AWS each is a function of its own. A second run writes
the same bytes. The manifest is removed first and written last, so a job is never seen half made.
"""

from tracemill_analysis.pipeline.finish import JobOutcome
from tracemill_analysis.pipeline.run import import_traces, process_job

__all__ = ["JobOutcome", "import_traces", "process_job"]
