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
