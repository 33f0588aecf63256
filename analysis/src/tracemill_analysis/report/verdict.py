"""The verdict: three lines that open every report.

1. What dominates, with its window and denominator. 2. The most costly findings. 3. What the data is
worth: complete or partial, and what was lost.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracemill_analysis.findings.base import Finding
from tracemill_analysis.findings.stats import median
from tracemill_analysis.findings.steps import gap_ns, names_input, wait_ns
from tracemill_analysis.findings.tables import JobTables, Row
from tracemill_analysis.units import at_stake, duration, integer, percent, plural

NAMED_REASONS = 3


def verdict(tables: JobTables, findings: Sequence[Finding]) -> tuple[str, str, str]:
    """Return the three lines. Needs no row of ``jobs``."""
    return _dominates(tables), _costs(findings), _worth(tables, findings)


def _dominates(tables: JobTables) -> str:
    if tables.has_gpu:
        return _gpu_line(tables.gpu_windows)
    steps = [row for rows in tables.steps.values() for row in rows]
    if steps:
        return _step_line(tables, steps)
    recorded = sum(tables.observed(lane).length_ns for lane in tables.lanes)
    if tables.rows("annotation_summary"):
        longest = max(tables.rows("annotation_summary"), key=lambda r: (r["busy_ns"], r["series"]))
        return (
            f"No GPU event and no step was recorded in {duration(recorded)}; the longest range is "
            f"{longest['series']}: {duration(longest['busy_ns'])}, "
            f"{percent(longest['share_of_capture'])} of the time between first and last range."
        )
    return f"No GPU event, step or range was recorded in {duration(recorded)} of process time."


def _gpu_line(rows: Sequence[Row]) -> str:
    window = sum(row["window_ns"] for row in rows)
    if window == 0:
        return "The recorded GPU events have no duration: there is nothing to divide up."
    parts = [
        ("computing", sum(row["compute_ns"] for row in rows)),
        ("in communication nothing hides", sum(row["exposed_comm_ns"] for row in rows)),
        ("in copies and memsets nothing hides", sum(row["exposed_mem_ns"] for row in rows)),
        ("idle", sum(row["idle_ns"] for row in rows)),
    ]
    shown = sorted((part for part in parts if part[1]), key=lambda part: -part[1])
    shares = ", ".join(f"{percent(ns / window)} {what}" for what, ns in shown)
    if len(rows) == 1:
        return (
            f"The GPU is {shares}; of the {duration(window)} from its first event's start to its "
            "last event's end."
        )
    return (
        f"The GPUs are {shares}; of {duration(window)}, the windows of {len(rows)} GPUs together, "
        "each from its first event's start to its last event's end."
    )


def _step_line(tables: JobTables, steps: Sequence[Row]) -> str:
    lengths = [row["dur_ns"] for row in steps]
    ranks = len(tables.steps)
    over = f" on {ranks} ranks" if ranks > 1 else ""
    span = sum(row["dur_ns"] + gap_ns(row) for row in steps)
    waited = sum(
        wait_ns(row, named)
        for rows in tables.steps.values()
        for named in [names_input(rows)]
        for row in rows
    )
    what = "waiting for input" if any(map(names_input, tables.steps.values())) else "between steps"
    one = len(steps) == 1
    take = (
        f"takes {duration(lengths[0])}"
        if one
        else f"take {duration(median(lengths))} each (median)"
    )
    text = (
        f"{plural(len(steps), 'step')}{over} {take}; "
        f"{percent(waited / span) if span else '0 %'} of the {duration(span)} from the first "
        f"step's start to the last one's end{', summed over ranks,' if ranks > 1 else ''} is spent "
        f"{what}"
    )
    phase = _longest_phase(tables, sum(lengths))
    if phase is not None:
        series, busy_ns = phase
        text += f"; the longest phase is {series}: {duration(busy_ns)}, {percent(busy_ns / span)}"
    return f"{text}. No GPU event was recorded."


def _longest_phase(tables: JobTables, steps_ns: int) -> tuple[str, int] | None:
    """Return the series, other than the steps', with the longest time, and that time in ns."""
    busy: dict[str, int] = {}
    step_series = {"step", "ProfilerStep"}
    for row in tables.rows("annotation_summary"):
        if row["series"].rstrip("#_ ") not in step_series:
            busy[row["series"]] = busy.get(row["series"], 0) + row["busy_ns"]
    fitting = {series: ns for series, ns in busy.items() if 0 < ns <= steps_ns}
    return max(fitting.items(), key=lambda item: (item[1], item[0])) if fitting else None


def _costs(findings: Sequence[Finding]) -> str:
    problems = [finding for finding in findings if finding.counts]
    abstained = sum(finding.abstained for finding in findings)
    if not problems:
        note = f"; {plural(abstained, 'rule')} had not the data to answer" if abstained else ""
        return f"No rule found anything that costs much{note}."
    text = f"Most costly: {problems[0].title} ({_stake(problems[0])})."
    if len(problems) > 1:
        text += f" Next: {problems[1].title} ({_stake(problems[1])})."
    if len(problems) > 2:
        text += f" {len(problems) - 2} more."
    return text


def _stake(finding: Finding) -> str:
    return at_stake(finding.at_stake_ns, finding.gpu_hours)


def _worth(tables: JobTables, findings: Sequence[Finding]) -> str:
    processes = tables.rows("processes")
    read = sum(row["events_read"] for row in processes)
    kept = sum(row["events_kept"] for row in processes)
    lost: dict[str, int] = {}
    for row in tables.rows("drops"):
        if row["lost"]:
            lost[row["reason"]] = lost.get(row["reason"], 0) + row["events"]
    among = plural(len(processes), "process")
    if not lost:
        text = f"Data: complete, nothing was lost of {integer(read)} events of {among}"
        if read > kept:
            text += f" ({integer(read - kept)} are of kinds not stored, or copies)"
    else:
        by_count = sorted(lost.items(), key=lambda item: (-item[1], item[0]))
        reasons = ", ".join(
            f"{reason} {integer(count)}" for reason, count in by_count[:NAMED_REASONS]
        )
        more = len(by_count) - NAMED_REASONS
        text = (
            f"Data: partial, {integer(sum(lost.values()))} lost beside {integer(kept)} events kept "
            f"of {among} ({reasons}{f', {more} more reasons' if more > 0 else ''})"
        )
    abstained = sum(finding.abstained for finding in findings)
    if abstained:
        text += f"; {plural(abstained, 'rule')} could not answer"
    return f"{text}."
