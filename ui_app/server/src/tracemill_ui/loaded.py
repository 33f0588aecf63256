"""Loaded profiles: their aggregate tables in memory, read in the background, bounded in size.

    POST   loading ──> loaded
                  └──> failed (with the reason; POST again retries)
    DELETE forgets the profile

Tables of the profile used longest ago leave memory first. It stays "loaded": its tables are read
again when it is shown next.
"""

from __future__ import annotations

import shlex
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from tracemill_analysis.parquet import read_table
from tracemill_analysis.store import Store
from tracemill_schema.columns import Table
from tracemill_schema.errors import StoreError, TracemillError
from tracemill_schema.tables import aggregates, profile, waits
from tracemill_schema.vocab import ProcessingState

from tracemill_ui.errors import ApiError
from tracemill_ui.jobs import JobEntry, JobList

LOADED_TABLES: tuple[Table, ...] = (
    *profile.TABLES,
    aggregates.TIME_BREAKDOWN,
    aggregates.KERNEL_SUMMARY,
    aggregates.LAUNCH_SUMMARY,
    aggregates.LAUNCH_LATENCY,
    aggregates.ACTIVITY_SUMMARY,
    aggregates.MEMORY_OP_SUMMARY,
    aggregates.PRECISION_SUMMARY,
    aggregates.UTILIZATION,
    aggregates.STEP_SUMMARY,
    aggregates.ANNOTATION_SUMMARY,
    aggregates.OPERATOR_SUMMARY,
    aggregates.CPU_SUMMARY,
    aggregates.COLLECTIVE_SUMMARY,
    *waits.TABLES,
)
"""What a loaded profile holds: the tables that panels are made of. Event tables stay on disk."""

MAX_CACHE_BYTES = 512 * 1024 * 1024
MAX_PROFILES = 32
LOADING, LOADED, FAILED = "loading", "loaded", "failed"


@dataclass(frozen=True)
class Profile:
    """A profile ready to be shown: its list entry and its tables (``pyarrow.Table`` by name)."""

    entry: JobEntry
    tables: dict[str, Any]

    @property
    def size_bytes(self) -> int:
        """Memory the tables take."""
        return sum(table.nbytes for table in self.tables.values())


@dataclass
class _Slot:
    state: str = LOADING
    reason: str | None = None
    tables_done: int = 0
    cancelled: bool = False
    profile: Profile | None = None
    reading: threading.Lock = field(default_factory=threading.Lock)


class LoadedProfiles:
    """The profiles a user has loaded. Thread-safe; ``close`` ends the reading thread."""

    def __init__(
        self,
        store: Store,
        jobs: JobList,
        max_cache_bytes: int = MAX_CACHE_BYTES,
        max_profiles: int = MAX_PROFILES,
    ) -> None:
        self._store = store
        self._jobs = jobs
        self._max_cache_bytes = max_cache_bytes
        self._max_profiles = max_profiles
        self._lock = threading.Lock()
        self._slots: OrderedDict[str, _Slot] = OrderedDict()
        self._recent: OrderedDict[str, None] = OrderedDict()
        self._reader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tracemill-load")

    def close(self) -> None:
        """Stop reading."""
        with self._lock:
            for slot in self._slots.values():
                slot.cancelled = True
        self._reader.shutdown(wait=True, cancel_futures=True)

    def load(self, name: str) -> None:
        """Begin to load a profile (again, if it had failed); ApiError if that makes no sense."""
        self.require_processed(name)
        with self._lock:
            slot = self._slots.get(name)
            if slot is not None and slot.state != FAILED:
                return
            if slot is None and len(self._slots) >= self._max_profiles:
                raise ApiError(
                    409,
                    f"{self._max_profiles} profiles are loaded, no more are possible.",
                    "Unload one first.",
                )
            slot = self._slots[name] = _Slot()
        self._reader.submit(self._read_slot, name, slot)

    def unload(self, name: str) -> bool:
        """Forget a profile; False if it was not loaded."""
        with self._lock:
            self._recent.pop(name, None)
            slot = self._slots.pop(name, None)
            if slot is not None:
                slot.cancelled = True
                slot.profile = None
            return slot is not None

    def as_json(self) -> list[dict[str, Any]]:
        """Return all loaded profiles in the order they were loaded, with state and progress."""
        with self._lock:
            return [
                {
                    "job_name": name,
                    "state": slot.state,
                    "reason": slot.reason,
                    "tables_done": slot.tables_done,
                    "tables": len(LOADED_TABLES),
                }
                for name, slot in self._slots.items()
            ]

    def profile(self, name: str) -> Profile:
        """Return a loaded profile as the store has it now; ApiError (409) if it is not loaded."""
        entry = self.require_processed(name)
        with self._lock:
            slot = self._slots.get(name)
        if slot is None:
            raise ApiError(409, f"Profile {name!r} is not loaded.", "Load it first.")
        if slot.state == LOADING:
            raise ApiError(409, f"Profile {name!r} is still loading.", "Wait until it is loaded.")
        if slot.state == FAILED:
            raise ApiError(409, f"Profile {name!r}: {slot.reason}", "Load it again.")
        with slot.reading:
            profile = slot.profile
            if profile is None or profile.entry.version != entry.version:
                profile = self._read(entry, slot)
                self._keep(name, slot, profile)
        with self._lock:
            if name in self._recent:
                self._recent.move_to_end(name)
        return profile

    def require_processed(self, name: str) -> JobEntry:
        """Return a profile's entry; ApiError says why its tables cannot be read yet."""
        entry = self._jobs.get(name)
        if entry is None:
            raise ApiError(
                404, f"There is no profile {name!r} in this store.", "Choose one from Profiles."
            )
        if entry.state is ProcessingState.RECORDED:
            raise ApiError(
                409,
                f"Profile {name!r} is recorded but not processed.",
                f"Run: tracemill process --store {shlex.quote(self._store.address)} --job {name}",
            )
        if entry.state is ProcessingState.BROKEN:
            raise ApiError(409, f"Profile {name!r}: {entry.reason}", "Process or import it again.")
        return entry

    def _read_slot(self, name: str, slot: _Slot) -> None:
        try:
            profile = self._read(self.require_processed(name), slot)
            self._keep(name, slot, profile)
            slot.state = LOADED
        except (TracemillError, ApiError) as error:
            slot.reason = f"The tables could not be read: {error}"
            slot.state = FAILED
        except Exception as error:  # else the page would wait for ever
            slot.reason = f"The server could not read the tables ({type(error).__name__})."
            slot.state = FAILED
            raise

    def _read(self, entry: JobEntry, slot: _Slot) -> Profile:
        tables: dict[str, Any] = {}
        read_bytes = 0
        for table in LOADED_TABLES:
            if slot.cancelled:
                raise ApiError(409, f"Profile {entry.name!r} was unloaded.", "Load it again.")
            try:
                data = tables[table.name] = read_table(self._store, table, entry.name)
            except (OSError, ValueError, pa.ArrowException) as error:
                raise StoreError(f"table {table.name} of {entry.name}: {error}") from error
            read_bytes += data.nbytes
            if read_bytes > self._max_cache_bytes:
                raise ApiError(
                    409,
                    f"the tables need more than {self._max_cache_bytes >> 20} MiB of memory",
                    "Query it with: tracemill query",
                )
            slot.tables_done = len(tables)
        return Profile(entry, tables)

    def _keep(self, name: str, slot: _Slot, profile: Profile) -> None:
        """Put the profile in memory and drop those used longest ago until all fit."""
        with self._lock:
            if self._slots.get(name) is not slot:
                return
            slot.profile = profile
            self._recent[name] = None
            self._recent.move_to_end(name)
            while self._size_bytes() > self._max_cache_bytes and len(self._recent) > 1:
                oldest, _ = self._recent.popitem(last=False)
                self._slots[oldest].profile = None

    def _size_bytes(self) -> int:
        profiles = (self._slots[name].profile for name in self._recent)
        return sum(profile.size_bytes for profile in profiles if profile is not None)
