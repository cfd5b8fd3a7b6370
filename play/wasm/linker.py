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
#: Functions of musl, and their tables, each a file.
FUNCTIONS = (
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
        raise LinkerError(f"modules and libraries are linked by the package ziglang: {_INSTALL}")
    folder = Path(found.origin).parent
    missing = [path.name for path in sources(folder) if not path.is_file()]
    if missing:
        raise LinkerError(
            f"the package ziglang in {folder} has no {missing[0]} of musl; another version has it: "
            f"{_INSTALL}"
        )
    return folder


def sources(zig: Path) -> list[Path]:
    """The files of `FUNCTIONS`."""
    return [zig / "lib/libc/musl/src/math" / f"{name}.c" for name in FUNCTIONS]


def link(compiled: bytes, exports: Iterable[str]) -> bytes:
    """A module that exports these functions and variables, and its memory.

    Raises:
        LinkerError: there is no linker, or it refuses.
    """
    zig = find_zig()
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "kernels.o"), Path(folder, "module.wasm")
        with writing(source):
            source.write_bytes(compiled)
        arguments = [
            *("cc", "-target", "wasm32-freestanding", "-nostdlib", "-O2", "-w"),
            *headers(zig, "wasm-wasi"),
            *("-Wl,--no-entry", "-Wl,--strip-all", f"-Wl,-z,stack-size={_STACK}"),
            *(f"-Wl,--export={name}" for name in exports),
            *(str(source), *map(str, sources(zig)), "-o", str(target)),
        ]
        run_zig(zig, arguments, folder)
        return target.read_bytes()


def headers(zig: Path, system: str, processor: str = "generic") -> list[str]:
    """Options by which the compiler finds musl's headers for a system such as ``wasm-wasi``."""
    libc = zig / "lib/libc"
    folders = [
        *(libc / "musl/src/include", libc / "musl/src/internal"),
        *(libc / "musl/arch" / processor, libc / "musl/arch/generic"),
        *(libc / f"include/{system}-musl", libc / "include/generic-musl"),
    ]
    return [f"-I{folder}" for folder in dict.fromkeys(folders)]


def run_zig(zig: Path, arguments: Iterable[str], folder: str) -> None:
    """Run zig, which keeps what it makes on the way in ``folder``.

    Raises:
        LinkerError: it refuses.
    """
    kept = cache_folder() / "zig"  # its compiled libraries: seconds of each module
    caches = {"ZIG_GLOBAL_CACHE_DIR": str(kept), "ZIG_LOCAL_CACHE_DIR": folder}
    command = [str(zig / "zig"), *arguments]
    run = subprocess.run(
        command, env=os.environ | caches, capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise LinkerError(f"zig cannot link it: {run.stderr.strip()[-500:]}")
