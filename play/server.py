"""Serves a page's files on this machine, and to this machine alone."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

LOOPBACK = "127.0.0.1"

#: What is tried first: a browser keeps games and settings by the address, this number included.
USUAL_PORT = 8265

_START = "index.html"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
}
_OTHER_TYPE = "application/octet-stream"


class PageServer(ThreadingHTTPServer):
    """Answers GET and HEAD for the files that it is given, and for nothing else.

    Args:
        files: each file by its address within the page; ``/`` is ``index.html``.
        port: 1 to 65535; None takes `USUAL_PORT`, or any that is free.
        is_kept: whether browsers may keep the page, for when there is no connection.

    Raises:
        ValueError: the port cannot be had.
    """

    daemon_threads = True

    def __init__(
        self, files: Mapping[str, Path], port: int | None = None, is_kept: bool = True
    ) -> None:
        self.files = files
        self.is_kept = is_kept
        if port is not None and not 1 <= port <= 65535:
            raise ValueError(f"--port is {port}; accepted: 1 to 65535")
        try:
            super().__init__((LOOPBACK, USUAL_PORT if port is None else port), _Handler)
        except OSError as error:
            if port is not None:
                raise ValueError(
                    f"port {port} of {LOOPBACK} cannot be had ({error.strerror}): give another "
                    "--port, or none"
                ) from None
            super().__init__((LOOPBACK, 0), _Handler)

    @property
    def address(self) -> str:
        """Where a browser on this machine finds the page."""
        return f"http://{LOOPBACK}:{self.server_port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away in the middle is no error."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version = "ludarium"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        """Answer with a file."""
        self._answer(has_content=True)

    def do_HEAD(self) -> None:
        """Answer as to GET, without the file."""
        self._answer(has_content=False)

    def _answer(self, has_content: bool) -> None:
        if self.headers.get("Host") not in self._hosts():
            # Another site's name that was made to lead here must not read what is here.
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
            return
        address = unquote(urlsplit(self.path).path).removeprefix("/") or _START
        path = self.server.files.get(address)  # no address but these leads to a file
        try:
            content = None if path is None else path.read_bytes()
        except OSError:
            content = None
        if content is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        kind = _TYPES.get(PurePosixPath(address).suffix, _OTHER_TYPE)
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-cache" if self.server.is_kept else "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if has_content:
            self.wfile.write(content)

    def _hosts(self) -> list[str]:
        return [f"{name}:{self.server.server_port}" for name in (LOOPBACK, "localhost")]

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing: what a browser asks for is of no interest."""
