"""Decodes plain events in C++; whatever is not plain is left to the general decoder.

The native decoder takes a chunk only if every event of it is strictly valid and holds nothing but
the types that recorders normally write. So all rules for the rest stand in Python alone, and a
build without the extension reads the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracemill_analysis.events.strings import distinct
from tracemill_analysis.importers.kineto.categories import KIND_BY_CATEGORY, EventKind

try:
    from tracemill_analysis.importers.kineto import _native
except ImportError:  # built without a C++ compiler
    _native = None  # type: ignore[assignment]

Int64 = NDArray[np.int64]

AVAILABLE = _native is not None


class PlainEvents:
    """The events of a chunk; its length is their number, ``rows`` that of the complete ones.

    Texts are positions in ``texts``, -1 where there is none. Columns have shape ``(rows,)``.
    """

    def __init__(self, decoded: dict[str, Any]) -> None:
        self._decoded = decoded
        self.texts: list[str] = decoded["texts"]
        self.start_ns = self._column("start_ns", np.int64)
        self.dur_ns = self._column("dur_ns", np.int64)
        self.rows = len(self.start_ns)
        self._present = self._column("present", np.uint32)
        self.kinds = self._kinds()

    def __len__(self) -> int:
        return int(self._decoded["elements"])

    def text_ids(self, name: str) -> NDArray[np.int32]:
        """Return a text column."""
        return self._column(name, np.int32)

    def integers(self, name: str) -> tuple[Int64, NDArray[np.bool_]]:
        """Return an integer column, 0 where there is none, and where there is none."""
        bit = np.uint32(1 << _native.INTEGERS.index(name))
        return self._column(name, np.int64), (self._present & bit) == 0

    def is_plain(self) -> bool:
        """Tell if no event that is stored holds a value that only the general decoder reads."""
        odd = self._column("odd", np.bool_)
        return not (odd & (self.kinds > EventKind.UNKNOWN)).any()

    def _kinds(self) -> NDArray[np.int8]:
        categories, places = distinct(self.text_ids("cat"))
        kinds = [KIND_BY_CATEGORY[self.texts[number]] for number in categories.tolist()]
        return np.array(kinds, np.int8)[places]

    def _column(self, name: str, kind: Any) -> NDArray[Any]:
        return np.frombuffer(self._decoded[name], kind)


def decode_plain(buffer: bytes, end: int) -> PlainEvents | None:
    """Decode the events in ``buffer[:end]``, comma-separated; None if they are not all plain."""
    if _native is None or not end:
        return None
    decoded = _native.decode(buffer, end)
    if decoded is None:
        return None
    events = PlainEvents(decoded)
    return events if events.is_plain() else None
