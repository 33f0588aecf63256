"""Loaded by every handler process of the tests: notes each AWS call, breaks those it is told to.

Calls go to ``<folder>/calls-<function>-<pid>.jsonl``, faults come from ``<folder>/faults.json``:
a list of {id, function, operation, text, fault, times}; ``text`` must occur in the call's
parameters; ``fault`` is an error code, ``hang`` or ``die``. A process that hangs says so with a
file ``hanging-<pid>``, so that nobody has to wait for its time limit.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

_FOLDER = os.environ.get("TRACEMILL_TEST_FOLDER")


def _install(folder: Path, function: str) -> None:
    from botocore.client import BaseClient
    from botocore.exceptions import ClientError

    inner = BaseClient._make_api_call
    calls = (folder / f"calls-{function}-{os.getpid()}.jsonl").open("a", buffering=1)

    def call(self: Any, operation: str, params: dict[str, Any]) -> Any:
        kept = {name: value for name, value in params.items() if name != "Body"}
        service = self.meta.service_model.service_name
        line = {"function": function, "service": service, "operation": operation, "params": kept}
        calls.write(json.dumps(line, default=str) + "\n")
        for fault in _faults(folder, function, operation, json.dumps(kept, default=str)):
            if fault == "hang":
                (folder / f"hanging-{os.getpid()}").touch()
                time.sleep(3600)
            if fault == "die":
                os._exit(137)
            raise ClientError({"Error": {"Code": fault, "Message": "as told"}}, operation)
        return inner(self, operation, params)

    BaseClient._make_api_call = call


def _faults(folder: Path, function: str, operation: str, text: str) -> list[str]:
    try:
        rules = json.loads((folder / "faults.json").read_text())
    except FileNotFoundError:
        return []
    for rule in rules:
        if (rule["function"], rule["operation"]) != (function, operation):
            continue
        if rule["text"] in text and _take(folder, rule):
            return [rule["fault"]]
    return []


def _take(folder: Path, rule: dict[str, Any]) -> bool:
    for number in range(rule["times"]):
        try:
            (folder / f"used-{rule['id']}-{number}").touch(exist_ok=False)
        except FileExistsError:
            continue
        return True
    return False


if _FOLDER:
    _install(Path(_FOLDER), os.environ["TRACEMILL_TEST_FUNCTION"])
