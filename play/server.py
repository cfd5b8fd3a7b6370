"""Serves a page's folder on this machine, to this machine alone."""

from __future__ import annotations

import sys
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

LOOPBACK = "127.0.0.1"

#: This port is tried first: a browser keeps games and settings by address, port included.
USUAL_PORT = 8265
#: Clients do not name this one.
HTTP_PORT = 80


class PageServer(ThreadingHTTPServer):
    """Answers GET and HEAD for the files in a folder.

    Args:
        folder: the page's folder; ``/`` is ``index.html``.
        port: 1 to 65535; None takes `USUAL_PORT`, or any that is free.
        is_kept: whether browsers may keep the page for offline use.

    Attributes:
        folder, is_kept: as given.

    Raises:
        ValueError: the port that is given cannot be used.
        OSError: no port is given, and none can be used.
    """

    daemon_threads = True

    def __init__(self, folder: Path, port: int | None = None, is_kept: bool = True) -> None:
        self.folder = folder
        self.is_kept = is_kept
        if port is not None and not 1 <= port <= 65535:
            raise ValueError(f"port is {port}; accepted: 1 to 65535")
        try:
            super().__init__((LOOPBACK, USUAL_PORT if port is None else port), Handler)
        except OSError as error:
            if port is not None:
                raise ValueError(
                    f"port {port} of {LOOPBACK} cannot be used ({error.strerror}): give another "
                    "port, or none"
                ) from None
            super().__init__((LOOPBACK, 0), Handler)

    @property
    def address(self) -> str:
        """The page's address for a browser on this machine."""
        return f"http://{LOOPBACK}:{self.server_port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a browser that goes away in the middle."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class Handler(SimpleHTTPRequestHandler):
    """Answers requests that name this server, and lists no folder."""

    server: PageServer
    server_version = "ludarium"
    sys_version = ""
    timeout = 30  # seconds without a byte, in either direction
    extensions_map = {  # the operating systems' own tables differ
        ".css": "text/css; charset=utf-8",
        ".html": "text/html; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
        ".json": "application/json",
        ".png": "image/png",
        ".svg": "image/svg+xml",
        ".txt": "text/plain; charset=utf-8",
        ".wasm": "application/wasm",
        ".webmanifest": "application/manifest+json",
    }

    def __init__(self, request: Any, client_address: Any, server: PageServer) -> None:
        super().__init__(request, client_address, server, directory=str(server.folder))

    def send_head(self) -> BytesIO | BinaryIO | None:
        """Open a file for an answer; refuse what names another host, as DNS rebinding does."""
        port = self.server.server_port
        names = [LOOPBACK, "localhost"]
        hosts = [f"{name}:{port}" for name in names] + (names if port == HTTP_PORT else [])
        if self.headers.get("Host") not in hosts or not self.path.startswith("/"):
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
            return None
        try:
            path = Path(self.translate_path(self.path)).resolve()
            if path.is_relative_to(self.server.folder.resolve()):  # refuses links that lead out
                return super().send_head()
        except ValueError:  # the path has a character that no file's name has
            pass
        self.send_error(HTTPStatus.NOT_FOUND)
        return None

    def list_directory(self, path: Any) -> None:
        """Refuse, because a folder is not a file of the page."""
        self.send_error(HTTPStatus.NOT_FOUND)

    def end_headers(self) -> None:
        """Add the headers of all answers."""
        self.send_header("Cache-Control", "no-cache" if self.server.is_kept else "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Print nothing, because nobody needs a log of requests."""
