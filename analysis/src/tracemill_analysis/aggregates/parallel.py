"""The aggregates of many processes, side by side: one worker per core, each a process of its own.

A worker is plain Python started on this module: it needs no semaphores (AWS Lambda has none) and no
copy of this process's threads and locks. It gets local files and answers with rows, so it needs
neither the store nor its credentials. What it computes is what ``aggregate_process`` gives here.

    parent -> worker   one list of tasks
    worker -> parent   one answer per task, or an error, as they come
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracemill_schema.errors import TracemillError

from tracemill_analysis.aggregates.bins import Bins
from tracemill_analysis.aggregates.one_process import ProcessAggregates, aggregate_process
from tracemill_analysis.aggregates.source import EventSource, Files, Process, open_files

MIN_BYTES = 16 * 1024 * 1024
"""Files of a job below this are done sooner than workers start (about 2 million events)."""
MAX_WORKERS = 16
MEMORY_PER_FILE_BYTE = 45
"""Memory of a worker by size of its process's files: 1.1 GB for 4 million events in 30 MB."""
MEMORY_OF_A_WORKER = 200 * 1024 * 1024
SHARE_OF_MEMORY = 0.6
"""Share of the memory that is free now which workers may take together."""


@dataclass(frozen=True)
class _Task:
    place: str
    process: Process
    files: Files
    bins: Bins | None


def aggregate_processes(
    source: EventSource, bins: Mapping[str, Bins], workers: int | None = None
) -> Iterator[ProcessAggregates]:
    """Yield the aggregates of every process of a job, in no particular order.

    ``workers`` 1 computes here; None chooses by the size of the files, the cores and the memory.
    Raises StoreError for tables that cannot be read, TracemillError if a worker ended early.
    """
    count = _workers_for(source) if workers is None else workers
    if count <= 1 or len(source.processes) <= 1:
        for process in source.processes:
            yield aggregate_process(source, process, bins.get(process.clock))
        return
    tasks = [
        _Task(source.place, process, source.files_of(process.process_id), bins.get(process.clock))
        for process in source.processes
    ]
    # The largest first, dealt in turn: workers end at about the same time.
    tasks.sort(key=lambda task: (-_size_bytes(task.files), task.process.process_id))
    yield from _run([tasks[at::count] for at in range(min(count, len(tasks)))])


def _workers_for(source: EventSource) -> int:
    if _size_bytes(source.files) < MIN_BYTES:
        return 1
    largest = max(_size_bytes(source.files_of(p.process_id)) for p in source.processes)
    each = MEMORY_OF_A_WORKER + MEMORY_PER_FILE_BYTE * largest
    fitting = int(_free_memory_bytes() * SHARE_OF_MEMORY / each)
    return max(1, min(len(os.sched_getaffinity(0)), MAX_WORKERS, fitting))


def _size_bytes(files: Files) -> int:
    return sum(path.stat().st_size for parts in files.values() for path in parts.values())


def _free_memory_bytes() -> int:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0  # unknown: one worker


def _run(shares: Sequence[list[_Task]]) -> Iterator[ProcessAggregates]:
    answers: queue.SimpleQueue[ProcessAggregates | Exception | None] = queue.SimpleQueue()
    with ExitStack() as stack:
        for share in shares:
            worker = stack.enter_context(_worker())
            threading.Thread(target=_serve, args=(worker, share, answers), daemon=True).start()
        running = len(shares)
        while running:
            answer = answers.get()
            if answer is None:
                running -= 1
            elif isinstance(answer, Exception):
                raise answer
            else:
                yield answer


@contextmanager
def _worker() -> Iterator[subprocess.Popen[bytes]]:
    """Start a worker; at the end of the block, however it is left, it is gone."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    worker = subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import work; work()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )
    try:
        yield worker
    finally:
        worker.kill()
        for pipe in (worker.stdin, worker.stdout):
            with suppress(OSError, ValueError):  # a share it did not read to its end
                if pipe is not None:
                    pipe.close()
        worker.wait()


def _serve(
    worker: subprocess.Popen[bytes],
    share: list[_Task],
    answers: queue.SimpleQueue[ProcessAggregates | Exception | None],
) -> None:
    """Hand a worker its tasks and pass its answers on; a worker that falls silent is an error."""
    assert worker.stdin is not None and worker.stdout is not None
    try:
        pickle.dump(share, worker.stdin)
        worker.stdin.close()
        for _ in share:
            answer: Any = pickle.load(worker.stdout)  # written by our own worker
            answers.put(answer)
            if isinstance(answer, Exception):
                return
        answers.put(None)
    except (OSError, EOFError, ValueError, pickle.UnpicklingError):
        status = worker.wait()
        place = share[0].place
        names = ", ".join(str(task.process.process_id) for task in share[:5])
        answers.put(
            TracemillError(
                f"{place}: a worker that computed aggregates of processes {names}… ended with "
                f"status {status}; out of memory if it is -9"
            )
        )


def work() -> None:
    """Be a worker: tasks from standard input, answers to standard output."""
    answers = sys.stdout.buffer
    share: list[_Task] = pickle.load(sys.stdin.buffer)
    for task in share:
        try:
            with open_files(task.place, [task.process], task.files) as source:
                answer: Any = aggregate_process(source, task.process, task.bins)
        except Exception as error:  # it is raised in the parent
            answer = error
        pickle.dump(answer, answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()
        if isinstance(answer, Exception):
            return
