"""Runs scripts that record with the stand-ins, each in a process of its own."""

from __future__ import annotations

import os
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from tests.support import tmraw
from tests.support.recording import run

ROOT = Path(__file__).resolve().parents[3]

PROLOGUE = """
import json, os, random, signal, sys, threading, time
import tracemill
from tests.sdk.fake_cuda.driver import *
def start(**options):
    settings = dict(flush_interval_ms=20, cpu_interval_ms=0, max_steps=0)
    tracemill.start(**{**settings, **options})
"""


def record_all(
    folder: Path, fakes: Path, code: str, **options: Any
) -> tuple[CompletedProcess[str], list[tmraw.Segment]]:
    """Run a script with the stand-ins of ``fakes``; return the process and its segments."""
    python_path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(":")
    settings = {"FAKE_CUDA": str(fakes), "PYTHONPATH": python_path, **options}
    done = run(folder, PROLOGUE + code, **settings)
    return done, tmraw.read_all(folder / "store")


def record(
    folder: Path, fakes: Path, code: str, **options: Any
) -> tuple[CompletedProcess[str], tmraw.Segment]:
    """``record_all`` for a script that leaves one segment."""
    done, segments = record_all(folder, fakes, code, **options)
    (segment,) = segments
    return done, segment


def record_with(
    folder: Path, fakes: Path, code: str, *arguments: str
) -> tuple[CompletedProcess[str], tmraw.Segment]:
    """``record`` for a script with command line arguments."""
    return record(folder, fakes, f"sys.argv[1:] = {list(arguments)!r}\n" + code)
