"""``@annotate(name)``: wraps functions, coroutines and generators; loaded at the first use."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from tracemill._native import annotate


def wrap(name: str, function: Any) -> Any:
    """Return ``function`` with a range around each call.

    The range of a generator lasts from its first item to its end, that of a coroutine as long as
    it is awaited. A class or an object that cannot be called is returned as it is.
    """
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(wrap(name, function.__func__))
    if inspect.isclass(function) or not callable(function):
        return function
    if inspect.isasyncgenfunction(function):
        return _wrap_async_generator(name, function)
    if inspect.iscoroutinefunction(function):
        return _wrap_coroutine(name, function)
    if inspect.isgeneratorfunction(function):
        return _wrap_generator(name, function)

    @functools.wraps(function)
    def wrapper(*arguments: Any, **keywords: Any) -> Any:
        with annotate(name):
            return function(*arguments, **keywords)

    return wrapper


def _wrap_coroutine(name: str, function: Any) -> Any:
    @functools.wraps(function)
    async def wrapper(*arguments: Any, **keywords: Any) -> Any:
        with annotate(name):
            return await function(*arguments, **keywords)

    return wrapper


def _wrap_generator(name: str, function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*arguments: Any, **keywords: Any) -> Any:
        with annotate(name):
            return (yield from function(*arguments, **keywords))

    return wrapper


def _wrap_async_generator(name: str, function: Any) -> Any:
    @functools.wraps(function)
    async def wrapper(*arguments: Any, **keywords: Any) -> Any:
        generator = function(*arguments, **keywords)
        with annotate(name):
            try:
                item = await generator.__anext__()
                while True:
                    try:
                        sent = yield item
                    except GeneratorExit:
                        raise
                    except BaseException as error:
                        item = await generator.athrow(error)
                    else:
                        item = await generator.asend(sent)
            except StopAsyncIteration:
                return
            finally:
                await generator.aclose()

    return wrapper
