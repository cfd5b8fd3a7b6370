"""Builds WebAssembly modules of a game's rules and of the search over them. Import what is in
`__all__`, and modules with exact values from `exact`.

Cut along the way of the code: ``kernels`` (what a module can do), ``memory`` (its arrays),
``compiler`` (from kernels to an object file), ``linker`` (from there to a module), ``module``
(putting it together, and telling whether a module is still that of the sources).
"""

from .linker import LinkerError
from .memory import Limits
from .module import (
    Module,
    build_module,
    digest_of,
    module_name,
    parse_module,
    read_module,
    require_current,
)

__all__ = [
    "Limits",
    "LinkerError",
    "Module",
    "build_module",
    "digest_of",
    "module_name",
    "parse_module",
    "read_module",
    "require_current",
]
