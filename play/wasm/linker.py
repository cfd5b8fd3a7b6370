"""Links an object file to a WebAssembly module, with the mathematics that it calls.

Rules need no library. Search and network need ``exp`` and a few others: musl's, which give the same
bits as those that Python uses on Linux. Compiler, linker and musl's sources all come with the
package ``ziglang``.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from ludarium.envs.engine.storage import cache_folder, writing

_INSTALL = "pip install 'ludarium[wasm]'"
_STACK = 256 * 1024  # bytes; kernels keep little there, but the search of Corso is recursive
_FUNCTIONS = (
    *("exp", "exp_data", "expf", "exp2f_data", "log", "log_data", "pow", "pow_data"),
    *("tanhf", "expm1f", "floor", "scalbn"),
    *("cos", "__cos", "__sin", "__rem_pio2", "__rem_pio2_large"),
    *("__math_divzero", "__math_invalid", "__math_oflow", "__math_uflow", "__math_xflow"),
    *("__math_oflowf", "__math_uflowf", "__math_xflowf"),
)


class LinkerError(ValueError):
    """There is no linker, or it refuses; the message says why."""


def find_zig() -> Path:
    """The folder of the package ``ziglang``.

    Raises:
        LinkerError: it is not installed, or lacks musl's sources; the message has the remedy.
    """
    found = importlib.util.find_spec("ziglang")
    if found is None or found.origin is None:
        raise LinkerError(f"WebAssembly modules are linked by the package ziglang: {_INSTALL}")
    folder = Path(found.origin).parent
    missing = [path.name for path in _sources(folder) if not path.is_file()]
    if missing:
        raise LinkerError(
            f"the package ziglang in {folder} has no {missing[0]} of musl; another version has it: "
            f"{_INSTALL}"
        )
    return folder


def _sources(zig: Path) -> list[Path]:
    return [zig / "lib/libc/musl/src/math" / f"{name}.c" for name in _FUNCTIONS]


def link(compiled: bytes, exports: Iterable[str]) -> bytes:
    """A module that exports these functions and variables, and its memory.

    Raises:
        LinkerError: there is no linker, or it refuses.
    """
    zig = find_zig()
    libc = zig / "lib/libc"
    headers = [
        *(libc / "musl/src/include", libc / "musl/src/internal", libc / "musl/arch/generic"),
        *(libc / "include/wasm-wasi-musl", libc / "include/generic-musl"),
    ]
    kept = cache_folder() / "zig"  # its compiled libraries: seconds of each module
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "kernels.o"), Path(folder, "module.wasm")
        with writing(source):
            source.write_bytes(compiled)
        command = [
            *(str(zig / "zig"), "cc", "-target", "wasm32-freestanding", "-nostdlib", "-O2", "-w"),
            *(f"-I{path}" for path in headers),
            *("-Wl,--no-entry", "-Wl,--strip-all", f"-Wl,-z,stack-size={_STACK}"),
            *(f"-Wl,--export={name}" for name in exports),
            *(str(source), *map(str, _sources(zig)), "-o", str(target)),
        ]
        caches = {"ZIG_GLOBAL_CACHE_DIR": str(kept), "ZIG_LOCAL_CACHE_DIR": folder}
        run = subprocess.run(
            command, env=os.environ | caches, capture_output=True, text=True, check=False
        )
        if run.returncode:
            raise LinkerError(f"the module cannot be linked: {run.stderr.strip()[-500:]}")
        return target.read_bytes()
