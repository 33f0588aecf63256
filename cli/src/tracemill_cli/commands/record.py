"""Run a command and record every Python process in it that has the tracemill SDK installed.

  tracemill record --store DIR --job NAME -- python train.py --epochs 3

The command runs unchanged; its exit code is passed on. Afterwards `tracemill process` turns the
recording into tables and a report. Environment variables of the recorder: docs/options.md.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from tracemill_analysis.store import ObjectInfo, Store, open_store
from tracemill_schema import layout
from tracemill_schema.errors import TracemillError, UsageError
from tracemill_schema.options import DEFAULT_OUTPUT, OPTION_BY_NAME

from tracemill_cli.arguments import add_job, add_store
from tracemill_cli.console import remark

NAME = "record"
HELP = "run a command and record it"

_FORWARDED = (signal.SIGTERM, signal.SIGHUP)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_store(parser, required=False)
    add_job(
        parser, required=False, help_="name of the job; default: the script's name and the time"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD …")


def run(options: argparse.Namespace) -> int:
    """Run the command under recording and say what was recorded."""
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise UsageError("no command: tracemill record [--store DIR] [--job NAME] -- CMD …")
    address = options.store or os.environ.get(OPTION_BY_NAME["output"].env) or DEFAULT_OUTPUT
    job = layout.check_name(options.job) if options.job else _default_job(command)
    store = open_store(address)
    began_ns = time.time_ns()
    code = _run(command, _environment(address, job))
    segments = [
        info
        for info in store.list_objects(layout.raw_prefix(job))
        if info.key.endswith(layout.RAW_SUFFIX) and info.modified_ns >= began_ns
    ]
    if not segments:
        remark(
            "nothing was recorded: is the tracemill SDK installed in the Python that CMD runs? "
            "(pip install tracemill)"
        )
        return code or 1
    _tell(store, job, segments)
    return code


def _tell(store: Store, job: str, segments: list[ObjectInfo]) -> None:
    processes = {info.key.rsplit("/", 1)[0] for info in segments}
    size = sum(info.size_bytes for info in segments)
    remark(f"recorded {len(processes)} process(es), {size:,} bytes, job {job}")
    remark(f"next: tracemill process --store {store.address} --job {job}")


def _environment(address: str, job: str) -> dict[str, str]:
    """Environment of the command: the recorder starts by itself in every Python process."""
    return {
        **os.environ,
        OPTION_BY_NAME["autostart"].env: "1",
        OPTION_BY_NAME["output"].env: str(Path(address).expanduser().absolute()),
        OPTION_BY_NAME["job"].env: job,
    }


def _run(command: list[str], environment: dict[str, str]) -> int:
    """Run the command, pass signals on to it, return its exit code as a shell would."""
    try:
        child = subprocess.Popen(command, env=environment)
    except OSError as error:
        raise TracemillError(f"cannot run {command[0]}: {error.strerror}") from error

    def forward(number: int, _frame: FrameType | None) -> None:
        child.send_signal(number)

    before = {number: signal.signal(number, forward) for number in _FORWARDED}
    # A terminal sends Ctrl-C to the command as well; a second one from us could cut its clean-up.
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        code = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 128 - code if code < 0 else code


def _default_job(command: list[str]) -> str:
    """Name after the first script in the command, with date and time (UTC)."""
    script = next((part for part in command if part.endswith(".py")), command[0])
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return layout.safe_name(f"{Path(script).stem}-{stamp}")
