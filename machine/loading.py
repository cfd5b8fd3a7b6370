"""Loads object code and libraries into this process."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

_in_libraries: dict[str, int] = {}  # addresses by symbol
_is_loading = threading.RLock()
if hasattr(os, "register_at_fork"):  # nobody forks while LLVM's loader is halfway through a file
    os.register_at_fork(
        before=_is_loading.acquire,
        after_in_parent=_is_loading.release,
        after_in_child=_is_loading.release,
    )


def load(content: bytes) -> None:
    """Load an object file; it stays as long as the process runs.

    Raises:
        ImportError: llvmlite is not installed.
    """
    import llvmlite.binding as llvm

    with _is_loading:
        loader = _loader()
        loader.add_object_file(llvm.object_file.ObjectFileRef.from_data(content))
        loader.finalize_object()


def load_library(file: Path, symbols: Iterable[str]) -> None:
    """Load functions of a library, which the system keeps as long as the process runs.

    Raises:
        OSError, AttributeError: the system refuses it, or it lacks a function.
    """
    library = ctypes.CDLL(str(file))
    found = {each: getattr(library, each) for each in symbols}
    for symbol, function in found.items():
        _in_libraries[symbol] = ctypes.cast(function, ctypes.c_void_p).value or 0


def address_of(symbol: str) -> int:
    """The address of a function that was loaded, of a library or of an object file."""
    address = _in_libraries.get(symbol)
    if address is None:
        with _is_loading:
            address = int(_loader().get_function_address(symbol))
    assert address, f"no code of {symbol} is loaded"
    return address


@cache
def _loader() -> Any:
    """LLVM's loader, which never frees what it has loaded."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(opt=0, reloc="static", codemodel="large", jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
