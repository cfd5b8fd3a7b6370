"""The machines that code is made for: kinds of processors, from the oldest on."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

from . import calling

_X86, _ARM = ("v2", "v3", "v4", "vnni"), ("neon", "dotprod")
#: All kinds of processors: levels of x86-64, and of Arm.
KINDS = (*_X86, *_ARM)
#: The kinds that rules and searches are compiled for.
OF_RULES = ("v2", "v3", "neon")
#: The kinds that batches and playouts are compiled for.
OF_BATCHES = ("v2", "v3", "v4", "neon")
#: The kinds that networks are compiled for.
OF_NETWORKS = ("v2", "v3", "vnni", "neon", "dotprod")

#: The kinds of each family of processors.
FAMILIES = {"x86_64": _X86, "aarch64": _ARM, "arm64": _ARM}

#: LLVM's name and features of each kind. Vectors of 512 bits are used where they pay.
_PROCESSORS = {
    "v2": ("x86-64-v2", ""),
    "v3": ("x86-64-v3", ""),
    "v4": ("x86-64-v4", "-prefer-256-bit"),
    "vnni": ("x86-64-v4", "+avx512vnni,-prefer-256-bit"),
    "neon": ("generic", "+neon"),
    "dotprod": ("generic", "+neon,+dotprod"),
}


@cache
def this_platform() -> str:
    """Family of processors and system of this machine, such as ``x86_64-linux``."""
    family = platform.machine().lower().replace("amd64", "x86_64")
    system = {"darwin": "macos", "win32": "windows"}.get(sys.platform, sys.platform)
    return f"{family}-{system}"


@cache
def processor() -> str:
    """The kind that ``LUDARIUM_PROCESSOR`` names, or else the newest of `KINDS` that this one is.

    It is empty if the processor is older than all.

    Raises:
        ValueError: the variable names no kind.
    """
    named = os.environ.get("LUDARIUM_PROCESSOR", "")
    if named not in ("", *KINDS):
        raise ValueError(
            f"LUDARIUM_PROCESSOR={named!r} means nothing; accepted: {', '.join(KINDS)}"
        )
    return named or calling.level()


def kind_of(kinds: tuple[str, ...]) -> str:
    """The newest of some kinds whose code this processor can run; empty if there is none.

    Raises:
        ValueError: see `processor`.
    """
    here = processor()
    family = next((each for each in (_X86, _ARM) if here in each), ())
    able = family[: family.index(here) + 1] if family else ()
    return next((each for each in reversed(able) if each in kinds), "")


@dataclass(frozen=True)
class Machine:
    """A machine for which code is compiled.

    Attributes:
        triple: LLVM's name of processor, vendor and system.
        processor: LLVM's name of the oldest processor that runs the code; empty for any.
        features: additional features, in LLVM's notation.
        relocation: ``static``, or ``pic`` for code that may lie anywhere.
        code_model: ``small``, or ``large`` for code whose constants may lie far from it: where
            object code is loaded piece by piece into a process that has much memory.
    """

    triple: str
    processor: str = ""
    features: str = ""
    relocation: str = "pic"
    code_model: str = "small"

    @classmethod
    def of_kind(cls, kind: str, triple: str, processor: str = "") -> Machine:
        """A machine of one of `KINDS`; ``processor``, if not empty, replaces LLVM's name for it.

        Raises:
            KeyError: there is no such kind.
        """
        known, features = _PROCESSORS[kind]
        return cls(triple, processor or known, features)

    def opened(self) -> Any:
        """LLVM's target machine.

        Raises:
            ImportError: llvmlite is not installed.
            RuntimeError: LLVM does not know the triple.
        """
        import llvmlite.binding as llvm

        _initialize()
        return llvm.Target.from_triple(self.triple).create_target_machine(
            cpu=self.processor,
            features=self.features,
            opt=3,
            reloc=self.relocation,
            codemodel=self.code_model,
        )


@cache
def _initialize() -> None:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
