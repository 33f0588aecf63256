"""Which events are exported: a window of time and some of the ranks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tracemill_schema.errors import UsageError
from tracemill_schema.tables.profile import PROCESSES

from tracemill_analysis.findings.tables import Row
from tracemill_analysis.parquet import read_table
from tracemill_analysis.store import Store
from tracemill_analysis.units import duration

_UNITS = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000,
          "min": 60_000_000_000}  # fmt: skip
_RELATIVE = re.compile(r"(\d+)(?:\.(\d+))?\s*(ns|us|µs|ms|s|min)")
_RANKS = re.compile(r"\d{1,9}(?:-\d{1,9})?(?:,\d{1,9}(?:-\d{1,9})?)*")


@dataclass(frozen=True)
class Selection:
    """The processes to export (rows of ``processes``), and the window ``[from_ns, until_ns)``.

    An event belongs to the window if any part of it lies inside; it is exported whole. A bound of
    None is open. If ``aligned``, it is of times with ``alignment_ns`` added.
    """

    processes: tuple[Row, ...]
    from_ns: int | None = None
    until_ns: int | None = None
    aligned: bool = False

    def window(self, process: Row) -> tuple[int | None, int | None]:
        """Return the window in the times of a process's tables."""
        shift = _shift(process) if self.aligned else 0
        low, high = self.from_ns, self.until_ns
        return None if low is None else low - shift, None if high is None else high - shift


def select(
    store: Store,
    job: str,
    *,
    from_: str | None = None,
    until: str | None = None,
    ranks: str | None = None,
    aligned: bool = False,
) -> Selection:
    """Check what a user asked for against the job.

    ``from_`` and ``until`` are table times in ns (``1694128201545000000``) or times since the
    job's start with a unit (``1.5s``, ``250ms``); ``ranks`` is a list with ranges (``0,4-7``).
    ``aligned`` says that the times are those of nodes brought to one clock.
    Raises UsageError for anything that is not there.
    """
    rows: list[Row] = read_table(store, PROCESSES, job).to_pylist()
    rows.sort(key=lambda row: row["process_id"])
    timed = [row for row in rows if row["start_ns"] is not None and row["end_ns"] is not None]
    if not timed:
        raise UsageError(f"job {job}: has no events to export")
    shifts = [_shift(row) if aligned else 0 for row in timed]
    start = min(row["start_ns"] + shift for row, shift in zip(timed, shifts, strict=True))
    end = max(row["end_ns"] + shift for row, shift in zip(timed, shifts, strict=True))
    low = _time("--from", from_, start) if from_ is not None else None
    high = _time("--to", until, start) if until is not None else None
    if low is not None and high is not None and low >= high:
        raise UsageError(f"--from {from_} is not before --to {until}: nothing lies between")
    if (low is not None and low > end) or (high is not None and high <= start):
        raise UsageError(
            f"job {job}: nothing between --from {from_ or 'start'} and --to {until or 'end'}; the "
            f"job runs from {start} to {end} ns ({duration(end - start)})"
        )
    return Selection(tuple(_of_ranks(timed, ranks, job)), low, high, aligned)


def _shift(process: Row) -> int:
    return int(process["alignment_ns"] or 0)


def _time(option: str, text: str, start_ns: int) -> int:
    if re.fullmatch(r"-?\d{1,19}", text):
        return int(text)
    match = _RELATIVE.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f"{option} {text!r}: take a time of the tables in ns (1694128201545000000) or a time "
            "since the job's start with its unit (1.5s, 250ms)"
        )
    whole, part, unit = match.groups()
    # Decimal text to integer ns, never through a float.
    digits = part or ""
    scale: int = 10 ** len(digits)
    return start_ns + int(whole + digits) * _UNITS[unit] // scale


def _of_ranks(rows: Sequence[Row], ranks: str | None, job: str) -> list[Row]:
    if ranks is None:
        return list(rows)
    if not _RANKS.fullmatch(ranks):
        raise UsageError(f"--ranks {ranks!r}: take numbers and ranges, for example 0,4-7")
    known = {row["rank"] for row in rows if row["rank"] is not None}
    wanted: set[int] = set()
    for part in ranks.split(","):
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        if low > high:
            raise UsageError(f"--ranks {ranks}: {part} runs backwards")
        # Ranks that are not there are named, but never listed by the million.
        missing = next(
            (n for n in range(low, min(high, low + len(known)) + 1) if n not in known), None
        )
        if missing is not None:
            shown = ", ".join(map(str, sorted(known)[:32])) + (" …" if len(known) > 32 else "")
            raise UsageError(f"--ranks {ranks}: job {job} has no rank {missing}; it has: {shown}")
        wanted.update(range(low, high + 1))
    return [row for row in rows if row["rank"] in wanted]
