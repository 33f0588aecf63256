"""One trial: import a mutated input and judge what came of it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from tracemill_analysis.events import EventSummary, EventWriter
from tracemill_analysis.importers.base import ProcessResult
from tracemill_analysis.importers.discover import discover
from tracemill_analysis.importers.raw.discover import discover_raw
from tracemill_analysis.pipeline.convert import convert_item
from tracemill_analysis.store import LocalStore, scratch_folder

from tools.fuzzing.inputs import JOB, Inputs

_LONGEST_MESSAGE = 1_000


@dataclass(frozen=True)
class Outcome:
    """``verdict``: whole, partial (with counted drops), refused, or wrong with the reason."""

    verdict: str
    detail: str = ""


def run_trial(inputs: Inputs, importer: str, seed: int, number: int, *, writes: bool) -> Outcome:
    """Import trial ``number``. Tables are read in any case, and written out if ``writes``."""
    rng = random.Random(f"{importer} {seed} {number}")
    with scratch_folder() as folder, _tables(written=writes):
        return judge(importer, inputs.write(importer, rng, folder), folder)


def judge(importer: str, path: Path, folder: Path) -> Outcome:
    """Import an input into a store below ``folder`` and say what came of it."""
    if importer == "raw":
        store = LocalStore(path)
        raw = discover_raw(store, JOB)
        items, rejected = raw.items, raw.rejected
    else:
        store = LocalStore(folder / "store")
        found = discover([path])
        items, rejected = found.items, found.rejected
    messages = [message for _, message in rejected]
    partial = bool(messages)
    for item in items:
        outcome = convert_item(store, JOB, item)
        if outcome.process is None:
            messages.append(outcome.error or "")
        else:
            partial |= bool(outcome.process.drops.counts)
            if fault := _miscounted(outcome.process):
                return Outcome("wrong", fault)
    for message in messages:
        if fault := _unclear(message):
            return Outcome("wrong", f"{fault}: {message[:300]!r}")
    if not items and not messages:
        return Outcome("wrong", "neither a process nor a refusal")
    if len(messages) >= len(items) + len(rejected):
        return Outcome("refused", messages[0])
    return Outcome("partial" if partial else "whole")


def _miscounted(result: ProcessResult) -> str:
    if min(result.drops.counts.values(), default=1) < 1:
        return f"counts below one: {result.drops.counts}"
    if not 0 <= result.events_kept <= result.events_read:
        return f"{result.events_kept} events kept of {result.events_read}"
    return ""


def _unclear(message: str) -> str:
    if not message or "\n" in message or len(message) > _LONGEST_MESSAGE:
        return "not one line"
    return "not foreseen" if "cannot be converted (" in message else ""


@contextmanager
def _tables(*, written: bool) -> Iterator[None]:
    """Leave out the linking and writing of what was read, which takes most of the time."""
    if written:
        yield
        return
    with patch.object(EventWriter, "finish", lambda *_args, **_kwargs: EventSummary()):
        yield
