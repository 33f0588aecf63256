"""Runs scripts that use the recorder, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from tests.support import sanitizers

_OURS = ("TRACEMILL_", "SM_", "SLURM_", "OMPI_", "PMI_")
_RANKS = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "TRAINING_JOB_NAME")


def environment(**extra: str) -> dict[str, str]:
    """The environment without anything that steers the recorder, and ``extra``."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_OURS) and name not in _RANKS
    }
    return {**clean, **extra}


def script(folder: Path, code: str, name: str = "train.py") -> Path:
    """Write ``code`` as a script into ``folder``."""
    path = folder / name
    path.write_text(textwrap.dedent(code), encoding="utf-8")
    return path


def run(
    folder: Path, code: str, *arguments: str, check: bool = True, **env: Any
) -> subprocess.CompletedProcess[str]:
    """Run ``code`` as a script in ``folder``; ``store`` below it is the default output."""
    command = [sys.executable, str(script(folder, code)), *arguments]
    return run_command(folder, command, check=check, **env)


def run_command(
    folder: Path, command: list[str], *, check: bool = True, **env: Any
) -> subprocess.CompletedProcess[str]:
    """Run a command like ``run`` does; a failure shows its stderr."""
    settings: dict[str, Any] = {"TRACEMILL_OUTPUT": str(folder / "store"), "TRACEMILL_JOB": "job"}
    command, full_environment = sanitizers.wrap(command, environment(**{**settings, **env}))
    done = subprocess.run(
        command,
        cwd=folder,
        env=full_environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if check:
        assert done.returncode == 0, done.stderr
    return done
