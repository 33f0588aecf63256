"""The list of profiles: every job of a store with its state, from manifests kept by time and size.

A job is ``processed`` (its manifest is whole), ``recorded`` (raw segments only) or ``broken`` (its
manifest cannot be used; the reason says why). One bad job never hides the others.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from typing import Any

from tracemill_analysis.store import ObjectInfo, Store
from tracemill_schema import SCHEMA_VERSION, layout
from tracemill_schema.errors import TracemillError
from tracemill_schema.tables.profile import JOBS
from tracemill_schema.vocab import ProcessingState

LIST_AGE_S = 1.0
"""A listing is reused for this long, so that typing in the search box does not list the store."""

_FIRST_UNIX_NS = 10**18
"""Times below (before September 2001) are of a monotonic clock and say nothing about the date."""


@dataclass(frozen=True)
class JobEntry:
    """One job of the store.

    ``version`` changes whenever the job is processed again; ``job`` is its row of the JOBS table
    (empty if the job is not processed); ``reason`` says why a broken job is broken.
    """

    name: str
    state: ProcessingState
    version: tuple[int, int]
    created_ns: int | None
    job: dict[str, Any]
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return what the list shows; times in Unix milliseconds."""
        known = {name: self.job.get(name) for name in JOBS.column_names if name != "schema_version"}
        return {
            "job_name": self.name,
            "state": self.state.value,
            "reason": self.reason,
            "created_ms": None if self.created_ns is None else self.created_ns // 1_000_000,
            **known,
        }


class JobList:
    """All jobs of a store. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._cache: dict[str, JobEntry] = {}
        self._listing: list[JobEntry] = []
        self._listed_at = float("-inf")

    def all(self) -> list[JobEntry]:
        """Return all jobs, sorted by name; at most ``LIST_AGE_S`` old."""
        with self._lock:
            if time.monotonic() - self._listed_at > LIST_AGE_S:
                self._listing = self._list()
                self._listed_at = time.monotonic()
            return self._listing

    def get(self, name: str) -> JobEntry | None:
        """Return one job by name as the store has it now; UsageError if the name is not usable."""
        key = layout.manifest_key(name)
        infos = [i for i in self._store.list_objects(layout.job_prefix(name)) if i.key == key]
        if infos:
            with self._lock:
                return self._entry(name, infos[0])
        return self._recorded(name)

    def _list(self) -> list[JobEntry]:
        entries: dict[str, JobEntry] = {}
        for info in self._store.list_objects(layout.JOBS_PREFIX):
            folder, _, rest = info.key.removeprefix(layout.JOBS_PREFIX).partition("/")
            name = layout.parse_job_dir(folder)
            if name and rest == layout.MANIFEST_NAME:
                entries[name] = self._entry(name, info)
        for folder in self._store.list_folders(layout.RAW_PREFIX):
            name = layout.parse_job_dir(folder)
            if name and name not in entries and (entry := self._recorded(name)):
                entries[name] = entry
        self._cache = {name: e for name, e in entries.items() if name in self._cache}
        return [entries[name] for name in sorted(entries)]

    def _entry(self, name: str, info: ObjectInfo) -> JobEntry:
        version = (info.modified_ns, info.size_bytes)
        cached = self._cache.get(name)
        if cached is None or cached.version != version:
            cached = self._cache[name] = self._read(name, info, version)
        return cached

    def _read(self, name: str, info: ObjectInfo, version: tuple[int, int]) -> JobEntry:
        try:
            job = check_manifest(json.loads(self._store.read_bytes(info.key)))
        except (ValueError, RecursionError) as error:
            reason = f"The manifest cannot be read: {error}"
        except TracemillError as error:
            reason = str(error)
        else:
            start_ns = job.get("start_ns")
            dated = isinstance(start_ns, int) and start_ns >= _FIRST_UNIX_NS
            created_ns = start_ns if dated else info.modified_ns
            return JobEntry(name, ProcessingState.PROCESSED, version, created_ns, job)
        return JobEntry(name, ProcessingState.BROKEN, version, info.modified_ns, {}, reason)

    def _recorded(self, name: str) -> JobEntry | None:
        cached = self._cache.get(name)
        if cached is not None and cached.state is ProcessingState.RECORDED:
            return cached
        starts = [
            segment.start_ns
            for info in self._store.list_objects(layout.raw_prefix(name))
            if (segment := layout.parse_segment_key(info.key))
        ]
        if not starts:
            return None
        entry = JobEntry(name, ProcessingState.RECORDED, (0, 0), min(starts), {})
        self._cache[name] = entry
        return entry


def check_manifest(manifest: Any) -> dict[str, Any]:
    """Return the JOBS row of a parsed manifest; ValueError or TracemillError with the reason."""
    if not isinstance(manifest, dict):
        raise ValueError("it is not a JSON object")
    version = manifest.get("schema_version")
    if not isinstance(version, int):
        raise ValueError("it has no schema_version")
    if version > SCHEMA_VERSION:
        raise TracemillError(
            f"Written by a newer Tracemill (schema version {version}; this one reads up to "
            f"{SCHEMA_VERSION}). Update Tracemill to open it."
        )
    if manifest.get("state") == ProcessingState.BROKEN.value:
        reason = manifest.get("reason") or manifest.get("error") or "no reason was recorded"
        raise TracemillError(f"Processing failed: {reason}")
    job = manifest.get("job")
    if not isinstance(job, dict):
        raise ValueError("it describes no job")
    return {name: value for name, value in job.items() if _fits(name, value)}


_TYPES: dict[str, tuple[type, ...]] = {
    "int32": (int,),
    "int64": (int,),
    "double": (int, float),
    "boolean": (bool,),
    "string": (str,),
}


def _fits(name: str, value: Any) -> bool:
    if name not in JOBS.column_names:
        return False
    return value is None or isinstance(value, _TYPES[JOBS.column(name).kind.value])
