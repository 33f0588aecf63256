from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

class Range:
    def __enter__(self) -> Range: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...
    def __call__(self, function: _Function, /) -> _Function: ...

class Replay:
    """Writes given records with given times as a recording; for simulator, benchmarks, tests."""

    def __new__(
        cls, folder: str, members: str, rotate_bytes: int, monotonic_ns: int, realtime_ns: int, /
    ) -> Replay: ...
    def set_clock(self, monotonic_ns: int, realtime_ns: int, /) -> None: ...
    def name(self, text: str, /) -> int: ...
    def signature(
        self,
        name: str,
        grid_x: int,
        grid_y: int,
        grid_z: int,
        block_x: int,
        block_y: int,
        block_z: int,
        registers: int,
        static_shared: int,
        dynamic_shared: int,
        /,
    ) -> int: ...
    def add(self, kind: str, columns: int, values: bytes, /) -> None: ...
    def flush(self) -> int: ...
    def finish(self, members: str, /) -> tuple[int, int]: ...

def annotate(name: str) -> Range: ...
def step(number: int) -> Range: ...
def annotation_begin(name: str) -> int: ...
def annotation_end(handle: int) -> None: ...
def is_recording() -> bool: ...
def start(
    node_folder: str,
    meta_members: str,
    lock_path: str,
    flush_ms: int,
    cpu_ms: int,
    cpu_s: int,
    ring_events: int,
    rotate_bytes: int,
    rotate_s: int,
    max_steps: int,
    max_bytes: int,
    retry_ms: int,
    schedule: tuple[int, int, int, int] | None,
    gpu: bool,
    gpu_graph_nodes: bool,
    gpu_buffer_bytes: int,
    cupti_path: str,
    nvml_ms: int,
    /,
) -> bool: ...
def stop(reason: str, json_members: str, /) -> bool: ...
def status() -> dict[str, Any]: ...
