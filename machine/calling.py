"""Calls machine code: `kernel`, `add` and `level`, from the extension ``call.c`` or in Python."""

from __future__ import annotations

import ctypes
import struct
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from .layouts import Layout, fits, layout_of

_call: Any = None
with suppress(ImportError):
    _call = import_module("ludarium.machine._call")


def kernel(name: str, otherwise: Callable[..., Any], holds_gil: bool) -> Callable[..., Any]:
    """A callable without forms yet.

    A call takes the first form that its arguments fit. Without one it returns what ``otherwise``
    returns for them; that may add a form and call again.

    Args:
        name: its name.
        otherwise: called with arguments that fit no form.
        holds_gil: whether other Python threads wait during a call, which takes less time then.
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
        TypeError, ValueError: an argument is something else.
    """
    if _call is not None:
        _call.add(kernel, address, layouts, returned)
    else:
        kernel.forms.append((_CODE(address), layouts, returned))


def level() -> str:
    """The newest of ``machines.KINDS`` that this processor is; empty if it is older than all."""
    if _call is not None:
        return str(_call.level())
    flags = _flags()
    found = ""
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
    "v3": {"avx2", "fma", "bmi1", "bmi2"},
    "v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "vnni": {"avx512_vnni"},
}


class _Kernel:
    """A kernel in Python; see `kernel`."""

    def __init__(self, otherwise: Callable[..., Any]) -> None:
        self.forms: list[tuple[Any, tuple[Layout, ...], str]] = []
        self._otherwise = otherwise

    def __call__(self, *arguments: Any) -> Any:
        given = tuple(map(layout_of, arguments))
        for code, layouts, returned in self.forms:
            if len(given) == len(layouts) and all(map(fits, given, layouts)):
                words = [word for argument in arguments for word in _words(argument)]
                block = (ctypes.c_int64 * (len(words) + _MOST_RETURNED))(*words)
                word = code(ctypes.addressof(block))
                if returned[0] != "T":
                    return _value(returned, word)
                return tuple(map(_value, returned[1:], block))
        return self._otherwise(*arguments)


def _words(argument: Any) -> list[int]:
    if argument is None:
        return []
    if isinstance(argument, np.ndarray):
        return [argument.ctypes.data, *argument.shape, *argument.strides]
    if isinstance(argument, tuple):
        return [word for entry in argument for word in _words(entry)]
    if isinstance(argument, float | np.float32):
        return list(struct.unpack("q", struct.pack("d", argument)))
    return [(int(argument) + 2**63) % 2**64 - 2**63]


def _value(kind: str, word: int) -> Any:
    if kind == "n":
        return None
    if kind == "b":
        return word != 0
    if kind in "fg":
        return struct.unpack("d", struct.pack("q", word))[0]
    return word % 2**64 if kind == "u" else word


def _flags() -> set[str]:
    """What Linux says that the processor has; nothing elsewhere."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return set()
    line = next((each for each in text.splitlines() if each.startswith("flags")), "")
    return set(line.partition(":")[2].split())


def _warn() -> None:
    warnings.warn(
        "ludarium was installed without a C compiler: each call of compiled code takes 10 "
        "microseconds more; install a wheel, or a compiler, and then ludarium again",
        RuntimeWarning,
        stacklevel=2,
    )
