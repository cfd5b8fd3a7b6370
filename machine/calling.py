"""Calls machine code: `kernel` makes a callable, and `add` gives it code. `level` tells the newest
kind of code that this processor runs. The extension ``call.c`` does all three; without it, Python.
"""

from __future__ import annotations

import ctypes
import platform
import struct
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ctypes.util import find_library
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from .layouts import Layout, text_of, words_of

_call: Any = None
with suppress(ImportError):
    _call = import_module("ludarium.machine._call")


def kernel(name: str, otherwise: Callable[..., Any], holds_gil: bool) -> Callable[..., Any]:
    """A callable that has no machine code yet.

    `add` gives it forms: code, each for arguments of certain layouts. A call takes the first form
    that its arguments fit. Without one it returns what ``otherwise`` returns for them; that may add
    a form and call again.

    Args:
        name: its name.
        otherwise: called with arguments that fit no form.
        holds_gil: whether other Python threads wait during a call, which takes less time then.
            Without the extension they never wait.
    """
    if _call is not None:
        made: Callable[..., Any] = _call.kernel(name, otherwise, holds_gil)
        return made
    _warn()
    return _Kernel(otherwise)


def add(kernel: Any, address: int, layouts: tuple[Layout, ...], returned: str) -> None:
    """Add a form to a kernel.

    Args:
        kernel: what `kernel` returned.
        address: the address of code ``int64 code(int64 *block)``, see ``making.exports.Blocks``.
        layouts: the layouts of the arguments, see `layouts.layout_of`.
        returned: what it returns: ``n`` None, ``b`` a bool, ``i`` a signed and ``u`` an unsigned
            integer, ``f`` and ``g`` a float; ``T`` and up to 8 of these letters a tuple.

    Raises:
        TypeError, ValueError: ``kernel`` is not what `kernel` returned, ``layouts`` is no tuple of
            layouts, ``address`` is 0, or ``returned`` is no such text.
    """
    if _call is not None:
        _call.add(kernel, address, layouts, returned)
        return
    if not isinstance(kernel, _Kernel) or not isinstance(layouts, tuple):
        raise TypeError("add takes what `kernel` returned, and a tuple of layouts")
    letters = returned[1:] if returned[:1] == "T" else returned
    is_known = set(letters) <= set("nbiufg") and len(letters) <= _MOST_RETURNED
    if not address or not is_known or (letters == returned and len(letters) != 1):
        raise ValueError("an address of 0, or a result that is not known")
    size = sum(map(words_of, layouts)) + _MOST_RETURNED
    kernel.forms.append((_CODE(address), layouts, returned, size))


def level() -> str:
    """The newest of ``machines.KINDS`` that this processor is; empty if it is older than all.

    Without the extension, every x86 processor counts as "v2" on systems other than Linux.
    """
    if _call is not None:
        return str(_call.level())
    if platform.machine().lower() in ("arm64", "aarch64"):
        is_newer = sys.platform == "darwin" or "asimddp" in _flags()
        return "dotprod" if is_newer else "neon"
    if not sys.platform.startswith("linux"):
        return "v2"  # processors that run today's Windows and macOS are at least that
    flags, found = _flags(), ""
    for kind, needed in _NEEDED.items():
        if not needed <= flags:
            break
        found = kind
    return found


# Without the extension.

_CODE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
_MOST_RETURNED = 8
_NEEDED = {
    "v2": {"sse4_2", "popcnt"},
    "v3": {"avx2", "fma", "bmi1", "bmi2", "f16c", "abm", "movbe"},
    "v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "vnni": {"avx512_vnni"},
}


class _Kernel:
    """A kernel in Python; see `kernel`."""

    def __init__(self, otherwise: Callable[..., Any]) -> None:
        self.forms: list[tuple[Any, tuple[Layout, ...], str, int]] = []
        self._otherwise = otherwise

    def __call__(self, *arguments: Any) -> Any:
        for code, layouts, returned, size in self.forms:
            words = _words(("T", "", layouts), arguments)
            if words is not None:
                block = (ctypes.c_int64 * size)(*words)
                with _usual_floats():
                    word = code(ctypes.addressof(block))
                if returned[0] != "T":
                    return _value(returned, word)
                return tuple(map(_value, returned[1:], block))
        return self._otherwise(*arguments)


def _words(layout: Layout, given: Any) -> list[int] | None:
    """The words of an argument, or None if it does not fit the layout: `write_words` of call.c."""
    kind = layout[0]
    if kind == "n":
        return [] if given is None else None
    if kind == "T":
        if not isinstance(given, tuple) or len(given) != len(layout[2]):
            return None
        entries = list(map(_words, layout[2], given))
        return None if None in entries else [word for each in entries for word in each or ()]
    if kind == "A":
        if not isinstance(given, np.ndarray) or given.ndim != layout[2]:
            return None
        flags = given.flags
        if flags.c_contiguous < layout[3] or flags.writeable < layout[4]:
            return None
        with suppress(TypeError):
            if text_of(given.dtype) == layout[1]:
                return [given.ctypes.data, *given.shape, *given.strides]
        return None
    if not isinstance(given, _TAKEN[kind]) or isinstance(given, _REFUSED.get(kind, ())):
        return None
    if kind in "fg":
        return list(struct.unpack("q", struct.pack("d", given)))
    number = int(given)
    if kind == "i" and not -(2**63) <= number < 2**63:
        return None
    return [_value("i", number)]


_TAKEN: dict[str, Any] = {
    **{"i": (int, np.integer), "u": np.uint64, "b": (bool, np.bool_)},
    **{"f": float, "g": np.float32},
}
_REFUSED: dict[str, Any] = {"i": (bool, np.timedelta64)}


@contextmanager
def _usual_floats() -> Iterator[None]:
    """A context in which floats round to nearest and trap nothing; on Linux alone it does that."""
    if _libm is None:
        yield
        return
    before = (ctypes.c_int64 * 16)()
    _libm.fegetenv(before)
    _libm.fesetenv(ctypes.c_void_p(-1))  # FE_DFL_ENV
    try:
        yield
    finally:
        _libm.fesetenv(before)


_libm: Any = None
if sys.platform.startswith("linux"):
    with suppress(OSError, AttributeError):
        _libm = ctypes.CDLL(find_library("m"))
        _libm.fesetenv, _libm.fegetenv  # noqa: B018 - without these there is none


def _value(kind: str, word: int) -> Any:
    if kind == "n":
        return None
    if kind == "b":
        return word != 0
    if kind in "fg":
        return struct.unpack("d", struct.pack("q", word))[0]
    return word % 2**64 if kind == "u" else (word + 2**63) % 2**64 - 2**63


def _flags() -> set[str]:
    """What Linux says that the processor has; nothing elsewhere."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return set()
    names = ("flags", "Features")  # of x86, and of Arm
    line = next((each for each in text.splitlines() if each.startswith(names)), "")
    return set(line.partition(":")[2].split())


def _warn() -> None:
    warnings.warn(
        "ludarium was installed without a C compiler: each call of compiled code takes 10 "
        "microseconds more; install a wheel, or a compiler, and then ludarium again",
        RuntimeWarning,
        stacklevel=2,
    )
