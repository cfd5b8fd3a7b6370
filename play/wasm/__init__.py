"""Builds WebAssembly modules of a game's rules and of the search over them. Outside `play`, import
only what is in `__all__`. `exact` builds modules with exact values.

The files in the order of a build: ``kernels`` (the exports of a module), ``memory`` (its arrays),
``compiler`` (from kernels to an object file), ``linker`` (from there to a module), ``module``
(assembling it, and the digest of its sources). ``network`` writes files of networks, which the
program that runs a module loads into it. The kernels of modules with exact values are in
``solving`` and ``solve_...``.
"""

from .linker import LinkerError
from .memory import Limits
from .module import build_module, digest_of, module_name

__all__ = [
    "Limits",
    "LinkerError",
    "build_module",
    "digest_of",
    "module_name",
]
