"""Asks child processes to compile: they import numba, this process need not.

A child answers one request after the other. It imports the modules that hold the functions, and
compiles what is asked for. It compares the digest of its sources with this process's; where they
differ, because a module was edited or loaded again, a new child takes its place. Threads that
compile at once have a child each, because numba compiles one function at a time; there are no more
at work than cores. Children end with their parent.
"""

from __future__ import annotations

import atexit
import json
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from importlib.util import find_spec
from itertools import accumulate, pairwise
from typing import IO, Any, TypeVar

from ludarium.base.threads import available_cores

from .cache import Form, form_of
from .machines import Machine
from .marks import changed_sources
from .recipe import Recipe

_MODULE = "ludarium.machine.making.serving"
#: A child is ended after so many answers: numba keeps all it has compiled, 10 to 30 MB an answer.
_MOST_ANSWERS = 32

Built = TypeVar("Built")


class CompileError(Exception):
    """A function cannot be compiled; the message is the compiler's."""


class NoCompilerError(ValueError):
    """No code can be made here, though no function is at fault; the message says why."""


class _EndedError(NoCompilerError):
    """The child has ended."""


def compiled(
    recipe: Recipe,
    digest: str,
    files: dict[str, str],
    kernels: list[tuple[str, tuple[Any, ...]]],
    kind: str,
    symbols: str,
    machines: Sequence[Machine] = (),
) -> tuple[tuple[Form, ...], list[bytes]]:
    """Compile kernels.

    Args:
        recipe: what the kernels are made of.
        digest: the digest of the recipe's ingredients.
        files: the files of the recipe's modules, by the modules' names: a child may find another
            file under such a name, or none.
        kernels: the kernels' names, and the layouts of their arguments.
        kind: the kind of processor, one of `machines.KINDS`.
        symbols: the beginning of each symbol; ``_`` and the kernel's number in ``kernels`` follow.
        machines: the machines to compile for, such as those of libraries to ship. If there are
            none, code is compiled for this machine, in the form that `loading.load` takes.

    Returns:
        The form of each kernel, and an object file for each machine.

    Raises:
        CompileError: a function cannot be compiled.
        NoCompilerError: see `reason_against`; or the child cannot be started, has ended, lacks a
            module, or finds other sources than ``digest`` is of.
    """
    reason = reason_against()
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
        "machines": [asdict(each) for each in machines],
    }
    with _are_free:
        answer, content = _answer_to(request)
    fault = answer.get("fault")
    if fault is not None:
        raise (CompileError if fault == "compile" else NoCompilerError)(answer["told"])
    ends = list(accumulate(answer["sizes"], initial=0))
    return tuple(map(form_of, answer["forms"])), [content[a:b] for a, b in pairwise(ends)]


def in_own_process(build: Callable[..., Built], *arguments: Any) -> Built:
    """Run a function in a new process and return its result.

    This is for functions that compile for another machine: a process can choose the machine that
    the blocks of networks are made for only once.

    Args:
        build: a function that can be pickled, as its arguments and its result.
        arguments: its arguments.

    Raises:
        Exception: what ``build`` raises.
        BrokenProcessPool: the process has ended without a result.
    """
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=spawn) as pool:
        return pool.submit(build, *arguments).result()


def reason_against() -> str | None:
    """The reason why nothing can be compiled here; None if there is none."""
    if getattr(sys, "frozen", False) or not sys.executable:
        return "this program has no Python of its own that could run the compiler"
    if find_spec("numba") is None:
        return "numba is not installed: pip install 'ludarium[compile]'"
    return None


class _Child:
    """A process that compiles; requests and answers are lines of JSON, code follows the answer."""

    def __init__(self) -> None:
        self._was_ended = False
        self.answers = 0
        # Not in PYTHONPATH: folders with os.pathsep in their names would be cut there.
        start = f"import sys; sys.path[:0] = {_importable()!a}; from {_MODULE} import main; main()"
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", start],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"LUDARIUM_CODE": "plain"},
        )

    def ask(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Send a request and wait for the answer.

        Raises:
            _EndedError: the process has ended by itself.
            NoCompilerError: `end` was called meanwhile.
        """
        try:
            _stream(self._process.stdin).write(json.dumps(request).encode() + b"\n")
            _stream(self._process.stdin).flush()
            line = _stream(self._process.stdout).readline()
            if not line.endswith(b"\n"):
                raise EOFError
            answer = json.loads(line)
            content = _stream(self._process.stdout).read(sum(answer["sizes"]))
            if len(content) != sum(answer["sizes"]):
                raise EOFError
        except (OSError, EOFError, ValueError) as error:
            if self._was_ended:
                raise NoCompilerError("compiling was stopped") from error
            self.end()
            told = f"the process that compiles ended with status {self._process.returncode}"
            raise _EndedError(told) from error
        except BaseException:  # such as Ctrl-C: half an answer may be left in the pipe
            self.end()
            raise
        self.answers += 1
        return answer, content

    def end(self) -> None:
        """End the process."""
        self._was_ended = True
        _children.discard(self)
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                _stream(stream).close()
        self._process.wait()


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def _importable() -> list[str]:
    """The folders that this process imports from, absolute; the empty one comes with requests."""
    return [os.path.abspath(each) for each in sys.path if each]


#: All children, and those that are free: a thread takes one out of these while it compiles.
_children: set[_Child] = set()
_idle: list[_Child] = []
_are_free = threading.Semaphore(available_cores())


def _answer_to(request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """The answer of a free child; of a new one if none is free, or it has ended or is stale."""
    with suppress(IndexError, _EndedError):
        while (child := _idle.pop()) not in _children:
            pass  # `end_children` ended it just before its thread gave it back
        answer, content = child.ask(request)
        if answer.get("fault") != "stale":
            _give_back(child)
            return answer, content
        child.end()
    try:
        child = _Child()
        _children.add(child)
    except OSError as error:
        raise NoCompilerError(f"the compiler cannot be started ({error.strerror})") from error
    answer, content = child.ask(request)
    _give_back(child)
    return answer, content


def _give_back(child: _Child) -> None:
    if child.answers < _MOST_ANSWERS:
        _idle.append(child)
    else:
        child.end()


def end_children() -> None:
    """End all children; a thread that waits for an answer gets a `NoCompilerError`."""
    _idle.clear()
    while _children:
        _children.pop().end()


def _forget_children() -> None:
    """In a forked process: leave the children to the parent."""
    global _are_free
    _are_free = threading.Semaphore(available_cores())
    _children.clear()
    _idle.clear()


atexit.register(end_children)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_children)
