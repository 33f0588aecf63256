"""What every importer takes and gives.

``discover`` looks at files and forms work items; ``convert`` turns one item into the event tables
of one process. Both are pure functions of their inputs: a second run writes the same bytes. Items
and results can be sent as JSON, so that each process may be converted on another machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from tracemill_schema.vocab import DropReason, RankSource

from tracemill_analysis.store import Store


@dataclass(frozen=True)
class WorkItem:
    """One process to convert: the unit of fan-out.

    ``process_id`` follows the sorted order of (rank, node, source), so that the order in which
    files are named does not matter. ``sources`` are in order: keys of the store if ``in_store``,
    else paths of files.
    """

    process_id: int
    format: str
    sources: tuple[str, ...]
    source_name: str
    node: str
    rank: int | None
    rank_source: RankSource
    in_store: bool = False
    part: int | None = None
    """Which of several processes in one source, in the format's own numbering."""

    def files(self, store: Store) -> list[Path]:
        """Return the sources as local files; StoreError if the store cannot give one."""
        if self.in_store:
            return store.local_files(self.sources)
        return [Path(source) for source in self.sources]

    def to_json(self) -> dict[str, Any]:
        """Return the item as a JSON document."""
        return {**asdict(self), "sources": list(self.sources), "rank_source": str(self.rank_source)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> WorkItem:
        """Read a document of ``to_json``; entries of later versions are ignored."""
        known = {f.name: values[f.name] for f in fields(cls) if f.name in values}
        known["sources"] = tuple(known["sources"])
        known["rank_source"] = RankSource(known["rank_source"])
        return cls(**known)


@dataclass(frozen=True)
class Found:
    """One process in an input, as far as its content tells.

    ``label`` is put behind the name of the input where it holds several processes; ``helper`` is
    set if the process has no work on a GPU while others of the input have.
    """

    rank: int | None = None
    part: int | None = None
    label: str = ""
    helper: bool = False


@dataclass
class DropCounter:
    """Counts what was dropped, repaired or left unlinked, with the place of the first of each."""

    counts: dict[DropReason, int] = field(default_factory=dict)
    examples: dict[DropReason, str] = field(default_factory=dict)

    def add(self, reason: DropReason, events: int = 1, place: str | None = None) -> None:
        """Count ``events`` under ``reason``; ``place`` says where, for example ``byte 1234``."""
        if events <= 0:
            return
        self.counts[reason] = self.counts.get(reason, 0) + events
        if place is not None:
            self.examples.setdefault(reason, place)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as a JSON document."""
        return {
            "counts": {str(reason): count for reason, count in sorted(self.counts.items())},
            "examples": {str(reason): place for reason, place in sorted(self.examples.items())},
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> DropCounter:
        """Read a document of ``to_json``."""
        return cls(
            {DropReason(reason): count for reason, count in values["counts"].items()},
            {DropReason(reason): place for reason, place in values["examples"].items()},
        )

    @property
    def lost(self) -> int:
        """Events that carried information and are not in the tables."""
        return sum(count for reason, count in self.counts.items() if reason.loses_event)


@dataclass
class ProcessResult:
    """What converting one process gave. Fields are those of the ``processes`` table."""

    item: WorkItem
    events_read: int
    events_kept: int
    drops: DropCounter
    start_ns: int | None
    end_ns: int | None
    clock: str
    devices: tuple[int, ...] = ()
    clock_offset_ns: int = 0
    clock_spread_ns: int | None = None
    local_rank: int | None = None
    world_size: int | None = None
    pid: int | None = None
    framework: str | None = None
    device_name: str | None = None
    instance_type: str | None = None
    end_reason: str | None = None
    finished: bool = True
    """False while the recording goes on, or if it was killed."""
    failed: bool = False
    """True if the training itself ended with an error (its exit code or exception)."""
    simulated: bool = False

    @property
    def complete(self) -> bool:
        """True if everything that was found could be read."""
        return self.drops.lost == 0

    def to_json(self) -> dict[str, Any]:
        """Return the result as a JSON document."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            **values,
            "item": self.item.to_json(),
            "drops": self.drops.to_json(),
            "devices": list(self.devices),
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> ProcessResult:
        """Read a document of ``to_json``; entries of later versions are ignored."""
        known = {field.name: values[field.name] for field in fields(cls)}
        known["item"] = WorkItem.from_json(known["item"])
        known["drops"] = DropCounter.from_json(known["drops"])
        known["devices"] = tuple(known["devices"])
        return cls(**known)


Progress = Callable[[str, float], None]
"""Called with a short text and a fraction 0..1; negative if the size is unknown."""


def no_progress(_text: str, _fraction: float) -> None:
    """Progress that goes nowhere."""
