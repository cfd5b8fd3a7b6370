"""The parts of numba outside its documented interface that this package uses.

Each name is looked up on import. If one is missing, or the tests do not cover this version of
numba, the error says so, and names the versions to install.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numba

from ludarium.base.private_names import PrivateNames

_OLDEST, _TOO_NEW = (0, 61), (0, 69)
required = PrivateNames("numba", "numba>={}.{},<{}.{}".format(*_OLDEST, *_TOO_NEW))
_found = re.match(r"(\d+)\.(\d+)", numba.__version__)
if _found is None or not _OLDEST <= tuple(map(int, _found.groups())) < _TOO_NEW:
    raise required.unknown(numba.__version__)

# How functions are compiled, see `linked`.
required(
    "numba.core.options.DefaultOptions",
    *("nogil", "_nrt", "error_model", "forceinline", "no_cpython_wrapper", "no_cfunc_wrapper"),
)
required(
    "numba.core.compiler.Flags",
    *("noalias", "no_compile", "no_cpython_wrapper", "no_cfunc_wrapper"),
)
Compiler = required("numba.core.compiler.Compiler", "compile_extra")
CPUDispatcher = required(
    "numba.core.registry.CPUDispatcher",
    *("add_overload", "get_call_template", "get_overload", "nopython_signatures"),
)
JITCodeLibrary = required(
    "numba.core.codegen.JITCodeLibrary",
    *("add_ir_module", "add_linking_library", "add_llvm_module", "finalize"),
    *("_ensure_finalized", "_finalize_final_module", "_get_module_for_linking"),
    *("_optimize_final_module", "_optimize_functions"),
)
required(
    "numba.core.cpu.CPUContext",
    *("insert_user_function", "codegen", "call_conv", "declare_function"),
    *("get_constant", "get_value_type", "make_array", "make_tuple"),
)
required("numba.core.callconv.CPUCallConv", "call_function")

# Arrays at known places, and LLVM's code as text: `exports`.
populate_array = required("numba.np.arrayobj.populate_array")
normalize_ir_text = required("numba.core.cgutils.normalize_ir_text")
RuntimeLinker = required("numba.core.codegen.RuntimeLinker", "PREFIX")

# How LLVM's instructions are emitted, for networks and for the C library.
cgutils = required(
    "numba.core.cgutils",
    *("alloca_once", "alloca_once_value", "get_or_insert_function", "unpack_tuple"),
)

# How networks get a type for vectors.
AbstractTemplate = required("numba.core.typing.templates.AbstractTemplate")
infer_global = required("numba.core.typing.templates.infer_global")
signature = required("numba.core.typing.templates.signature")


@cache
def _defaults(kind: Any) -> dict[str, Any]:
    return {name: option.default for name, option in kind.options.items()}


def _values(flags: Any) -> dict[str, Any]:
    kind: Any = type(flags)
    return _defaults(kind) | flags._values


# Numba compares the flags of a compilation whenever it looks up a function's type, and reads each
# of them through a property. This dictionary is the same, and saves a tenth of the time.
required("numba.core.targetconfig.TargetConfig", "options", "values").values = _values
