"""Print the outside dependencies of our distributions, one per line, for one pip call."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("analysis", "store_s3", "simulate", "cli", "ui_app/server")

found = {
    dependency
    for part in PARTS
    for dependency in tomllib.loads((ROOT / part / "pyproject.toml").read_text())["project"][
        "dependencies"
    ]
    if not dependency.startswith("tracemill")
}
print("\n".join(sorted(found)))
