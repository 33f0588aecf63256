"""Names and categories of a profile as numbers: the same text has the same number everywhere."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_NAME_CHARS = 1_000


class Names:
    """A table of texts that only grows. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids: dict[str, int] = {}
        self._texts: list[str] = []

    def id_of(self, text: str) -> int:
        """Return the number of a text."""
        return int(self.ids_of([text])[0])

    def ids_of(self, texts: list[str | None]) -> NDArray[np.int32]:
        """Return the numbers of some texts; null counts as empty."""
        with self._lock:
            ids, known = self._ids, self._texts
            found = np.empty(len(texts), np.int32)
            for at, text in enumerate(texts):
                text = text or ""
                number = ids.get(text)
                if number is None:
                    number = ids[text] = len(known)
                    known.append(text)
                found[at] = number
            return found

    def encode(self, column: Any) -> NDArray[np.int32]:
        """Return a string column (``pyarrow`` chunked array) as numbers."""
        array = column.combine_chunks()
        if not hasattr(array, "indices"):
            array = array.dictionary_encode()
        if array.null_count:
            array = array.cast("string").fill_null("").dictionary_encode()
        ids = self.ids_of(array.dictionary.to_pylist())
        codes: NDArray[np.int32] = array.indices.to_numpy(zero_copy_only=False)
        return ids[codes] if len(ids) else np.empty(0, np.int32)

    def text(self, number: int) -> str:
        """Return a text."""
        return self._texts[number]


def shortened(text: str) -> str:
    """Shorten a name of thousands of characters in its middle, for drawing and lists."""
    if len(text) <= MAX_NAME_CHARS:
        return text
    half = MAX_NAME_CHARS // 2
    return f"{text[:half]}…{text[-half + 1 :]}"
