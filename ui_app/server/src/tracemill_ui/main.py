"""Serving the app on this machine: the entry point that the command line loads."""

from __future__ import annotations

import errno
import os
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import uvicorn
from tracemill_analysis.store import open_store
from tracemill_schema.errors import TracemillError, UsageError

from tracemill_ui.app import create_app
from tracemill_ui.idle import DEFAULT_IDLE_HOURS, IdleWatch

HOSTS_ENV = "TRACEMILL_UI_HOSTS"
"""More host names to answer for (a proxy's), comma separated; ``.domain`` for all below it."""
BIND_HOST = "127.0.0.1"
IDLE_CHECK_S = 0.5


def run(store: str, port: int, open_browser: bool, idle_hours: float = DEFAULT_IDLE_HOURS) -> int:
    """Serve the store at a loopback port until interrupted; return the exit status.

    Port 0 takes a free one. After ``idle_hours`` without a request the server ends; 0: never.
    TracemillError if the store or the port cannot be used.
    """
    opened = open_store(store)
    idle = IdleWatch(idle_hours)
    hosts = os.environ.get(HOSTS_ENV, "").split(",")
    with listening_socket(port) as listener:
        url = f"http://{BIND_HOST}:{listener.getsockname()[1]}/"
        server = uvicorn.Server(
            uvicorn.Config(
                create_app(opened, hosts, idle=idle),
                log_level="warning",
                access_log=False,
                ws="none",
            )
        )
        sys.stdout.write(f"Tracemill serves {opened.address} at {url} (Ctrl+C ends it)\n")
        sys.stdout.flush()
        if open_browser:
            threading.Timer(0.5, webbrowser.open, [url]).start()
        threading.Thread(target=_end_when_idle, args=(server, idle), daemon=True).start()
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listener])
    return 0


def _end_when_idle(server: uvicorn.Server, idle: IdleWatch) -> None:
    while not idle.expired:
        time.sleep(IDLE_CHECK_S)
    sys.stdout.write(f"Nobody asked for {idle.idle_hours:g} h: the app ends.\n")
    sys.stdout.flush()
    server.should_exit = True


@contextmanager
def listening_socket(port: int) -> Iterator[socket.socket]:
    """Bind a loopback port; TracemillError with a way out if it is taken or not allowed."""
    if not 0 <= port <= 65_535:
        raise UsageError(f"port {port}: take 0 (any free port) to 65535")
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((BIND_HOST, port))
            # From here on connections wait instead of being refused: the address may be printed.
            listener.listen()
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise TracemillError(
                    f"port {port} is taken: name another with --port; 0 takes any free one"
                ) from error
            raise TracemillError(f"port {port} cannot be used: {error.strerror}") from error
        yield listener
