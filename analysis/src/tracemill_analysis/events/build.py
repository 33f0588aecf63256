"""Columns of the event tables that are worked out from staged, linked rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from tracemill_schema.tables.events import KERNELS, MEMORY_OPS
from tracemill_schema.vocab import KernelCategory

from tracemill_analysis.classify import classify_kernel
from tracemill_analysis.events.extents import GpuExtents
from tracemill_analysis.events.link import Linker
from tracemill_analysis.events.names import collective_operation
from tracemill_analysis.events.nesting import NestingDepth
from tracemill_analysis.events.series import STEP_SERIES, fold
from tracemill_analysis.events.steps import StepIndex
from tracemill_analysis.events.strings import StringPool

Int64 = NDArray[np.int64]
Columns = dict[str, Any]


@dataclass
class Context:
    """What building needs beside the rows; holds state from batch to batch."""

    strings: StringPool
    steps: StepIndex
    offset_ns: int
    operator_depth: NestingDepth = field(default_factory=NestingDepth)
    annotation_depth: NestingDepth = field(default_factory=NestingDepth)
    sequences: dict[str | None, int] = field(default_factory=dict)

    def step(self, times_ns: Int64) -> Any:
        """Return the step of each time as an Arrow array, null outside all steps."""
        steps, outside = self.steps.find(times_ns)
        return pa.array(steps, mask=outside)

    def text(self, ids: Int64) -> Any:
        """Return texts of ids as a dictionary array."""
        texts, places = self.strings.texts(ids.astype(np.int32))
        return _dictionary(texts, places)


class Rows:
    """One batch of linked rows, column by column."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch
        self.count = batch.num_rows

    def arrow(self, name: str) -> Any:
        """Return a column as a ``pyarrow.Array``."""
        return self._batch.column(name).combine_chunks()

    def numbers(self, name: str) -> Int64:
        """Return a column as ``int64``, null as 0."""
        filled = pc.fill_null(self.arrow(name), 0)
        return np.asarray(filled.to_numpy(zero_copy_only=False), np.int64)

    def missing(self, name: str) -> NDArray[np.bool_]:
        """Tell where a column is null."""
        return np.asarray(self.arrow(name).is_null().to_numpy(zero_copy_only=False), np.bool_)


def _dictionary(texts: list[str | None], places: Int64) -> Any:
    """Dictionary array of distinct texts, of which None stands for null."""
    nulls = np.array([text is None for text in texts], np.bool_)
    indices = pa.array(places.astype(np.int32), mask=nulls[places] if nulls.any() else None)
    return pa.DictionaryArray.from_arrays(indices, pa.array([t or "" for t in texts], pa.string()))


def _by_name(rows: Rows, context: Context, rule: Callable[[str], Any]) -> tuple[list[Any], Int64]:
    """Apply ``rule`` to the distinct names; return the results and each row's place among them."""
    texts, places = context.strings.texts(rows.numbers("name").astype(np.int32))
    return [rule(text or "") for text in texts], places


def _shifted(rows: Rows, name: str, offset_ns: int) -> Any:
    return pa.array(rows.numbers(name) + offset_ns, mask=rows.missing(name))


def _passed_on(
    rows: Rows, context: Context, numbers: tuple[str, ...], texts: tuple[str, ...] = ()
) -> Columns:
    columns: Columns = {name: rows.arrow(name) for name in numbers}
    columns.update({name: context.text(rows.numbers(name)) for name in texts})
    columns["start_ns"] = rows.numbers("start_ns") + context.offset_ns
    columns["dur_ns"] = rows.numbers("dur_ns")
    return columns


def _launch(rows: Rows, context: Context) -> Columns:
    launched = np.where(
        rows.missing("launch_start_ns"), rows.numbers("start_ns"), rows.numbers("launch_start_ns")
    )
    return {
        "launch_start_ns": _shifted(rows, "launch_start_ns", context.offset_ns),
        "launch_dur_ns": rows.arrow("launch_dur_ns"),
        "launch_thread": rows.arrow("launch_thread"),
        "step": context.step(launched),
    }


_KERNEL_NUMBERS = (
    "device", "stream", "correlation", "grid_x", "grid_y", "grid_z", "block_x", "block_y",
    "block_z", "registers", "shared_bytes", "graph_node",
)  # fmt: skip


def kernels(rows: Rows, context: Context, _linker: Linker) -> Columns:
    """Columns of ``kernels``."""
    classes, places = _by_name(rows, context, classify_kernel)
    return {
        **_passed_on(rows, context, _KERNEL_NUMBERS, ("name",)),
        **_launch(rows, context),
        "category": _dictionary([str(c.category) for c in classes], places),
        "precision": _dictionary([str(c.precision) for c in classes], places),
    }


def memory_ops(rows: Rows, context: Context, _linker: Linker) -> Columns:
    """Columns of ``memory_ops``."""
    numbers = ("device", "stream", "correlation", "bytes")
    texts = ("name", "kind", "src_kind", "dst_kind")
    return {**_passed_on(rows, context, numbers, texts), **_launch(rows, context)}


def api_calls(rows: Rows, context: Context, _linker: Linker) -> Columns:
    """Columns of ``api_calls``."""
    return {
        **_passed_on(rows, context, ("thread", "correlation"), ("name", "api")),
        "run_start_ns": _shifted(rows, "run_start_ns", context.offset_ns),
        "step": context.step(rows.numbers("start_ns")),
    }


def syncs(rows: Rows, context: Context, _linker: Linker) -> Columns:
    """Columns of ``syncs``."""
    numbers = ("device", "stream", "thread", "correlation")
    return _passed_on(rows, context, numbers, ("side", "kind", "name"))


def operators(rows: Rows, context: Context, _linker: Linker) -> Columns:
    """Columns of ``operators``."""
    starts = rows.numbers("start_ns")
    depth = context.operator_depth.depths(rows.numbers("thread"), starts, rows.numbers("dur_ns"))
    return {
        **_passed_on(rows, context, ("thread",), ("name", "category", "module", "shapes")),
        "depth": depth,
        "step": context.step(starts),
    }


def user_ranges(rows: Rows, context: Context, linker: Linker) -> Columns:
    """Columns of ``annotations``."""
    folded, places = _by_name(rows, context, fold)
    series = [name for name, _ in folded]
    numbers = np.array([-1 if number is None else number for _, number in folded], np.int64)
    threads, starts = rows.numbers("thread"), rows.numbers("start_ns")
    durations = rows.numbers("dur_ns")
    is_step = np.array([name in STEP_SERIES for name in series], np.bool_)[places]
    first, last, none = _gpu_extents(
        rows, GpuExtents(threads, starts, starts + durations, is_step, linker.launching_threads()),
        linker,
    )  # fmt: skip
    return {
        **_passed_on(rows, context, ("thread",), ("name",)),
        "series": _dictionary(list(series), places),
        "index": pa.array(numbers[places], mask=numbers[places] < 0),
        "depth": context.annotation_depth.depths(threads, starts, durations),
        "gpu_start_ns": pa.array(np.where(none, 0, first + context.offset_ns), mask=none),
        "gpu_dur_ns": pa.array(np.where(none, 0, last - first), mask=none),
    }


def _gpu_extents(
    rows: Rows, extents: GpuExtents, linker: Linker
) -> tuple[Int64, Int64, NDArray[np.bool_]]:
    """Recorded GPU times of the annotations, else those of the GPU events they launched."""
    starts = rows.numbers("start_ns")
    extents.add(
        linker.runs_launched(int(starts.min()), int((starts + rows.numbers("dur_ns")).max()))
    )
    first, last, none = extents.result()
    unrecorded = rows.missing("gpu_start_ns")
    return (
        np.where(unrecorded, np.where(none, 0, first), rows.numbers("gpu_start_ns")),
        np.where(unrecorded, np.where(none, 0, last), rows.numbers("gpu_end_ns")),
        none & unrecorded,
    )


def collectives(rows: Rows, built: Columns, context: Context) -> tuple[Columns, int]:
    """Columns of ``collectives`` from a batch of kernels, in order of start, and their number."""
    is_communication = pc.equal(
        built["category"].cast(pa.string()), str(KernelCategory.COMMUNICATION)
    )
    places = np.flatnonzero(is_communication.to_numpy(zero_copy_only=False))
    picked = pa.array(places)
    names = built["name"].take(picked).to_pylist()
    groups = context.text(rows.numbers("collective_group")[places]).to_pylist()
    recorded = context.text(rows.numbers("collective_operation")[places]).to_pylist()
    sequence = []
    for group in groups:
        number = context.sequences.get(group, 0)
        context.sequences[group] = number + 1
        sequence.append(number)
    operations = [collective_operation(r or n) for r, n in zip(recorded, names, strict=True)]
    return {
        **{name: built[name].take(picked) for name in ("device", "stream", "name", "step")},
        "process_group": pa.array(groups, pa.string()),
        "sequence": pa.array(sequence, pa.int64()),
        "operation": pa.array(operations, pa.string()),
        "bytes": rows.arrow("collective_bytes").take(picked),
        "dtype": context.text(rows.numbers("collective_dtype")[places]),
        "group_size": rows.arrow("collective_ranks").take(picked),
        "start_ns": built["start_ns"][places],
        "dur_ns": built["dur_ns"][places],
    }, len(places)


BUILDERS: dict[str, Callable[[Rows, Context, Linker], Columns]] = {
    KERNELS.name: kernels,
    MEMORY_OPS.name: memory_ops,
    "api_calls": api_calls,
    "syncs": syncs,
    "annotations": user_ranges,
    "operators": operators,
}
