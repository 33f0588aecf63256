"""Histograms: of any sorted values, and of the durations of any annotation of a profile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from tracemill_analysis.store import Store
from tracemill_schema import layout
from tracemill_schema.errors import StoreError
from tracemill_schema.tables.events import ANNOTATIONS

from tracemill_ui.filters import Filter
from tracemill_ui.panels.model import Context, Panel, panel, stat, without_data

MAX_BINS = 60
LEAST_BINS = 10
MAX_VALUES = 2_000_000
"""A histogram of more ranges than this is made of the first ones read, and says so."""
_BATCH_ROWS = 65_536


def quantile(ordered: Sequence[int], share: float) -> int:
    """Return the smallest value that ``share`` of the sorted values do not exceed."""
    position = -(-len(ordered) * int(share * 1000) // 1000) - 1
    return ordered[max(position, 0)]


def histogram(ordered: Sequence[int]) -> dict[str, Any]:
    """Return ``edges`` (n+1, round numbers) and ``counts`` (n) of sorted integers.

    A value on an edge belongs to the bin that begins there. The number of bins grows with the
    spread between the quartiles (Freedman–Diaconis), at most ``MAX_BINS``.
    """
    values = np.asarray(ordered, dtype=np.int64)
    low, high = int(values[0]), int(values[-1])
    width = _bin_width(ordered, low, high)
    first = low // width * width
    bins = (high - first) // width + 1
    counts = np.bincount((values - first) // width, minlength=bins)
    edges = [first + width * position for position in range(bins + 1)]
    return {"edges": edges, "counts": counts.tolist()}


def _bin_width(ordered: Sequence[int], low: int, high: int) -> int:
    """A width of 1, 2 or 5 times a power of ten, in nanoseconds."""
    spread = quantile(ordered, 0.75) - quantile(ordered, 0.25)
    wished = 2 * spread / len(ordered) ** (1 / 3)
    # Edges of at most three digits: nobody reads differences below a thousandth of the values.
    wished = min(wished, (high - low) / LEAST_BINS)
    least = max(wished, (high - low) / (MAX_BINS - 2), high / 1_000, 1.0)
    if spread == 0:
        least = max((high - low) / 20, least)
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power >= least:
                return factor * power
        power *= 10


def annotation_histogram(store: Store, context: Context, series: str) -> Panel:
    """Build the panel of one annotation: ``series`` is a series' name or a range's full name."""
    base = panel(
        "annotation_histogram",
        "Histogram of an annotation",
        "Durations of one of your annotations; values far to the right are the ones to look at.",
        unit="ns",
        window="Host time of every range of the ranks shown.",
        span=6,
    )
    if context.step_span_ns:
        base["window"] = "Host time of ranges that begin within the time of the chosen steps."
    values, complete = _durations(store, context, series)
    if not values.size:
        return without_data(base, "No range of this name. Pick one of the list or check the name.")
    values.sort()
    ordered = values.tolist()
    if not complete:
        base["window"] += f" The first {MAX_VALUES:,} ranges only."
    base["stats"] = [
        stat("Ranges", len(ordered), "count"),
        stat("Mean", sum(ordered) / len(ordered), "ns"),
        stat("Median", quantile(ordered, 0.5), "ns"),
        stat("95 %", quantile(ordered, 0.95), "ns"),
        stat("Longest", ordered[-1], "ns"),
    ]
    return {**base, "kind": "histogram", **histogram(ordered), "count_unit": "ranges"}


def _durations(store: Store, context: Context, series: str) -> tuple[Any, bool]:
    """Read the durations batch by batch; False if there are more than ``MAX_VALUES``."""
    parts: list[Any] = []
    size = 0
    allowed = _allowed_processes(context)
    columns = ["process_id", "name", "series", "start_ns", "dur_ns"]
    prefix = layout.table_prefix(ANNOTATIONS.name, context.profile.entry.name)
    for info in store.list_objects(prefix):
        if not info.key.endswith(".parquet"):
            continue
        try:
            with pq.ParquetFile(store.local_file(info.key)) as file:
                for batch in file.iter_batches(_BATCH_ROWS, columns=columns):
                    found = _matching(batch, series, allowed, context.step_span_ns)
                    parts.append(found)
                    size += found.size
                    if size > MAX_VALUES:
                        return np.concatenate(parts)[:MAX_VALUES], False
        except (OSError, ValueError, pa.ArrowException) as error:
            raise StoreError(f"{info.key} in {store.address}: {error}") from error
    return (np.concatenate(parts) if parts else np.empty(0, np.int64)), True


def _allowed_processes(context: Context) -> Any:
    """The processes that the filter shows; None for all."""
    where: Filter = context.filter
    if not (where.nodes or where.ranks):
        return None
    return context.table("processes")["process_id"].combine_chunks()


def _matching(batch: Any, series: str, allowed: Any, span_ns: tuple[int, int] | None) -> Any:
    mask = pc.or_(pc.equal(batch["series"], series), pc.equal(batch["name"], series))
    if allowed is not None:
        mask = pc.and_(mask, pc.is_in(batch["process_id"], allowed))
    if span_ns is not None:
        starts = batch["start_ns"]
        within = pc.and_(pc.greater_equal(starts, span_ns[0]), pc.less(starts, span_ns[1]))
        mask = pc.and_(mask, within)
    found = batch["dur_ns"].filter(mask)
    array = found if isinstance(found, pa.Array) else found.combine_chunks()
    return array.to_numpy(zero_copy_only=False).astype(np.int64)
