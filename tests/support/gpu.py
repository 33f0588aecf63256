"""GPU rows of a decoded segment with absolute times, as docs/raw-kinds.md describes them."""

from __future__ import annotations

from typing import Any

from tests.support import tmraw

_SIGNATURE = (
    "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "registers",
    "static_shared_bytes", "dynamic_shared_bytes",
)  # fmt: skip


def _timed(segment: tmraw.Segment, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    tracks = {row["track_id"]: row for row in segment.rows.get("gpu_tracks", [])}
    for part in segment.parts.get(kind, []):
        previous_end_ns = 0
        for row in part:
            start_ns = previous_end_ns + row["gap_ns"]
            rest = {k: v for k, v in row.items() if k not in ("gap_ns", "track_id")}
            found.append({**rest, "start_ns": start_ns})
            if "track_id" in row:
                track = tracks[row["track_id"]]
                found[-1] |= {k: track[k] for k in ("device", "context", "stream")}
            if kind == "kernels":
                found[-1]["dur_ns"] = _duration(found, row, part)
                del found[-1]["dur_delta_ns"]
            previous_end_ns = start_ns + found[-1]["dur_ns"]
    return found


def _duration(found: list[dict[str, Any]], row: tmraw.Row, part: list[tmraw.Row]) -> int:
    place = next(i for i, other in enumerate(part) if other is row)
    before = found[len(found) - 1 - place : -1]
    same = [r["dur_ns"] for r in before if r["signature_id"] == row["signature_id"]]
    return row["dur_delta_ns"] + (same[-1] if same else 0)


def kernels(segment: tmraw.Segment) -> list[dict[str, Any]]:
    """Kernels with name, shape (nine numbers) and times, by device, stream and start."""
    signatures = {row["signature_id"]: row for row in segment.rows.get("gpu_signatures", [])}
    found = _timed(segment, "kernels")
    for row in found:
        signature = signatures[row.pop("signature_id")]
        row["name"] = segment.strings[signature["name_id"]]
        row["shape"] = tuple(signature[name] for name in _SIGNATURE)
    return sorted(found, key=lambda r: (r["device"], r["stream"], r["start_ns"]))


def calls(segment: tmraw.Segment) -> list[dict[str, Any]]:
    """API calls by thread and start."""
    found = _timed(segment, "api_calls")
    for row in found:
        row["name"] = segment.strings[row.pop("name_id")]
    return sorted(found, key=lambda r: (r["thread"], r["start_ns"]))


def memory(segment: tmraw.Segment, kind: str) -> list[dict[str, Any]]:
    """Rows of ``memcpys``, ``memsets`` or ``graph_runs`` by device, stream and start."""
    return sorted(_timed(segment, kind), key=lambda r: (r["device"], r["stream"], r["start_ns"]))
