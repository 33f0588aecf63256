"""Starts and stops the native recorder with everything resolved."""

from __future__ import annotations

import json
import os
import sys
import zlib
from typing import Any

from tracemill import __version__, _generated, _guard, _identity, _native, _options
from tracemill._guard import UsageError, guarded
from tracemill._schedule import Schedule

RETRY_MS = 30_000
"""How long to wait before writing again after the disk refused."""

_exit_hooks_set = False


@guarded
def start(given: dict[str, Any], asked_by: str | None = None) -> None:
    """Start recording with the options of the call; see ``tracemill.start``.

    With a control file or signal the start waits for it; ``asked_by`` says which one came.
    """
    asked, given = given, dict(given)
    schedule = given.pop("schedule", None)
    if schedule is not None and not isinstance(schedule, Schedule):
        raise UsageError(f"schedule: expected tracemill.schedule(...), not {schedule!r}")
    options = _options.resolve(given)
    job = _identity.job_name(options["job"], from_keyword=given.get("job") is not None)
    if not options["enabled"] or _native.is_recording() and not _is_unused_child():
        return
    if options["s3_uri"] and options["output"] is None:
        from tracemill import _upload

        options["output"] = _upload.spool_folder()
    options["output"] = _identity.output_folder(options["output"])
    options["job"] = job
    if asked_by is None and (options["control_file"] or options["control_signal"]):
        from tracemill import _on_demand

        _on_demand.arm(asked, options)
        return
    node = _identity.node_name()
    folder = os.path.join(options["output"], "raw", f"job_name={job}", f"node={node}")
    if not _native.start(
        folder,
        _meta_members(options, job, node, asked_by),
        _lock_path(folder),
        options["flush_interval_ms"],
        options["cpu_interval_ms"],
        options["cpu_duration_s"],
        options["ring_events"],
        options["rotate_bytes"],
        options["rotate_s"],
        options["max_steps"],
        options["max_bytes"],
        RETRY_MS,
        schedule.as_tuple() if schedule is not None else None,
        options["gpu"],
        options["gpu_graph_nodes"],
        options["gpu_buffer_bytes"],
        options["cupti_path"] or "",
        options["nvml_interval_ms"],
    ):
        return
    _set_exit_hooks()
    if options["s3_uri"]:
        from tracemill import _upload

        _upload.start(options, folder, _native.status()["folder"])


@guarded
def stop(reason: str, failed: bool | None = None, exception: str | None = None) -> None:
    """End the recording; ``failed`` and ``exception`` (a type's name) go into its last block."""
    facts: dict[str, Any] = {"framework": _identity.framework()}
    if failed is not None:
        facts["failed"] = failed
    if exception is not None:
        facts["exception"] = exception
    _native.stop(reason, json.dumps(facts)[1:-1])
    if "tracemill._upload" in sys.modules:
        from tracemill import _upload

        _upload.pause()


def status() -> dict[str, Any]:
    """See ``tracemill.status``."""
    found = _native.status()
    found["recording"] = found["state"] != "idle"
    found["notices"] = [*_guard.troubles, *found["notices"]]
    return found


def _is_unused_child() -> bool:
    """Whether this is the child of a recording process and has recorded nothing itself."""
    return bool(_native.status()["state"] == "forked")


def _meta_members(options: dict[str, Any], job: str, node: str, asked_by: str | None) -> str:
    meta = {
        "tracemill_version": __version__,
        "job": job,
        "node": node,
        **_identity.facts(),
        "simulated": False,
        "options": options,
    }
    if asked_by is not None:
        meta["asked_by"] = asked_by
    return f'{json.dumps(meta)[1:-1]},"kinds":{_generated.KINDS_JSON}'


def _lock_path(folder: str) -> str:
    """The file whose lock makes one process per node sample the node."""
    number = zlib.crc32(folder.encode("utf-8", "surrogateescape"))
    temporary = os.environ.get("TMPDIR") or "/tmp"
    return os.path.join(temporary, f"tracemill-{os.getuid()}-{number:08x}.lock")


def _set_exit_hooks() -> None:
    global _exit_hooks_set
    if not _exit_hooks_set:
        from tracemill import _exit

        _exit.install()
        _exit_hooks_set = True
