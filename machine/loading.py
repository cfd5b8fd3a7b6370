"""Loads object code into this process."""

from __future__ import annotations

from functools import cache
from typing import Any


def load(content: bytes) -> None:
    """Load an object file; it stays as long as the process runs."""
    import llvmlite.binding as llvm

    loader = _loader()
    loader.add_object_file(llvm.object_file.ObjectFileRef.from_data(content))
    loader.finalize_object()


def address_of(symbol: str) -> int:
    """The address of a function that was loaded."""
    address: int = _loader().get_function_address(symbol)
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
