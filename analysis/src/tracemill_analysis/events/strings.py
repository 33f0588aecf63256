"""Names as numbers: every distinct text of one process is kept once, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

NULL_ID = -1
"""Id that stands for no text."""


def distinct(ids: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct ids, ascending, and the place of each among them; -1 is an id too.

    As ``np.unique`` with ``return_inverse``, without sorting: ids are positions in a small table.
    """
    if not len(ids):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    lowest = int(ids.min())
    span = int(ids.max()) - lowest + 1
    if span > _TABLE_PER_ID * len(ids) + _TABLE_ALWAYS:
        unique, inverse = np.unique(ids, return_inverse=True)
        return unique.astype(np.int64), inverse.astype(np.int64)
    offsets = ids - np.int32(lowest)
    met = np.zeros(span, np.bool_)
    met[offsets] = True
    return np.flatnonzero(met) + lowest, (np.cumsum(met) - 1)[offsets]


_TABLE_PER_ID = 8
_TABLE_ALWAYS = 4096


class _Ids(dict[str, int]):
    """Gives each new text the next number."""

    def __init__(self, pool: StringPool) -> None:
        self.pool = pool

    def __missing__(self, text: str) -> int:
        number = self[text] = self.pool._append(text)
        return number


class StringPool:
    """Maps texts to ids 0, 1, 2, … and back.

    Up to ``memory_bytes`` of text are held in memory. Beyond that the texts move to two files in
    ``folder`` and known ids are forgotten: a text may then get a second id, but an id always
    stands for one text.
    """

    def __init__(self, folder: Path, memory_bytes: int) -> None:
        self._folder = folder
        self._memory_bytes = memory_bytes
        self._ids = _Ids(self)
        self._texts: list[str] = []
        self._held_bytes = 0
        self._spilled = 0
        self._spilled_bytes = 0
        self._data: Any = None
        self._offsets: Any = None

    def __len__(self) -> int:
        return self._spilled + len(self._texts)

    def ids(self, texts: Iterable[str], count: int) -> NDArray[np.int32]:
        """Return the ids of ``count`` texts, shape ``(count,)``."""
        if self._held_bytes > self._memory_bytes:
            self._spill()
        return np.fromiter(map(self._ids.__getitem__, texts), np.int32, count)

    def id_of(self, text: str) -> int:
        """Return the id of one text."""
        return self._ids[text]

    def ids_of_array(self, values: Any) -> NDArray[np.int32]:
        """Return the ids of a string or dictionary array or chunked array; -1 for null."""
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if not pa.types.is_dictionary(values.type):
            values = values.cast(pa.string()).dictionary_encode()
        dictionary = values.dictionary.cast(pa.string()).to_pylist()
        known = self.ids((text or "" for text in dictionary), len(dictionary))
        positions = pc.fill_null(values.indices, NULL_ID).to_numpy(zero_copy_only=False)
        return np.asarray(np.append(known, np.int32(NULL_ID))[positions], np.int32)

    def texts(self, ids: NDArray[np.int32]) -> tuple[list[str | None], NDArray[np.int64]]:
        """Return the distinct texts behind ``ids`` and, for each id, its place among them."""
        unique, places = distinct(ids)
        return [self._text(number) for number in unique.tolist()], places

    def array(self, ids: NDArray[np.int32]) -> Any:
        """Return the texts of ``ids`` as a ``pyarrow`` string array, null where the id is -1."""
        texts, places = self.texts(ids)
        return pa.array(texts, pa.string()).take(pa.array(places))

    def close(self) -> None:
        """Close the spill files."""
        for file in (self._data, self._offsets):
            if file is not None:
                file.close()

    def _append(self, text: str) -> int:
        self._texts.append(text)
        self._held_bytes += len(text) + 150  # entry of the dictionary, object headers
        return self._spilled + len(self._texts) - 1

    def _text(self, number: int) -> str | None:
        if number < 0:
            return None
        if number >= self._spilled:
            return self._texts[number - self._spilled]
        first, last = np.frombuffer(os.pread(self._offsets.fileno(), 16, number * 8), np.int64)
        return os.pread(self._data.fileno(), last - first, first).decode()

    def _spill(self) -> None:
        if self._data is None:
            self._data = (self._folder / "strings.data").open("w+b")
            self._offsets = (self._folder / "strings.offsets").open("w+b")
            self._offsets.write(np.int64(0).tobytes())
        encoded = [text.encode() for text in self._texts]
        ends = self._spilled_bytes + np.cumsum([len(text) for text in encoded], dtype=np.int64)
        self._data.write(b"".join(encoded))
        self._offsets.write(ends.tobytes())
        self._data.flush()
        self._offsets.flush()
        self._spilled_bytes = int(ends[-1])
        self._spilled += len(encoded)
        self._texts.clear()
        self._ids.clear()
        self._held_bytes = 0
