"""``with tracemill.profile(...)``: a recording as long as a block."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from tracemill import _native, _options, _session


class profile:
    """Record while the block runs; takes the options of ``start``.

    Raises ValueError at once for unknown options or unusable values. Inside a recording that
    already runs it does nothing.
    """

    def __init__(self, **options: Any) -> None:
        _options.resolve({name: value for name, value in options.items() if name != "schedule"})
        self._options = options
        self._started = False

    def __enter__(self) -> profile:
        before = _native.is_recording()
        _session.start(self._options)
        self._started = not before and _native.is_recording()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._started:
            self._started = False
            _session.stop("stopped", kind is not None, kind.__name__ if kind else None)
