"""The verbs, in the order ``--help`` shows them. Each module has NAME, HELP, add_arguments, run."""

from __future__ import annotations

from types import ModuleType

from tracemill_cli.commands import (
    compare,
    deploy_check,
    estimate,
    export,
    import_,
    process,
    query,
    record,
    report,
    simulate,
    ui,
)

COMMANDS: tuple[ModuleType, ...] = (
    record,
    import_,
    process,
    report,
    compare,
    export,
    query,
    simulate,
    ui,
    deploy_check,
    estimate,
)
