"""Ships closed segments to S3 while the training runs; the work is done by ``_upload_worker``."""

from __future__ import annotations

import importlib.util
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from typing import Any

from tracemill import _guard, _options
from tracemill._guard import guarded

_MARGIN_S = 1.0


class _Uploader:
    """The worker process of this process, and the pipes to and from it."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.owner = os.getpid()
        self._config = config
        orders, self._to_worker = os.pipe()
        self._from_worker, answers = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, os.path.join(os.path.dirname(__file__), "_upload_worker.py")],
                stdin=orders,
                stdout=answers,
                env={k: v for k, v in os.environ.items() if k != "TRACEMILL_AUTOSTART"},
                cwd="/",
                start_new_session=True,  # Ctrl-C ends the training, its recording is still shipped
            )
        except OSError:
            self._close()
            raise
        finally:
            os.close(orders)
            os.close(answers)
        # It outlives this process on purpose; nobody waits for it or complains that it runs.
        self._process.returncode = 0
        self.send(json.dumps(config))

    def send(self, line: str) -> None:
        """Write a line; if the worker has ended, the segments stay in the folder."""
        try:
            os.write(self._to_worker, line.encode() + b"\n")
        except OSError:
            return

    def finish(self) -> None:
        """Wait until everything is uploaded, at most until the deadline; say so if it is not."""
        self.send("exit")
        left = self._left_behind(time.monotonic() + self._config["deadline_s"] + _MARGIN_S)
        if left != 0:
            _guard.say(
                f"{'some' if left is None else left} segments were not uploaded to "
                f"{self._config['uri']} in time; they are in {self._config['output']}"
            )
        self._close()

    def _left_behind(self, until_s: float) -> int | None:
        received = b""
        while True:
            left_s = max(0.0, until_s - time.monotonic())
            ready = select.select([self._from_worker], [], [], left_s)[0]
            content = os.read(self._from_worker, 4096) if ready else b""
            received += content
            for line in received.split(b"\n")[:-1]:
                message = json.loads(line)
                if message.get("done"):
                    return int(message["left"])
            if not content:
                return None

    def _close(self) -> None:
        for descriptor in (self._to_worker, self._from_worker):
            os.close(descriptor)

    def forget(self) -> None:
        """In a forked child: only the parent may hold the pipe, or its end would go unnoticed."""
        self._close()


_uploader: _Uploader | None = None


@guarded
def start(options: dict[str, Any], node_folder: str, process_folder: str) -> None:
    """Begin to upload what this process records, or go on; does nothing without ``s3_uri``."""
    global _uploader
    uri = options["s3_uri"]
    if not uri:
        return
    if _uploader is not None:
        _uploader.send("open")
        return
    if not _has_boto3():
        _guard.say(
            f"no upload to {uri}: boto3 is not installed (pip install boto3); the recording is in "
            f"{options['output']}"
        )
        return
    bucket, prefix = _options.split_s3_uri(uri)
    _uploader = _Uploader(
        {
            "uri": uri,
            "bucket": bucket,
            "prefix": prefix,
            "output": options["output"],
            "node_folder": node_folder,
            "pid": os.getpid(),
            "start_ns": int(process_folder.rpartition("-")[2]),
            "interval_s": options["upload_interval_ms"] / 1000,
            "retry_s": options["upload_retry_ms"] / 1000,
            "deadline_s": options["upload_deadline_s"],
        }
    )


@guarded
def pause() -> None:
    """Say that the recording has stopped: the last segment is closed too. Does not wait."""
    if _uploader is not None:
        _uploader.send("closed")


@guarded
def finish() -> None:
    """Wait until everything is uploaded, at most until the deadline."""
    global _uploader
    uploader, _uploader = _uploader, None
    if uploader is not None:
        uploader.finish()


@guarded
def forget() -> None:
    """Call in a forked child."""
    global _uploader
    uploader, _uploader = _uploader, None
    if uploader is not None:
        uploader.forget()


def _has_boto3() -> bool:
    try:
        return importlib.util.find_spec("boto3") is not None
    except (ImportError, ValueError):
        return False


def spool_folder() -> str:
    """Where segments wait for their upload if no folder is named: not one the platform ships."""
    return os.path.join(tempfile.gettempdir(), f"tracemill-spool-{os.getuid()}")
