"""Environments with the peers of a benchmark, made once under benchmarks/.peers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / ".peers"
ROOT = FOLDER.parent.parent


def environment(name: str, requirements: Sequence[str], own: Sequence[str] = ()) -> Path:
    """Return the Python of an environment that holds ``requirements``, made if it is not there.

    ``own`` are folders of this repository; they are installed anew each time, as they may have
    changed. Raises subprocess.CalledProcessError if pip cannot install something.
    """
    folder = FOLDER / name
    python = folder / "bin" / "python"
    ready = folder / "ready.txt"
    wanted = "\n".join(requirements)
    pip = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    if not ready.exists() or ready.read_text(encoding="utf-8") != wanted:
        print(f"installing into .peers/{name}: {', '.join(requirements)}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([*pip, *requirements], check=True)
        ready.write_text(wanted, encoding="utf-8")
    if own:
        subprocess.run([*pip, "--force-reinstall", "--no-deps", *own], check=True, cwd=ROOT)
    return python
