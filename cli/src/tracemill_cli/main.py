"""Entry point: finds the verb, turns errors into one line and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from tracemill_schema.errors import TracemillError

from tracemill_cli.commands import COMMANDS
from tracemill_cli.console import remark

VERSION = "0.1.0"


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with one sub-parser per verb."""
    parser = argparse.ArgumentParser(
        prog="tracemill",
        description="Record what CPUs and GPUs do in a training job, and see it.",
        epilog="Exit codes: 0 done (also when partial, said on stderr), 1 could not be done, "
        "2 wrong usage.",
    )
    parser.add_argument("--version", action="version", version=f"tracemill {VERSION}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for command in COMMANDS:
        sub = verbs.add_parser(
            command.NAME,
            help=command.HELP,
            description=command.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(sub)
        sub.set_defaults(run=command.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    options = build_parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except TracemillError as error:
        remark(str(error))
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output (head, less) has gone: not an error, and nothing to say to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        remark("interrupted")
        return 130


if __name__ == "__main__":
    sys.exit(main())
