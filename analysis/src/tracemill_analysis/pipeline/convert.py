"""Second step: one process to event tables. The only step that reads the inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracemill_schema import layout
from tracemill_schema.errors import (
    OutOfTimeError,
    StoreBusyError,
    StoreError,
    TracemillError,
)
from tracemill_schema.tables import events

from tracemill_analysis.importers.base import ProcessResult, Progress, WorkItem, no_progress
from tracemill_analysis.importers.formats import KINETO_FORMAT
from tracemill_analysis.importers.kineto import convert as kineto
from tracemill_analysis.importers.nsys import convert as nsys
from tracemill_analysis.importers.nsys import recipe
from tracemill_analysis.importers.raw import convert as raw
from tracemill_analysis.importers.raw.discover import FORMAT as RAW_FORMAT
from tracemill_analysis.importers.xplane import convert as xplane
from tracemill_analysis.importers.xplane.probe import FORMAT as XPLANE_FORMAT
from tracemill_analysis.store import Store

_CONVERTERS: dict[str, Callable[[WorkItem, Store, str, Progress], ProcessResult]] = {
    RAW_FORMAT: raw.convert,
    KINETO_FORMAT: kineto.convert,
    nsys.SQLITE_FORMAT: nsys.convert,
    nsys.PARQUET_FORMAT: nsys.convert,
    recipe.RECIPE_FORMAT: recipe.convert,
    XPLANE_FORMAT: xplane.convert,
}

CONVERTED, REJECTED = "converted", "rejected"


@dataclass(frozen=True)
class ItemResult:
    """What became of one work item: the process, or why it cannot be read.

    ``size_bytes`` and ``sha256`` are those of the inputs, one after the other; None if they could
    not be read.
    """

    item: WorkItem
    process: ProcessResult | None = None
    error: str | None = None
    size_bytes: int | None = None
    sha256: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the result as a JSON document."""
        return {
            "status": REJECTED if self.process is None else CONVERTED,
            "process_id": self.item.process_id,
            "item": self.item.to_json(),
            "process": None if self.process is None else self.process.to_json(),
            "error": self.error,
            "size_bytes": self.size_bytes,
            "sha256": self.sha256,
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> ItemResult:
        """Read a document of ``to_json``."""
        process = values["process"]
        return cls(
            WorkItem.from_json(values["item"]),
            None if process is None else ProcessResult.from_json(process),
            values["error"],
            values["size_bytes"],
            values["sha256"],
        )


def convert_item(
    store: Store, job: str, item: WorkItem, progress: Progress = no_progress
) -> ItemResult:
    """Write the event tables of one process in place of those of an earlier run.

    An input that cannot be read, or that breaks the importer, gives a result with an error: one
    process must not cost the others. Raises StoreError if the tables cannot be written,
    StoreBusyError if the store does not answer, OutOfTimeError if ``progress`` does.
    """
    remove_process(store, job, item.process_id)
    try:
        files = item.files(store)
        size_bytes, sha256 = fingerprint(files)
    except StoreBusyError:
        raise
    except TracemillError as error:
        return ItemResult(item, error=str(error))
    except OSError as error:
        return ItemResult(item, error=f"{item.source_name}: cannot be read: {error.strerror}")
    try:
        process = _CONVERTERS[item.format](item, store, job, progress)
    except (StoreError, OutOfTimeError):
        raise
    except TracemillError as error:
        failure = str(error)
    except Exception as error:
        failure = f"{item.source_name}: cannot be converted ({type(error).__name__}: {error})"
    else:
        return ItemResult(item, process, None, size_bytes, sha256)
    remove_process(store, job, item.process_id)
    return ItemResult(item, None, failure, size_bytes, sha256)


def remove_process(store: Store, job: str, process_id: int) -> None:
    """Remove the event tables of one process."""
    for table in events.TABLES:
        key = layout.table_key(table.name, job, layout.process_part(process_id))
        if store.exists(key):
            store.delete(key)


def fingerprint(files: Sequence[Path]) -> tuple[int, str]:
    """Return size in bytes and SHA-256 of files, read one after the other."""
    digest = hashlib.sha256()
    size_bytes = 0
    for path in files:
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
                size_bytes += len(chunk)
    return size_bytes, digest.hexdigest()
