"""A gate before moto's server: notes every request and refuses while it is shut."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

_BUSY = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"


class Gate:
    """``requests`` are method and path of what came; ``refuse`` more requests get a 503."""

    def __init__(self, behind: str) -> None:
        self.behind = urlsplit(behind).netloc
        self.requests: list[tuple[str, str]] = []
        self.refuse = 0
        self.address = ""

    def takes(self, method: str, path: str) -> bool:
        """Note a request and tell whether it may pass."""
        self.requests.append((method, path))
        self.refuse -= 1
        return self.refuse < 0


@contextmanager
def gate_before(address: str) -> Iterator[Gate]:
    """Run a gate on a port of its own."""
    gate = Gate(address)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, content = 503, _BUSY
            if gate.takes(self.command, self.path):
                connection = http.client.HTTPConnection(gate.behind)
                connection.request(self.command, self.path, body, dict(self.headers))
                answer = connection.getresponse()
                status, content = answer.status, answer.read()
                connection.close()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_PUT = do_GET = do_HEAD = do_POST = do_DELETE = handle_any

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    gate.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield gate
    finally:
        server.shutdown()
        server.server_close()
