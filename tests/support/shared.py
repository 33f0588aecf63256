"""Files that are shared by all checkouts: real traces and right values, read in place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_REPOSITORY = Path(__file__).resolve().parents[2]


def shared_root() -> Path:
    """Folder of the shared files: ``TRACEMILL_SHARED``, else ``shared`` beside the repository."""
    named = os.environ.get("TRACEMILL_SHARED")
    return Path(named) if named else _REPOSITORY.parent / "shared"


def shared_path(relative: str) -> Path:
    """Return a shared file or folder; skips the test if it is absent (fails it where CI=true)."""
    path = shared_root() / relative
    if not path.exists():
        reason = f"shared file {relative} is absent"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return path
