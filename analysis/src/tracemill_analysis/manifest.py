"""The manifest of a job: written last, so its presence means the tables are whole."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tracemill_schema import SCHEMA_VERSION, layout
from tracemill_schema.errors import JobNotFoundError, NewerSchemaError, StoreError
from tracemill_schema.vocab import ProcessingState

from tracemill_analysis.store import Store


@dataclass(frozen=True)
class Manifest:
    """What a processed job consists of.

    ``job`` is the row of the ``jobs`` table; ``inputs`` names what was read (file name, bytes,
    sha256, process_id; or the error of a file that could not be read); ``tables`` gives per table
    its objects with their size in bytes.
    """

    job_name: str
    job: dict[str, Any]
    inputs: list[dict[str, Any]]
    tables: dict[str, list[dict[str, Any]]]
    schema_version: int = SCHEMA_VERSION
    state: str = str(ProcessingState.PROCESSED)
    verdict: list[str] = field(default_factory=list)

    def to_json(self) -> bytes:
        """Return the manifest as it is stored: sorted keys, so that the bytes are stable."""
        return (json.dumps(self.__dict__, indent=1, sort_keys=True) + "\n").encode()


def write_manifest(store: Store, manifest: Manifest) -> None:
    """Store the manifest; the last object of a job to be written."""
    store.write_bytes(layout.manifest_key(manifest.job_name), manifest.to_json())


def read_manifest(store: Store, job: str) -> Manifest:
    """Return a job's manifest.

    Raises JobNotFoundError if there is none, StoreError if it is damaged, NewerSchemaError if a
    newer Tracemill wrote it.
    """
    key = layout.manifest_key(job)
    if not store.exists(key):
        raise JobNotFoundError(_not_found(store, job))
    return parse_manifest(store.read_bytes(key), f"{key} in {store.address}")


def parse_manifest(content: bytes, place: str) -> Manifest:
    """Read the bytes of a manifest; ``place`` is named in errors."""
    try:
        values = json.loads(content)
        version = values["schema_version"]
        if isinstance(version, int) and version > SCHEMA_VERSION:
            raise NewerSchemaError(
                f"{place}: written with schema version {version}, this version reads up to "
                f"{SCHEMA_VERSION}: install a newer Tracemill"
            )
        return Manifest(**{name: values[name] for name in Manifest.__dataclass_fields__})
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{place}: damaged manifest; process the job again") from error


def _not_found(store: Store, job: str) -> str:
    known = store.job_names()
    if job in known:
        return (
            f"job {job}: recorded but not processed; run: "
            f"tracemill process --store {store.address} --job {job}"
        )
    if not known:
        return f"job {job}: the store {store.address} holds no jobs"
    shown = ", ".join(known[:10]) + (" …" if len(known) > 10 else "")
    return f"job {job}: not in the store {store.address}; it holds: {shown}"


def list_tables(store: Store, job: str, names: list[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the stored objects of the named tables of a job, by table."""
    found = {
        name: [
            {"key": info.key, "bytes": info.size_bytes}
            for info in store.list_objects(layout.table_prefix(name, job))
            if info.key.endswith(".parquet")
        ]
        for name in names
    }
    return {name: objects for name, objects in found.items() if objects}
