"""Lambda functions as processes: the real client (awslambdaric) behind a local Runtime API."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Answer:
    """What an invocation gave: the payload, and whether it is an error's."""

    payload: bytes
    failed: bool = False


@dataclass(frozen=True)
class FunctionSpec:
    """A function as the template declares it."""

    name: str
    handler: str
    environment: dict[str, str]
    timeout_s: float
    memory_mib: int
    arn: str


class _Worker:
    """One container: a process that takes one event at a time."""

    def __init__(self, spec: FunctionSpec, environment: dict[str, str], folder: Path) -> None:
        self.spec = spec
        self._folder = folder
        self._events: queue.Queue[tuple[str, bytes, float]] = queue.Queue()
        self._answers: queue.Queue[Answer] = queue.Queue()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self._events, self._answers))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        host, port = self._server.server_address[:2]
        with (folder / f"log-{spec.name}").open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "awslambdaric", spec.handler],
                cwd=ROOT,
                env={**environment, **_lambda_environment(spec, f"{host}:{port}")},
                stdout=output,
                stderr=output,
            )

    def call(self, body: bytes, time_left_s: float | None = None) -> Answer:
        """Hand over one event; a process that does not answer in time is ended.

        ``time_left_s`` is what the function is told of its time, if not the truth.
        """
        request = str(uuid.uuid4())
        told_s = self.spec.timeout_s if time_left_s is None else time_left_s
        self._events.put((request, body, time.time() + told_s))
        end = time.monotonic() + self.spec.timeout_s
        while time.monotonic() < end and not self._hangs():
            try:
                return self._answers.get(timeout=0.05)
            except queue.Empty:
                if self._process.poll() is not None:
                    message = f"RequestId: {request} Error: Runtime exited with error"
                    return _error("Runtime.ExitError", message)
        self.close()
        seconds = f"{self.spec.timeout_s:.2f}"
        return _error("Sandbox.Timedout", f"RequestId: {request} Task timed out after {seconds} s")

    def _hangs(self) -> bool:
        return (self._folder / f"hanging-{self._process.pid}").exists()

    @property
    def alive(self) -> bool:
        """Whether it can take another event."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait(10)
        self._server.shutdown()
        self._server.server_close()


class StandInError(Exception):
    """Error of a function, by the name of its class."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"{kind} of a stand-in")
        self.kind = kind


@dataclass
class Functions:
    """All functions of an installation; at most ``per_function`` processes of each."""

    specs: dict[str, FunctionSpec]
    environment: dict[str, str]
    folder: Path
    per_function: int = 2
    told_s: dict[str, list[float]] = field(default_factory=dict)
    """What the next calls of a function are told of their time, for tests of running out of it."""
    stand_ins: dict[str, Callable[[Any], Any]] = field(default_factory=dict)
    """What answers in place of a function: takes its event, returns its result; an error of class
    StandInError is the function's."""
    _idle: dict[str, list[_Worker]] = field(default_factory=dict)
    _slots: dict[str, threading.Semaphore] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def invoke(self, name: str, event: Any) -> Answer:
        """Call a function with an event (JSON text or a value) and wait for its answer."""
        spec = self.specs[name]
        body = event if isinstance(event, bytes) else json.dumps(event).encode()
        if stand_in := self.stand_ins.get(name):
            try:
                return Answer(json.dumps(stand_in(json.loads(body))).encode())
            except StandInError as error:
                return _error(error.kind, str(error))
        with self._lock:
            slot = self._slots.setdefault(name, threading.Semaphore(self.per_function))
        with slot:
            worker = self._take(spec)
            with self._lock:
                told = self.told_s.get(name)
                time_left_s = told.pop(0) if told else None
            answer = worker.call(body, time_left_s)
            if worker.alive:
                with self._lock:
                    self._idle[name].append(worker)
            else:
                worker.close()
        return answer

    def result(self, name: str, event: Any) -> Any:
        """Call a function that is to end well; returns its result."""
        answer = self.invoke(name, event)
        assert not answer.failed, answer.payload.decode()
        return json.loads(answer.payload)

    def log(self, name: str) -> str:
        """What the function has written to its log."""
        return (self.folder / f"log-{name}").read_text(encoding="utf-8")

    def close(self) -> None:
        """End all processes."""
        for workers in self._idle.values():
            for worker in workers:
                worker.close()
        self._idle.clear()

    def _take(self, spec: FunctionSpec) -> _Worker:
        with self._lock:
            idle = self._idle.setdefault(spec.name, [])
            if idle:
                return idle.pop()
        temporary = self.folder / f"tmp-{uuid.uuid4().hex[:8]}"
        temporary.mkdir()
        paths = (Path(__file__).parent / "handler_process", ROOT)
        environment = {
            **self.environment,
            "TMPDIR": str(temporary),
            "PYTHONPATH": os.pathsep.join(str(path) for path in paths),
            "TRACEMILL_TEST_FOLDER": str(self.folder),
            "TRACEMILL_TEST_FUNCTION": spec.name,
        }
        return _Worker(spec, environment, self.folder)


def _error(kind: str, message: str) -> Answer:
    return Answer(json.dumps({"errorType": kind, "errorMessage": message}).encode(), failed=True)


def _lambda_environment(spec: FunctionSpec, api: str) -> dict[str, str]:
    return {
        **spec.environment,
        "AWS_LAMBDA_RUNTIME_API": api,
        "AWS_LAMBDA_FUNCTION_NAME": spec.name,
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(spec.memory_mib),
        "LAMBDA_TASK_ROOT": str(ROOT),
        "_HANDLER": spec.handler,
    }


def _handler(
    events: queue.Queue[tuple[str, bytes, float]], answers: queue.Queue[Answer]
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            request, body, deadline_s = events.get()
            self.send_response(200)
            self.send_header("Lambda-Runtime-Aws-Request-Id", request)
            self.send_header("Lambda-Runtime-Deadline-Ms", str(int(deadline_s * 1000)))
            self.send_header("Lambda-Runtime-Invoked-Function-Arn", "arn")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            answers.put(Answer(self._body(), failed=self.path.endswith("/error")))
            self.send_response(202)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length", "0")))
            content = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                content += self.rfile.read(size)
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
            return content

        def log_message(self, *_: Any) -> None:
            pass

    return Handler
