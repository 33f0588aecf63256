"""Serve the app on this machine (loopback only) and open it in the browser."""

from __future__ import annotations

import argparse
from importlib.metadata import entry_points

from tracemill_schema.errors import TracemillError, UsageError

from tracemill_cli.arguments import add_store, existing_store

NAME = "ui"
HELP = "open the app"
MAX_IDLE_HOURS = 720


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_store(parser)
    parser.add_argument("--port", type=int, default=8899, help="port; 0 takes a free one (8899)")
    parser.add_argument(
        "--idle-hours",
        type=float,
        default=2.0,
        metavar="HOURS",
        help="end when nobody asked for so long; 0: never (2)",
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")


def run(options: argparse.Namespace) -> int:
    """Find the app by its entry point and run it until interrupted."""
    if not 0 <= options.port <= 65_535:
        raise UsageError(f"port {options.port}: take 0 to 65535")
    if not 0 <= options.idle_hours <= MAX_IDLE_HOURS:
        raise UsageError(f"--idle-hours {options.idle_hours:g}: take 0 (never) to {MAX_IDLE_HOURS}")
    existing_store(options.store)
    apps = [entry for entry in entry_points(group="tracemill.apps") if entry.name == "ui"]
    if not apps:
        raise TracemillError("the app is not installed: pip install tracemill-ui")
    serve = apps[0].load()
    return int(serve(options.store, options.port, not options.no_browser, options.idle_hours))
