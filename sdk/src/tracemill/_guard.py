"""Keeps the recorder's own troubles out of the training script."""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

_said: set[str] = set()
troubles: list[str] = []
"""What went wrong so far, one line each; shown by ``status()``."""


def say(text: str) -> None:
    """Print one line on stderr, each text once per process, and keep it for ``status()``."""
    if text in _said:
        return
    _said.add(text)
    troubles.append(text)
    try:
        sys.stderr.write(f"tracemill: {text}\n")
        sys.stderr.flush()
    except Exception:  # no stderr (daemon, closed): there is nobody to tell
        return


def guarded(function: _Function) -> _Function:
    """Let only ValueError out of ``function`` (misuse of the API); say everything else once."""

    @functools.wraps(function)
    def wrapper(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except UsageError:
            raise
        except Exception as error:
            say(f"{function.__name__} failed, the script goes on: {type(error).__name__}: {error}")
            return None

    return wrapper  # type: ignore[return-value]


class UsageError(ValueError):
    """An option or argument given by the script cannot be used."""
