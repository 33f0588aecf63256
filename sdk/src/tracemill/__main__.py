"""Record a script without touching it: ``python -m tracemill [options] script.py args…``.

``python -m tracemill [options] -m module args…`` runs a module. Python processes that the script
starts are recorded too (TRACEMILL_AUTOSTART is set for them).
"""

from __future__ import annotations

import os
import runpy
import sys

from tracemill import _exit, _generated, _guard, _options, _session

_USAGE = "usage: python -m tracemill [--OPTION VALUE]... (script.py | -m module) [args...]"


def _help() -> str:
    lines = [_USAGE, "", "options (each also as an environment variable):"]
    for name, (env, _, default, doc) in _generated.OPTIONS.items():
        shown = "" if default is None else f" Default: {default}."
        lines.append(f"  --{name.replace('_', '-'):20} {doc}{shown} [{env}]")
    return "\n".join(lines) + "\n"


def split(arguments: list[str]) -> tuple[dict[str, str], bool, list[str]]:
    """Split a command line into options, "is a module", and the command with its arguments.

    Raises UsageError with a message for the user.
    """
    options: dict[str, str] = {}
    rest = list(arguments)
    while rest and rest[0].startswith("--") and rest[0] != "--":
        name, has_value, value = rest.pop(0)[2:].partition("=")
        name = name.replace("-", "_")
        if name not in _generated.OPTIONS:
            raise _guard.UsageError(f"unknown option --{name.replace('_', '-')}")
        if not has_value:
            if not rest:
                raise _guard.UsageError(f"option --{name.replace('_', '-')} needs a value")
            value = rest.pop(0)
        _options.parse(name, _generated.OPTIONS[name][1], value)
        options[name] = value
    if rest and rest[0] == "--":
        rest.pop(0)
    is_module = bool(rest) and rest[0] == "-m"
    if is_module:
        rest.pop(0)
    if not rest:
        raise _guard.UsageError("no script to run")
    return options, is_module, rest


def main(arguments: list[str]) -> int:
    """Run the command line; the script's own exit passes through."""
    if arguments[:1] in (["-h"], ["--help"]):
        sys.stdout.write(_help())
        return 0
    try:
        options, is_module, command = split(arguments)
    except _guard.UsageError as error:
        sys.stderr.write(f"tracemill: {error}\n{_USAGE}\n")
        return 2
    if not is_module and not os.path.exists(command[0]):
        sys.stderr.write(f"tracemill: no such script: {command[0]}\n")
        return 1
    for name, value in options.items():
        os.environ[_generated.OPTIONS[name][0]] = value
    os.environ["TRACEMILL_AUTOSTART"] = "1"
    sys.argv = command
    if not is_module:
        sys.path[0] = os.path.dirname(os.path.abspath(command[0]))
    _session.start({})
    _run(is_module, command[0])
    return 0


def _run(is_module: bool, command: str) -> None:
    try:
        if is_module:
            runpy.run_module(command, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(command, run_name="__main__")
    except SystemExit as error:
        if error.code not in (None, 0):
            _exit.mark_failed("SystemExit")
        raise


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
