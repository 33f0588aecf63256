"""Arguments that several verbs share."""

from __future__ import annotations

import argparse
from pathlib import Path

from tracemill_analysis.store import Store, open_store
from tracemill_schema.errors import StoreError


def add_store(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Add ``--store``."""
    parser.add_argument(
        "--store",
        metavar="DIR",
        required=required,
        help="folder, or s3://bucket/prefix, that holds the profiles",
    )


def add_job(parser: argparse.ArgumentParser, *, required: bool = True, help_: str = "") -> None:
    """Add ``--job``."""
    parser.add_argument("--job", metavar="NAME", required=required, help=help_ or "name of the job")


def existing_store(address: str) -> Store:
    """Open a store that is to be read; StoreError if there is none."""
    if "://" not in address and not Path(address).expanduser().exists():
        raise StoreError(f"store {address}: no such folder")
    store = open_store(address)
    store.check()
    return store
