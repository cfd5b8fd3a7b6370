"""Asks a model at an endpoint of the usual chat-completions form, and keeps what it answers.

The endpoint is a stranger: its answers are bounded in length, and in time as `Endpoint` tells. The
key, which comes from the environment, is sent to it alone (no redirect is followed), and struck
from answers and messages.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener
from weakref import WeakValueDictionary

import msgspec

from ludarium.base.durable import append, write_file
from ludarium.base.files import MEGABYTE, load_json, read_regular_file, sha256_of
from ludarium.base.lock import WriterLock
from ludarium.base.messages import named, quoted, shortened

from .text import MOST_ANSWER, Message

_PATH = "/chat/completions"
_LARGEST_REPLY = 4 * MEGABYTE
_LARGEST_JOURNAL = 1024 * MEGABYTE
_TRIES = 8
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0  # seconds before another try; waits about double
_PASSING = (408, 409, 425, 429)  # statuses that may pass, as may those from 500 on
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class EndpointError(ValueError):
    """An endpoint cannot be asked, does not answer, or refuses; the message says why."""


class _PassingError(Exception):
    """A failure that may pass, and the seconds that the endpoint asks to wait."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


class Answer(msgspec.Struct, frozen=True):
    """What a model answers, and what that takes.

    Attributes:
        text: the answer, its last `MOST_ANSWER` characters.
        input_tokens, output_tokens: as the endpoint counts them; 0 if it does not.
        cost: as the endpoint counts it, in its currency; None if it does not.
        seconds: from the question to the answer, without failed tries and waits before it.
    """

    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0


class _Said(msgspec.Struct):
    content: Any = None


class _Choice(msgspec.Struct):
    message: _Said


class _Reply(msgspec.Struct):
    """What is read of an endpoint's reply; the values of other fields are ignored."""

    choices: list[_Choice]
    usage: Any = None


@dataclass(frozen=True)
class Endpoint:
    """A model at an address.

    Attributes:
        url: the address, with or without ``/chat/completions``.
        model: the model's name there.
        key: the name of the environment variable with the key; if it is not set, no key is sent.
        limit: seconds without a byte after which a question fails; so it does if a piece of the
            answer comes later than this after the question.
        parallel: most questions at a time from this process, of all models at this address with the
            same bound.
        temperature, max_tokens: sent if they are given.

    Raises:
        ValueError: ``url`` is no http or https address, or has a user, a query or a fragment.
    """

    url: str
    model: str
    key: str = "LLM_API_KEY"
    limit: float = 300.0
    parallel: int = 4
    temperature: float | None = None
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            host, _ = parts.hostname, parts.port
            (host or "").encode("idna")  # a part of a name that is empty or too long
        except ValueError:
            parts, host = urlsplit(""), None
        if parts.scheme not in ("http", "https") or not host or not self.url.isascii():
            raise ValueError(
                f"endpoint is {quoted(self.url)}, not an address such as https://host/v1"
            )
        if parts.username is not None or parts.query or parts.fragment:
            raise ValueError(
                "endpoint is an address without user, query and fragment, because names of agents "
                f"are written down: put the key into the environment variable {self.key}"
            )

    def ask(self, messages: Sequence[Message]) -> Answer:
        """The model's answer to a conversation.

        After a failure that may pass it asks again, 8 times in all, after waits that grow, or the
        longer ones that the endpoint names in seconds, each a minute at most. A warning tells of
        the first failure.

        Raises:
            EndpointError: the endpoint refuses, or fails too often; or the key cannot be sent.
        """
        chosen = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        given = {key: value for key, value in chosen.items() if value is not None}
        body = json.dumps({"model": self.model, "messages": list(messages), **given}).encode()
        wait = _FIRST_WAIT
        for number in range(1, _TRIES + 1):
            try:
                with _places(self._address, self.parallel):
                    return self._post(body)
            except _PassingError as error:
                if number == _TRIES:
                    raise self._error(f"failed {_TRIES} times: {error}; try again later") from None
                if number == 1:
                    told = self._error(f"has failed: {error}; trying again")
                    warnings.warn(str(told), RuntimeWarning, stacklevel=2)
                time.sleep(min(max(wait * random.uniform(1, 1.5), error.wait), _LONGEST_WAIT))
                wait *= 2
        raise AssertionError("the last try has returned or raised")

    def _post(self, body: bytes) -> Answer:
        """Ask once."""
        headers = {"Content-Type": "application/json", **self._authorization()}
        begin = time.perf_counter()
        try:
            opener = _DIRECT if urlsplit(self.url).hostname in _LOOPBACK else _OPENER
            with opener.open(Request(self._address, body, headers), timeout=self.limit) as reply:
                content = self._read(reply, begin)
        except HTTPError as error:
            told = ""
            with error, suppress(OSError, HTTPException, _PassingError):
                told = f": {shortened(self._read(error, begin).decode(errors='replace'), 300)}"
            if error.code not in _PASSING and error.code < 500:
                raise self._error(f"refuses with status {error.code}{told}") from None
            wait = error.headers.get("Retry-After") or ""
            wait = wait if wait.isascii() and wait.isdecimal() else "0"
            raise _PassingError(f"status {error.code}{told}", float(wait[:9])) from None
        except (OSError, HTTPException) as error:  # URLError and timeouts are OSErrors
            reason = self._struck(str(error)) or type(error).__name__
            raise _PassingError(shortened(reason)) from None
        try:
            answer: _Reply = load_json(content, "the reply", _Reply)
            said = answer.choices[0].message.content
        except (ValueError, IndexError) as error:
            reason = "no choices" if isinstance(error, IndexError) else shortened(str(error))
            raise _PassingError(f"the reply is no chat completion: {reason}") from None
        usage = answer.usage if isinstance(answer.usage, dict) else {}
        cost = usage.get("cost")
        cost = None if isinstance(cost, bool) else cost
        return Answer(
            self._struck(_text(said))[-MOST_ANSWER:],
            _count(usage.get("prompt_tokens")),
            _count(usage.get("completion_tokens")),
            float(cost) if isinstance(cost, int | float) and 0 <= cost < math.inf else None,
            round(time.perf_counter() - begin, 6),
        )

    def _read(self, reply: Any, begin: float) -> bytes:
        """The bounded content of a reply, without the key."""
        content = b""
        while piece := reply.read1(65536):
            content += piece
            if len(content) > _LARGEST_REPLY:
                raise _PassingError(f"the reply has more than {_LARGEST_REPLY:,} bytes")
            if time.perf_counter() - begin > self.limit:
                raise _PassingError(f"the reply took more than {self.limit:g} s")
        return self._struck(content.decode("latin-1")).encode("latin-1")

    def _struck(self, text: str) -> str:
        """A text without the key, however JSON writes each of its characters."""
        forms = (
            rf"(?:\\?{re.escape(each)}|\\u00{ord(each):02x})"
            for each in os.environ.get(self.key, "")
        )
        pattern = "".join(forms)
        return re.sub(pattern, "***", text, flags=re.IGNORECASE) if pattern else text

    @property
    def _address(self) -> str:
        """The address that is asked, the same with or without its end."""
        return self.url.rstrip("/").removesuffix(_PATH) + _PATH

    def _authorization(self) -> dict[str, str]:
        key = os.environ.get(self.key)
        if not key:
            return {}
        if not (key.isascii() and key.isprintable()):
            raise self._error(f"needs another key: {self.key} has characters that no key has")
        parts = urlsplit(self.url)
        if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
            raise self._error(
                f"would get the key in {self.key} unencrypted: write https, or unset the variable"
            )
        return {"Authorization": f"Bearer {key}"}

    def _error(self, reason: str) -> EndpointError:
        return EndpointError(f"the endpoint {shortened(self.url, 100)} {reason}")


class _NoRedirects(HTTPRedirectHandler):
    """Redirects are refused: they would take the key elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        """See `HTTPRedirectHandler`."""


_OPENER = build_opener(_NoRedirects)
_DIRECT = build_opener(_NoRedirects, ProxyHandler({}))  # a proxy would get the key unencrypted


@cache
def _places(url: str, parallel: int) -> threading.Semaphore:
    return threading.BoundedSemaphore(parallel)


def _text(content: Any) -> str:
    """The text of an answer, which may come in parts; half surrogate pairs are replaced."""
    if isinstance(content, list):
        content = "".join(
            part["text"]
            for part in content
            if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    return content.encode("utf-8", "replace").decode() if isinstance(content, str) else ""


def _count(value: Any) -> int:
    return value if type(value) is int and 0 <= value < 1 << 53 else 0


class _Line(msgspec.Struct, frozen=True):
    key: str
    answer: Answer


_BEGIN = b'{"key":"'  # of each line


class Journal:
    """A file with all answers, a line of JSON for each, from which they are taken again.

    An answer is on the disk before it is used, so a kill loses none that was used. It is kept under
    a digest of its question in its game; a question whose answer is there is not asked again.

    Args:
        path: the file, which need not be there; `journal_at` opens it once in a process.

    Raises:
        ValueError: the file holds something else, or more than 1 GiB; or it is in use; or see
            `WriterLock.acquire`.
        StorageError: it, or the lock file beside it, cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._holder = WriterLock(path.with_name(path.name + ".lock"), of=path)
        self._holder.acquire()
        self._answers: dict[str, Answer] = {}
        try:
            content = read_regular_file(path, _LARGEST_JOURNAL, "a journal of answers")
        except FileNotFoundError:
            return
        whole, newline, cut = content.rpartition(b"\n")
        for number, line in enumerate(whole.split(b"\n") if newline else [], 1):
            found: _Line = load_json(line, f"line {number} of {named(path)}", _Line)
            self._answers.setdefault(found.key, found.answer)
        if cut and not cut.startswith(_BEGIN[: len(cut)]):
            raise ValueError(
                f"{named(path)} holds something else than a journal of answers: name another file"
            )
        if cut:  # by a kill while it was written
            write_file(path, whole + newline)

    def __del__(self) -> None:
        self._holder.release()

    def __reduce__(self) -> tuple[Callable[[Path], Journal], tuple[Path]]:
        return journal_at, (self.path,)  # a copy of an agent in this process shares it

    def __deepcopy__(self, memo: object) -> Journal:
        return self

    def answer(self, key: str, ask: Callable[[], Answer]) -> Answer:
        """The answer with this key; if there is none yet, what ``ask`` gives is kept.

        Raises:
            StorageError: the answer cannot be written.
            Exception: whatever ``ask`` raises.
        """
        if key in self._answers:
            return self._answers[key]
        answer = ask()
        line = msgspec.json.encode(_Line(key, answer)) + b"\n"
        with self._lock:
            append(self.path, line)
            self._answers[key] = answer
        return answer


_JOURNALS: WeakValueDictionary[Path, Journal] = WeakValueDictionary()
_OPENING = threading.Lock()


def journal_at(path: Path) -> Journal:
    """The journal in a file; the same object wherever it is in use.

    Raises:
        ValueError, StorageError: as for `Journal`.
    """
    path = path.resolve()
    with _OPENING:
        journal = _JOURNALS.get(path)
        if journal is None:
            journal = _JOURNALS[path] = Journal(path)
        return journal


def key_of(*parts: Any) -> str:
    """A key for a journal, 32 hexadecimal digits, from whatever determines a question."""
    return sha256_of(json.dumps(parts, default=str).encode())[:32]
