"""Run one SELECT over the tables of a store (DuckDB SQL). All tables of docs/tables.md are there.

  tracemill query --store DIR --job NAME "SELECT name, total_ns FROM kernel_summary LIMIT 5"

Without --job the tables span all jobs of the store; each has the column job_name.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text
from tracemill_analysis.query import connect, run_query

from tracemill_cli.arguments import add_job, add_store, existing_store

NAME = "query"
HELP = "run SQL over the tables"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("sql", metavar="SQL", help="one SELECT statement")
    add_store(parser)
    add_job(parser, required=False, help_="limit the tables to this job")
    parser.add_argument("--format", choices=("table", "json", "csv"), default="table")


def run(options: argparse.Namespace) -> int:
    """Run the query and print its rows."""
    connection = connect(existing_store(options.store), options.job)
    try:
        columns, rows = run_query(connection, options.sql)
    finally:
        connection.close()
    _PRINTERS[options.format](columns, rows)
    return 0


def _print_table(columns: list[str], rows: list[tuple[Any, ...]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, column in enumerate(columns):
        numeric = any(isinstance(row[number], int | float) for row in rows[:100])
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text("" if value is None else str(value)) for value in row))
    # A pipe has no width: do not fold there what a program wants to read whole.
    width = None if sys.stdout.isatty() else 10_000
    Console(highlight=False, width=width).print(table)


def _print_json(columns: list[str], rows: list[tuple[Any, ...]]) -> None:
    documents = [dict(zip(columns, row, strict=True)) for row in rows]
    print(json.dumps(documents, indent=1, default=str))


def _print_csv(columns: list[str], rows: list[tuple[Any, ...]]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)


_PRINTERS = {"table": _print_table, "json": _print_json, "csv": _print_csv}
