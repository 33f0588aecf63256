"""What rules about steps share: which steps count, how long a step waited, what to call a range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracemill_analysis.findings.tables import JobTables, Row, Window

MIN_STEPS = 5
"""Steps a rank needs, beside its first, before one can be said to differ from the others."""


def judged_steps(rows: Sequence[Row]) -> list[Row]:
    """Return the steps of a rank without its first: that one pays for warm-up."""
    return [row for row in rows if row["occurrence"] > 0]


def work_ns(row: Row) -> int:
    """Host time of a step outside its input ranges."""
    return max(0, int(row["dur_ns"]) - int(row["input_ns"]))


def gap_ns(row: Row) -> int:
    """Time between the previous step's end and this step, 0 for the first."""
    return max(0, row["gap_before_ns"] or 0)


def names_input(rows: Sequence[Row]) -> bool:
    """Tell whether the recording of a rank has input ranges at all."""
    return any(row["input_ns"] or row["gap_input_ns"] for row in rows)


def wait_ns(row: Row, named: bool) -> int:
    """Time a step waited for input, before it and within it.

    ``named``: the rank's recording has input ranges; their time is the wait. Without any, the gap
    before the step is taken for it.
    """
    if named:
        return int(row["input_ns"]) + int(row["gap_input_ns"] or 0)
    return gap_ns(row)


def wait_window(row: Row) -> Window:
    """Return the span a step's wait lies in: from the previous step's end to its own end."""
    return Window(row["start_ns"] - gap_ns(row), row["start_ns"] + row["dur_ns"])


@dataclass(frozen=True)
class Phase:
    """The annotation inside a step that explains why the step took long."""

    series: str
    dur_ns: int
    median_ns: int


def phase_that_grew(tables: JobTables, row: Row, excess_ns: int) -> Phase | None:
    """Return the annotation whose longest range lies in this step and makes up most of its excess.

    Of nested ranges that grew alike the one with the shortest median is named: the innermost.
    ``annotation_summary`` knows only the longest range of each series, so a step that is not the
    slowest of any series has no answer.
    """
    found = []
    for other in tables.rows("annotation_summary"):
        start = other["slowest_start_ns"]
        inside = row["start_ns"] <= start < row["start_ns"] + row["dur_ns"]
        if other["process_id"] != row["process_id"] or not inside or other["count"] < MIN_STEPS:
            continue
        if start == row["start_ns"] and other["max_ns"] == row["dur_ns"]:
            continue  # the step's own range
        growth = other["max_ns"] - other["p50_ns"]
        if growth >= excess_ns / 2 and other["max_ns"] <= row["dur_ns"]:
            found.append((other["p50_ns"], other["series"], other["max_ns"]))
    if not found:
        return None
    median_ns, series, dur_ns = min(found)
    return Phase(series, dur_ns, median_ns)


def name_steps(tables: JobTables, steps: Sequence[int]) -> str:
    """Write step numbers: ``step_23``, or ``steps 30 to 33`` for a run of them."""
    if len(steps) == 1:
        return tables.step_label(steps[0])
    return f"steps {steps[0]} to {steps[-1]}"


def name_ranks(tables: JobTables, process_ids: Sequence[int]) -> str:
    """Write which ranks something happened on; empty for a job of one process."""
    everyone = len(tables.steps) or len(tables.rows("processes"))
    if everyone <= 1:
        return ""
    if len(process_ids) == 1:
        rank = tables.rank_of(process_ids[0])
        return f" on rank {rank}" if rank is not None else f" on process {process_ids[0]}"
    return f" on {len(process_ids)} of {everyone} ranks"
