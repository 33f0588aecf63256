"""Uploads closed segments of one recording process to S3. Runs as a process of its own.

Started by ``_upload`` as a script, not as part of the package: it must not load the recorder. A
process of its own costs the training no interpreter lock and survives its death: what a killed
training has written is uploaded all the same. Needs nothing but boto3 and the one permission
s3:PutObject. An uploaded segment is removed from the folder, so the folder is a bounded backlog.

Lines from the parent: ``open`` (it records: its newest segment is still written), ``closed``,
``exit`` (upload what is there, in time, then answer ``done``). End of file: the parent is gone.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import sys
import time
from typing import Any, Callable

Put = Callable[[str, str], None]
Tell = Callable[[dict[str, Any]], None]

_FOLDER = re.compile(r"process=(\d+)-(\d+)")
_SEGMENT = re.compile(r"\d{6,}\.tmraw")
_MAX_DOUBLINGS = 6
_CONNECT_TIMEOUT_S, _READ_TIMEOUT_S = 5, 60
_NICE = 10


class Worker:
    """``config``: see ``_upload``. ``put(key, path)`` uploads a file; any exception means no."""

    def __init__(self, config: dict[str, Any], put: Put, tell: Tell) -> None:
        self._config = config
        self._put = put
        self._tell = tell
        self._open = True
        self._failures = 0
        self._retry_at_s = 0.0
        self._waiting_told = False
        self._not_removed: set[str] = set()
        self.uploaded = 0
        self.uploaded_bytes = 0

    def hear(self, line: str) -> bool:
        """Take a line from the parent; True if it asks to finish."""
        if line in ("open", "closed"):
            self._open = line == "open"
        return line == "exit"

    def closed_segments(self, parent_alive: bool) -> list[str]:
        """Paths of segments that nobody writes any more, oldest first.

        Beside those of the parent: those of processes that began after it and are gone, such as
        forked workers. Whoever uploads one of them twice writes the same bytes.
        """
        found: list[tuple[int, str]] = []
        for name in _listdir(self._config["node_folder"]):
            match = _FOLDER.fullmatch(name)
            if match is None:
                continue
            pid, start_ns = int(match.group(1)), int(match.group(2))
            folder = os.path.join(self._config["node_folder"], name)
            segments = sorted(
                (int(segment.partition(".")[0]), os.path.join(folder, segment))
                for segment in _listdir(folder)
                if _SEGMENT.fullmatch(segment)
            )
            if pid == self._config["pid"]:
                if parent_alive and self._open:
                    segments = segments[:-1]
            elif start_ns < self._config["start_ns"] or _is_alive(pid):
                continue
            found += segments
        return [path for _, path in sorted(found) if path not in self._not_removed]

    def round(self, parent_alive: bool, deadline_s: float | None = None) -> int:
        """Upload what can be uploaded now; the number of segments left behind."""
        paths = self.closed_segments(parent_alive)
        for number, path in enumerate(paths):
            now_s = time.monotonic()
            if now_s < self._retry_at_s or (deadline_s is not None and now_s >= deadline_s):
                return len(paths) - number
            if not self._upload(path):
                return len(paths) - number
        return 0

    def _upload(self, path: str) -> bool:
        key = self._config["prefix"] + os.path.relpath(path, self._config["output"])
        try:
            size = os.path.getsize(path)
            self._put(key.replace(os.sep, "/"), path)
        except FileNotFoundError:
            return True  # somebody removed it: nothing is left to upload
        except Exception as error:  # whatever it is, the training must not notice
            self._refused(error)
            return False
        if self._failures:
            self._tell({"say": f"upload to {self._config['uri']} works again"})
        self._failures = 0
        self.uploaded += 1
        self.uploaded_bytes += size
        try:
            os.unlink(path)
        except OSError:
            self._not_removed.add(path)
        return True

    def _refused(self, error: Exception) -> None:
        wait_s = self._config["retry_s"] * 2 ** min(self._failures, _MAX_DOUBLINGS)
        self._retry_at_s = time.monotonic() + wait_s
        self._failures += 1
        if not self._waiting_told:
            self._waiting_told = True
            self._tell(
                {
                    "say": f"upload to {self._config['uri']} does not work: {_reason(error)}; the "
                    f"recording goes on in {self._config['output']}, the upload is tried again"
                }
            )

    def wait_s(self) -> float:
        """How long nothing needs to be done."""
        left_s = self._retry_at_s - time.monotonic()
        return max(0.02, left_s if self._failures else self._config["interval_s"])

    def finish(self, deadline_s: float) -> int:
        """Upload until nothing is left or time is up; the number of segments left behind."""
        self._open = False
        self._retry_at_s = 0.0
        while True:
            left = self.round(False, deadline_s)
            remaining_s = deadline_s - time.monotonic()
            if not left or remaining_s <= 0:
                return left
            time.sleep(min(self.wait_s(), remaining_s))

    def remove_empty_folders(self) -> None:
        """Remove folders that hold nothing, up to the output folder."""
        for name in _listdir(self._config["node_folder"]):
            _rmdir(os.path.join(self._config["node_folder"], name))
        folder = self._config["node_folder"]
        while len(folder) > len(self._config["output"]) and _rmdir(folder):
            folder = os.path.dirname(folder)


def _listdir(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _rmdir(folder: str) -> bool:
    try:
        os.rmdir(folder)
    except OSError:
        return False
    return True


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"  # ended, not yet waited for
    except ProcessLookupError:
        return False
    except (OSError, IndexError):
        return True  # not ours, or no /proc: left alone


def _reason(error: Exception) -> str:
    """One line without secrets: the service's word for it, else the kind of the exception."""
    answer = getattr(error, "response", None)
    if isinstance(answer, dict):
        return str(answer.get("Error", {}).get("Code", type(error).__name__))
    return type(error).__name__


def s3_put(config: dict[str, Any]) -> Put:
    """Return a function that uploads one file with one PutObject."""
    import boto3
    from botocore.config import Config

    client = boto3.client(
        "s3",
        config=Config(
            connect_timeout=_CONNECT_TIMEOUT_S,
            read_timeout=_READ_TIMEOUT_S,
            retries={"total_max_attempts": 1},
        ),
    )

    def put(key: str, path: str) -> None:
        with open(path, "rb") as file:
            client.put_object(Bucket=config["bucket"], Key=key, Body=file)

    return put


class _LazyPut:
    """Makes the client at the first upload, and again after it could not be made."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config
        self._put: Put | None = None

    def __call__(self, key: str, path: str) -> None:
        if self._put is None:
            self._put = s3_put(self._config)
        self._put(key, path)


class _Lines:
    """Reads lines of a descriptor without blocking beyond a time."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = b""
        self.pending: list[str] = []
        self.ended = False

    def read(self, timeout_s: float | None) -> list[str]:
        """Lines that have come; waits up to ``timeout_s`` for the first."""
        if self.pending or self.ended:
            pending, self.pending = self.pending, []
            return pending
        ready, _, _ = select.select([self._descriptor], [], [], timeout_s)
        if not ready:
            return []
        content = os.read(self._descriptor, 4096)
        self.ended = not content
        *lines, self._rest = (self._rest + content).split(b"\n")
        return [line.decode() for line in lines]


def run(config: dict[str, Any], lines: _Lines, tell: Tell, put: Put) -> None:
    """Serve the parent until it asks to finish or is gone."""
    worker = Worker(config, put, tell)
    parent = os.getppid()
    wait_s = 0.0
    while True:
        asked = [worker.hear(line) for line in lines.read(wait_s)]
        alive = not lines.ended and os.getppid() == parent
        if any(asked):
            left = worker.finish(time.monotonic() + config["deadline_s"])
            tell({"done": True, "uploaded": worker.uploaded, "left": left})
            if left:
                return  # time is up
            break
        if not alive:
            break
        worker.round(parent_alive=True)
        wait_s = worker.wait_s()
    while not lines.ended and os.getppid() == parent:
        lines.read(config["interval_s"])
    # The parent is gone, and with it the workers it had forked.
    worker.finish(time.monotonic() + config["deadline_s"])
    worker.remove_empty_folders()


def main() -> None:
    """Entry point: the configuration is the first line of standard input."""
    sys.path.pop(0)  # the folder of this file: its modules belong to a package
    with contextlib.suppress(OSError):
        os.nice(_NICE)
    said = os.dup(2)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 2)  # what boto3 warns of is no message to the user
    lines = _Lines(0)
    first: list[str] = []
    while not first and not lines.ended:
        first = lines.read(None)
    if not first:
        return
    config = json.loads(first[0])
    lines.pending = first[1:]

    def tell(message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # the parent is gone
            if "say" in message:
                os.write(said, ("tracemill: " + message["say"] + "\n").encode())
            os.write(1, (json.dumps(message) + "\n").encode())

    run(config, lines, tell, _LazyPut(config))


if __name__ == "__main__":
    main()
