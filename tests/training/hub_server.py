"""A server on this machine that answers as the Hugging Face Hub does, as far as its client asks."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import yaml


class HubServer(ThreadingHTTPServer):
    """Repositories in memory.

    Attributes:
        files: contents by repository (``owner/name``) and name.
        sizes: what is said of a file's size, where that is not its length.
        asked: method and path of each request.
        token: without which nothing is written.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, dict[str, bytes]] = {}
        self.private: dict[str, bool] = {}
        self.sizes: dict[str, int] = {}
        self.asked: list[tuple[str, str]] = []
        self.token = "hf_of_a_test"

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def commit(self, repository: str) -> str:
        """The hash of what a repository holds."""
        return hashlib.sha1(repr(sorted(self.files[repository].items())).encode()).hexdigest()


@contextmanager
def hub_server() -> Iterator[HubServer]:
    """The server, which runs meanwhile."""
    with HubServer() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    server: HubServer
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._file()

    def do_GET(self) -> None:
        self._file()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append(("POST", self.path))
        if self.headers.get("Authorization") != f"Bearer {self.server.token}":
            self._answer(401, {"error": "Invalid username or password."})
        elif self.path == "/api/repos/create":
            self._create(json.loads(body))
        elif self.path == "/api/validate-yaml":
            _, head, _ = json.loads(body)["content"].split("---\n", 2)
            is_good = isinstance(yaml.safe_load(head), dict)
            told: list[dict[str, str]] = [] if is_good else [{"message": "the head is no mapping"}]
            self._answer(200 if is_good else 400, {"errors": told, "warnings": []})
        elif found := re.fullmatch(r"/api/models/(.+?)/(preupload|commit)/main", self.path):
            if found[2] == "preupload":
                files = [
                    {"path": each["path"], "uploadMode": "regular", "shouldIgnore": False}
                    for each in json.loads(body)["files"]
                ]
                self._answer(200, {"files": files})
            else:
                self._commit(found[1], body)
        else:
            self._answer(404, {"error": "Not found"})

    def _create(self, wanted: dict[str, Any]) -> None:
        repository = f"{wanted['organization']}/{wanted['name']}"
        is_there = repository in self.server.files
        self.server.files.setdefault(repository, {})
        self.server.private.setdefault(repository, wanted["visibility"] == "private")
        url = f"{self.server.address}/{repository}"
        self._answer(409 if is_there else 200, {"url": url, "error": "it is there already"})

    def _commit(self, repository: str, body: bytes) -> None:
        for line in map(json.loads, body.splitlines()):
            if line["key"] == "file":
                content = base64.b64decode(line["value"]["content"])
                self.server.files[repository][line["value"]["path"]] = content
        url = f"{self.server.address}/{repository}/commit/{self.server.commit(repository)}"
        oid = self.server.commit(repository)
        self._answer(200, {"success": True, "commitUrl": url, "commitOid": oid})

    def _file(self) -> None:
        self.server.asked.append((self.command, self.path))
        found = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", self.path)
        repository = found[1] if found else ""
        if found is None or repository not in self.server.files:
            self._answer(404, {"error": "Repository not found"}, {"X-Error-Code": "RepoNotFound"})
            return
        commit = self.server.commit(repository)
        if found[2] not in ("main", commit):
            code = {"X-Error-Code": "RevisionNotFound"}
            self._answer(404, {"error": "Invalid rev id"}, code)
            return
        content = self.server.files[repository].get(found[3])
        if content is None:
            code = {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit}
            self._answer(404, {"error": "Entry not found"}, code)
            return
        size = self.server.sizes.get(repository, len(content))
        headers = {
            "X-Repo-Commit": commit,
            "ETag": f'"{hashlib.sha1(content).hexdigest()}"',
            "X-Linked-Size": str(size),
        }
        self._send(200, content, headers)

    def _answer(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        content = json.dumps(value).encode()
        self._send(status, content, {"Content-Type": "application/json", **(headers or {})})

    def _send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""
