"""Marks for functions that are compiled. A marked function stays plain Python.

*Kernels* are what Python calls, *parts* what kernels call. They run as plain Python too, with the
same results, unless they call an `Emitted`; ``ludarium.machine.making`` compiles them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

Function = TypeVar("Function", bound=Callable)

#: How a function is compiled: "kernel" as an entry point; "part" as the compiler decides; "inlined"
#: into each caller's body; "leaf" the same, but optimised alone before, under the promise that its
#: arguments never overlap.
Mark = Literal["kernel", "part", "inlined", "leaf"]


def kernel(function: Function) -> Function:
    """Mark an entry point, which Python calls; other Python threads run meanwhile."""
    return _marked(function, "kernel")


def brief_kernel(function: Function) -> Function:
    """Mark an entry point that takes microseconds: other Python threads wait meanwhile."""
    function.ludarium_is_brief = True  # type: ignore[attr-defined]
    return _marked(function, "kernel")


def part(function: Function) -> Function:
    """Mark a function that kernels call; the compiler decides whether it is inlined."""
    return _marked(function, "part")


def inlined(function: Function) -> Function:
    """Mark a part that becomes part of each caller's body."""
    return _marked(function, "inlined")


def leaf(function: Function) -> Function:
    """Mark a small part whose array and record arguments never overlap.

    It is inlined, and its loops become vector code, which they cannot while each write might
    change what is read next.
    """
    return _marked(function, "leaf")


def mark_of(function: Any) -> Mark | None:
    """The mark of a function, or None."""
    return getattr(function, "ludarium_mark", None)


def plain(function: Any) -> Any:
    """The plain Python function behind one that a user has compiled by numba; else the function."""
    return getattr(function, "py_func", function)


class Emitted:
    """A part that the compiler writes itself, instruction by instruction.

    Args:
        place: ``module:name`` of what stands for it where kernels are compiled.
    """

    def __init__(self, place: str) -> None:
        self.place = place

    def __call__(self, *arguments: Any) -> Any:
        """Refuse: there is no plain Python.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            f"{self.place} is machine code only: run without LUDARIUM_CODE=plain"
        )


def _marked(function: Function, mark: Mark) -> Function:
    function.ludarium_mark = mark  # type: ignore[attr-defined]
    remember_source(function.__code__.co_filename)
    return function


#: Sources with their size and time, by the name of the file.
_remembered: dict[str, tuple[tuple[int, int], bytes]] = {}


def remember_source(file: str, content: bytes | None = None) -> None:
    """Keep the source of functions that are just being defined, for `source_of`.

    Args:
        file: the source.
        content: what it held when its module was loaded; by default what it holds now.
    """
    with suppress(OSError):
        status = os.stat(file)
        version = status.st_size, status.st_mtime_ns
        if file not in _remembered or _remembered[file][0] != version:
            _remembered[file] = version, Path(file).read_bytes() if content is None else content


def source_of(file: Path) -> bytes:
    """The content of a source when its functions were defined: people edit files meanwhile.

    A file of which no function was marked is read now.

    Raises:
        OSError: it cannot be read.
    """
    known = _remembered.get(str(file))
    return file.read_bytes() if known is None else known[1]


def changed_sources() -> dict[str, str]:
    """Sources, by file, that have been edited since their functions were defined.

    A character stands for each byte, whatever the file's encoding.
    """
    changed = {}
    for file, (version, content) in list(_remembered.items()):
        with suppress(OSError):
            status = os.stat(file)
            if version != (status.st_size, status.st_mtime_ns):
                changed[file] = content.decode("latin-1")  # any bytes: texts of JSON
    return changed
