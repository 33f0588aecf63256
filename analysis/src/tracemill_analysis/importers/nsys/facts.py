"""What an export says of the recording as a whole: the clock, the device's name."""

from __future__ import annotations

from tracemill_analysis.importers.clock import is_unix
from tracemill_analysis.importers.nsys.tables import (
    ANALYSIS,
    CUDA_DEVICES,
    GPUS,
    SESSION,
    Kind,
    Tables,
    Wanted,
    pid_of,
)

_LIMIT_NS = 1 << 61


def unix_offset_ns(tables: Tables, first_ns: int | None) -> int:
    """Return what has to be added to the times to get Unix time; 0 if the export does not tell.

    Times count from the session's start, whose Unix time is stored. Newer versions can leave them
    in the system's clock; the start of the analysis then equals the session's in that clock.
    Exports made with ``--ts-normalize`` are in Unix time already.
    """
    if is_unix(first_ns):
        return 0
    epoch = _first(tables, SESSION, "utcEpochNs")
    system = _first(tables, SESSION, "systemClockNs")
    start = _first(tables, ANALYSIS, "startTime")
    if epoch is None or not is_unix(epoch):
        return 0
    if system is not None and system == start and abs(system) < _LIMIT_NS:
        return epoch - system
    return epoch


def stop_ns(tables: Tables) -> int | None:
    """Return when the recording ended, in the clock of the events."""
    value = _first(tables, ANALYSIS, "stopTime")
    return value if value is not None and 0 <= value < _LIMIT_NS else None


def device_name(tables: Tables, process: int, devices: set[int]) -> str | None:
    """Return the name of the first GPU that the process used, else of the first in the file."""
    names: dict[int, str] = {}
    for columns, _ in tables.read(Wanted(GPUS, {"id": Kind.INTEGER, "name": Kind.TEXT})):
        if {"id", "name"} <= columns.keys():
            pairs = zip(columns["id"].to_pylist(), columns["name"].to_pylist(), strict=True)
            names.update({number: name for number, name in pairs if number is not None and name})
    wanted = dict.fromkeys(("gpuId", "cudaId", "pid"), Kind.INTEGER)
    of_cuda: dict[int, int] = {}
    for columns, _ in tables.read(Wanted(CUDA_DEVICES, wanted)):
        if columns.keys() == wanted.keys():
            rows = zip(*(columns[name].to_pylist() for name in wanted), strict=True)
            of_cuda.update({cuda: gpu for gpu, cuda, pid in rows if pid == pid_of(process)})
    used = [names.get(of_cuda.get(device, device)) for device in sorted(devices)]
    return next((name for name in [*used, *names.values()] if name), None)


def _first(tables: Tables, table: str, column: str) -> int | None:
    for columns, _ in tables.read(Wanted(table, {column: Kind.INTEGER})):
        value = columns[column][0].as_py()
        return None if value is None else int(value)
    return None
