"""The table of texts of an export."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from tracemill_analysis.events.strings import StringPool
from tracemill_analysis.importers.nsys.tables import STRINGS, Kind, Tables, Wanted

UNKNOWN = "(unknown name)"

Int64 = NDArray[np.int64]


class Strings:
    """Texts by the id that the export gives them; the texts themselves lie in a pool."""

    def __init__(self, tables: Tables, pool: StringPool) -> None:
        self._pool = pool
        numbers: list[Int64] = [np.empty(0, np.int64)]
        places: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
        kinds = {"id": Kind.INTEGER, "value": Kind.TEXT}
        for columns, _ in tables.read(Wanted(STRINGS, kinds)):
            if not {"id", "value"} <= columns.keys():
                break
            usable = pc.and_(pc.is_valid(columns["id"]), pc.is_valid(columns["value"]))
            numbers.append(columns["id"].filter(usable).to_numpy(zero_copy_only=False))
            places.append(pool.ids_of_array(columns["value"].filter(usable)))
        ids = np.concatenate(numbers).astype(np.int64)
        order = np.argsort(ids, kind="stable")
        self._ids, self._places = ids[order], np.concatenate(places)[order]

    def ids(self, numbers: Any, count: int) -> NDArray[np.int32]:
        """Return ids of the pool for an Arrow array of the export's ids, or for no such column."""
        unknown = self._pool.id_of(UNKNOWN)
        if numbers is None:
            return np.full(count, unknown, np.int32)
        wanted = pc.fill_null(numbers, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        if not len(self._ids):
            return np.full(len(wanted), unknown, np.int32)
        found = np.minimum(np.searchsorted(self._ids, wanted), len(self._ids) - 1)
        known = (self._ids[found] == wanted) & pc.is_valid(numbers).to_numpy(zero_copy_only=False)
        return np.where(known, self._places[found], unknown).astype(np.int32)

    def distinct(self, numbers: Any, count: int) -> tuple[list[str], Int64]:
        """Return the distinct texts behind the export's ids, and each row's place among them."""
        texts, places = self._pool.texts(self.ids(numbers, count))
        return [text or UNKNOWN for text in texts], places

    def texts_or_ids(self, texts: Any, numbers: Any, count: int) -> tuple[list[str], Int64]:
        """As ``distinct``, for rows that hold either the text or its id."""
        if texts is None:
            return self.distinct(numbers, count)
        given = self._pool.ids_of_array(texts)
        if numbers is not None:
            absent = np.asarray(texts.is_null().to_numpy(zero_copy_only=False), bool)
            given = np.where(absent, self.ids(numbers, count), given).astype(np.int32)
        found, places = self._pool.texts(given)
        return [UNKNOWN if text is None else text for text in found], places
