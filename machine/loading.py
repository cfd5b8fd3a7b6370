"""Loads object code into this process."""

from __future__ import annotations

from functools import cache
from typing import Any


def load(content: bytes) -> None:
    """Load an object file, whose symbols differ from all that were loaded before."""
    import llvmlite.binding as llvm

    engine = _engine()
    engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(content))
    engine.finalize_object()


def address_of(symbol: str) -> int:
    """The address of a function that was loaded; it is valid as long as the process runs."""
    address: int = _engine().get_function_address(symbol)
    assert address, f"no code of {symbol} is loaded"
    return address


@cache
def _engine() -> Any:
    """LLVM's loader; the code that it holds is never freed."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(opt=0, reloc="pic", codemodel="small", jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
