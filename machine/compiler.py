"""The compiler, as this process sees it: a child process that numba is in, and that stays.

The child imports the same modules and compiles what is asked for. It compares the digest of its
sources; where that differs, because a module was edited or loaded again, a new child takes its
place. It ends with its parent.
"""

from __future__ import annotations

import atexit
import json
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from importlib.util import find_spec
from typing import IO, Any, TypeVar

from .cache import ObjectCode, form_of
from .marks import changed_sources
from .recipe import Recipe

_MODULE = "ludarium.machine.making"

Built = TypeVar("Built")


class CompileError(Exception):
    """A function cannot be compiled; the message is the compiler's."""


class NoCompilerError(Exception):
    """There is no compiler; the message says why."""


class _EndedError(NoCompilerError):
    """The child has ended."""


def compiled(
    recipe: Recipe,
    digest: str,
    files: dict[str, str],
    kernels: list[tuple[str, tuple[Any, ...]]],
    kind: str,
    symbols: str,
) -> ObjectCode:
    """Compile kernels for a kind of processor.

    Args:
        recipe: what they are made of.
        digest: of its ingredients.
        files: the modules that it is made of, for names that another process does not find.
        kernels: names and layouts of the arguments.
        kind: of the processor.
        symbols: the beginning of the names of the machine code.

    Raises:
        CompileError: numba refuses a function.
        NoCompilerError: numba is not installed, or the process cannot be started.
    """
    reason = _reason_against()
    if reason is not None:
        raise NoCompilerError(reason)
    request = {
        "recipe": asdict(recipe),
        "digest": digest,
        "files": files,
        "texts": changed_sources(),
        "path": [os.path.abspath(each) for each in sys.path],
        "kernels": kernels,
        "kind": kind,
        "symbols": symbols,
    }
    with _is_compiling:
        try:
            answer, content = _child().ask(request)
            if answer.get("fault") == "stale":
                _end_child()
                answer, content = _child().ask(request)
        except _EndedError:  # perhaps somebody ended it while it waited
            answer, content = _child().ask(request)
    fault = answer.get("fault")
    if fault == "compile":
        raise CompileError(answer["told"])
    if fault is not None:
        raise NoCompilerError(answer["told"])
    return ObjectCode(tuple(map(form_of, answer["forms"])), content)


def in_own_process(build: Callable[..., Built], *arguments: Any) -> Built:
    """Run a function in a new process and return its result.

    What depends on the machine that a process compiles for, such as the blocks of networks, is set
    once in each.
    """
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=spawn) as pool:
        return pool.submit(build, *arguments).result()


def _reason_against() -> str | None:
    if getattr(sys, "frozen", False) or not sys.executable:
        return "this program has no Python of its own that could run the compiler"
    if find_spec("numba") is None:
        return "numba is not installed: pip install 'numba>=0.61,<0.69'"
    return None


class _Child:
    """A process that compiles; requests and answers are lines of JSON, code follows its line."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ
            | {"PYTHONPATH": os.pathsep.join(_importable()), "LUDARIUM_CODE": "plain"},
        )

    def ask(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Send a request and wait for the answer."""
        try:
            _stream(self._process.stdin).write(json.dumps(request).encode() + b"\n")
            _stream(self._process.stdin).flush()
            line = _stream(self._process.stdout).readline()
            if not line.endswith(b"\n"):
                raise EOFError
            answer = json.loads(line)
            content = _stream(self._process.stdout).read(answer.get("size", 0))
            if len(content) != answer.get("size", 0):
                raise EOFError
        except (OSError, EOFError, ValueError) as error:
            self.end()
            told = f"the process that compiles ended with status {self._process.returncode}"
            raise _EndedError(told) from error
        except BaseException:  # such as Ctrl-C: half an answer may be left in the pipe
            self.end()
            raise
        return answer, content

    def end(self) -> None:
        """End the process."""
        global _the_child
        if _the_child is self:
            _the_child = None
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                _stream(stream).close()
        self._process.wait()


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def _importable() -> list[str]:
    """The folders that this process imports from; relative ones were meant at its start."""
    return [os.path.abspath(each) for each in sys.path if each]


_the_child: _Child | None = None
_is_compiling = threading.RLock()


def _child() -> _Child:
    global _the_child
    if _the_child is None:
        try:
            _the_child = _Child()
        except OSError as error:
            raise NoCompilerError(f"the compiler cannot be started ({error.strerror})") from error
    return _the_child


def _end_child() -> None:
    if _the_child is not None:
        _the_child.end()


def _forget_child() -> None:
    """Leave the child to the parent of a forked process; a lock held there is not held here."""
    global _the_child, _is_compiling
    _the_child, _is_compiling = None, threading.RLock()


atexit.register(_end_child)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_child)
