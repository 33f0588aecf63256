"""Searching, sorting and paging the list of profiles, so that a page stays small at any number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from tracemill_ui.errors import ApiError
from tracemill_ui.jobs import JobEntry

MAX_PAGE_ROWS = 200
DEFAULT_PAGE_ROWS = 50

SORT_COLUMNS = (
    "job_name",
    "created_ms",
    "dur_ns",
    "status",
    "state",
    "instance_type",
    "framework",
    "ranks",
    "gpus",
    "steps",
    "gpu_utilization",
    "cpu_utilization",
    "findings",
)


@dataclass(frozen=True)
class Search:
    """One view of the list. Dates are whole days in UTC, both included."""

    text: str = ""
    status: str = ""
    created_from: date | None = None
    created_to: date | None = None
    sort: str = "created_ms"
    descending: bool = True
    offset: int = 0
    limit: int = DEFAULT_PAGE_ROWS


def parse_search(query: Mapping[str, str]) -> Search:
    """Read a search from query parameters; ApiError (400) names the parameter that is wrong."""
    sort = query.get("sort", "created_ms")
    if sort not in SORT_COLUMNS:
        raise ApiError(400, f"Cannot sort by {sort!r}.", f"Take one of {', '.join(SORT_COLUMNS)}.")
    return Search(
        text=query.get("search", ""),
        status=query.get("status", ""),
        created_from=_day(query, "from"),
        created_to=_day(query, "to"),
        sort=sort,
        descending=query.get("order", "desc") != "asc",
        offset=whole_number(query, "offset", 0, 0, 10**9),
        limit=whole_number(query, "limit", DEFAULT_PAGE_ROWS, 1, MAX_PAGE_ROWS),
    )


def whole_number(query: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    """Read an integer parameter within bounds; ApiError (400) otherwise."""
    text = query.get(name, "")
    if not text:
        return default
    try:
        value = int(text)
    except ValueError:
        value = low - 1
    if not low <= value <= high:
        raise ApiError(400, f"{name}={text[:40]} is not usable.", f"Take {low} to {high}.")
    return value


def _day(query: Mapping[str, str], name: str) -> date | None:
    text = query.get(name, "")
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise ApiError(400, f"{name}={text[:40]!r} is no date.", "Write YYYY-MM-DD.") from None


def find(entries: list[JobEntry], search: Search) -> dict[str, Any]:
    """Return one page: ``total`` jobs in the store, ``matched`` by the search, ``rows`` shown."""
    matched = [entry for entry in entries if _matches(entry, search)]
    page = _sorted(matched, search)[search.offset : search.offset + search.limit]
    return {
        "total": len(entries),
        "matched": len(matched),
        "offset": search.offset,
        "limit": search.limit,
        "rows": [entry.as_json() for entry in page],
    }


def _matches(entry: JobEntry, search: Search) -> bool:
    if search.status and search.status not in (entry.job.get("status"), entry.state.value):
        return False
    if search.created_from or search.created_to:
        if entry.created_ns is None:
            return False
        created = datetime.fromtimestamp(entry.created_ns / 1e9, UTC).date()
        if search.created_from and created < search.created_from:
            return False
        if search.created_to and created >= search.created_to + timedelta(days=1):
            return False
    words = search.text.casefold().split()
    return not words or _has_words(entry, words)


def _has_words(entry: JobEntry, words: list[str]) -> bool:
    created = ""
    if entry.created_ns is not None:
        created = datetime.fromtimestamp(entry.created_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M")
    fields = ("status", "completeness", "framework", "instance_type", "device_name", "source")
    texts = (entry.name, entry.state.value, created, *(entry.job.get(f) or "" for f in fields))
    haystack = "\n".join(texts).casefold()
    return all(word in haystack for word in words)


def _sorted(entries: list[JobEntry], search: Search) -> list[JobEntry]:
    """Sort by the column, then by name; jobs without a value stand last in both directions."""

    def value(entry: JobEntry) -> Any:
        if search.sort == "job_name":
            return entry.name.casefold()
        if search.sort == "created_ms":
            return entry.created_ns
        if search.sort == "state":
            return entry.state.value
        return entry.job.get(search.sort)

    by_name = sorted(entries, key=lambda entry: entry.name)
    known = [entry for entry in by_name if value(entry) is not None]
    unknown = [entry for entry in by_name if value(entry) is None]
    return sorted(known, key=value, reverse=search.descending) + unknown
