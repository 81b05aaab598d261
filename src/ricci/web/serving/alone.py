"""``ricci serve``: the page for one person, from this machine to this machine, with Python's own server."""

from __future__ import annotations

import select
import socket
import sys
import threading
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ricci.web.serving.replies import Reply, Site, refused

CONNECTIONS = 64  # at once; a browser opens some six
PATIENCE = 15.0  # seconds for the next words of whoever is connected


def serve_alone(site: Site, listening: socket.socket) -> None:
    """Answers until it is interrupted."""
    with _Server(site, listening) as server:
        server.serve_forever(poll_interval=0.2)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, site: Site, listening: socket.socket):
        self.site = site
        self.slots = threading.BoundedSemaphore(CONNECTIONS)
        super().__init__(listening.getsockname()[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening

    def process_request(self, request: Any, client_address: Any) -> None:
        if self.slots.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever goes away while spoken to is no error; others are said without what was asked."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            print(f"ricci serve: {type(error).__name__}", file=sys.stderr)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "ricci", ""
    timeout = PATIENCE
    wbufsize, disable_nagle_algorithm = -1, True  # a reply goes out at once, and not its second half 40 ms later

    def do_GET(self) -> None:
        self._reply(self.server.site.get(self.path, self._heads()))

    def do_HEAD(self) -> None:
        self._reply(self.server.site.get(self.path, self._heads()), body=False)

    def do_POST(self) -> None:
        site = self.server.site
        heads = self._heads()
        wrong = site.refusal_of_post(self.path, heads)
        if wrong is not None:
            self.close_connection = True  # what was sent with it is not read
            self._reply(wrong)
            return
        length = int(heads["content-length"])
        body = self.rfile.read(length)
        if len(body) == length:
            self._reply(site.post(body, self._gone))

    def do_OPTIONS(self) -> None:
        self.close_connection = True
        self._reply(self.server.site.other_method())

    do_PUT = do_PATCH = do_DELETE = do_TRACE = do_OPTIONS

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What Python's server refuses by itself: lines that are no HTTP, or too long."""
        self.close_connection = True
        self._reply(refused(code, HTTPStatus(code).phrase + "."))

    def _heads(self) -> dict[str, str]:
        """Headers by small names; those that are there twice are one with a comma, which no number has."""
        return {name.lower(): ", ".join(self.headers.get_all(name, ())) for name in self.headers}

    def _gone(self) -> bool:
        """Whether whoever asked has closed the connection."""
        with suppress(OSError, ValueError):
            readable, _, _ = select.select([self.connection], [], [], 0)
            return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)
        return True

    def _reply(self, reply: Reply, body: bool = True) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if body:
            self.wfile.write(reply.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what one person asks is nobody's concern."""
