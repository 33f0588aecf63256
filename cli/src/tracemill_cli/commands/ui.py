"""Serve the app on this machine (loopback only) and open it in the browser."""

from __future__ import annotations

import argparse
from importlib.metadata import entry_points

from tracemill_schema.errors import TracemillError, UsageError

from tracemill_cli.arguments import add_store, existing_store

NAME = "ui"
HELP = "open the app"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_store(parser)
    parser.add_argument("--port", type=int, default=8899, help="port; 0 takes a free one (8899)")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")


def run(options: argparse.Namespace) -> int:
    """Find the app by its entry point and run it until interrupted."""
    if not 0 <= options.port <= 65_535:
        raise UsageError(f"port {options.port}: take 0 to 65535")
    existing_store(options.store)
    apps = [entry for entry in entry_points(group="tracemill.apps") if entry.name == "ui"]
    if not apps:
        raise TracemillError("the app is not installed: pip install tracemill-ui")
    return int(apps[0].load()(options.store, options.port, not options.no_browser))
