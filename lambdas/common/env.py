"""The environment of a function, read through one model per handler."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any, TypeVar

from tracemill_schema.aws import Env
from tracemill_schema.errors import UsageError

Model = TypeVar("Model")


def read_environment(model: type[Model]) -> Model:
    """Fill a dataclass whose fields are named as members of ``Env`` in lower case.

    Raises UsageError that names the variable if one is missing or has another type.
    """
    return model(**{name: _value(variable, kind) for name, variable, kind in variables(model)})


def variables(model: type[Any]) -> list[tuple[str, Env, str]]:
    """Return the fields of a model: name, variable, name of the type."""
    return [(field.name, Env[field.name.upper()], str(field.type)) for field in fields(model)]


def _value(variable: Env, kind: str) -> str | int:
    text = os.environ.get(variable, "")
    if not text:
        raise UsageError(f"{variable} is not set: the function is not deployed as it should be")
    if kind != "int":
        return text
    if not text.isdecimal():
        raise UsageError(f"{variable}={text!r}: a whole number is needed")
    return int(text)
