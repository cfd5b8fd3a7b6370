"""Links an object file to a WebAssembly module that needs no library.

The linker comes with the package ``ziglang``.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from ludarium.base.storage import cache_folder, writing

_INSTALL = "pip install 'ludarium[wasm]'"
_STACK = 256 * 1024  # bytes; most kernels need little, but the search of Corso is recursive


class LinkerError(ValueError):
    """The linker is missing or fails; the message says why."""


def find_zig() -> Path:
    """The folder of the package ``ziglang``.

    Raises:
        LinkerError: it is not installed; the message has the remedy.
    """
    found = importlib.util.find_spec("ziglang")
    if found is None or found.origin is None:
        raise LinkerError(f"modules and libraries are linked by the package ziglang: {_INSTALL}")
    return Path(found.origin).parent


def link(compiled: bytes, exports: Iterable[str]) -> bytes:
    """A module that exports these functions and variables, and its memory.

    Raises:
        LinkerError: the linker is missing or fails.
    """
    zig = find_zig()
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "kernels.o"), Path(folder, "module.wasm")
        with writing(source):
            source.write_bytes(compiled)
        arguments = [
            *("wasm-ld", "--no-entry", "--strip-all", f"-zstack-size={_STACK}"),
            *(f"--export={name}" for name in exports),
            *(str(source), "-o", str(target)),
        ]
        run_zig(zig, arguments, folder)
        return target.read_bytes()


def run_zig(zig: Path, arguments: Iterable[str], folder: str) -> None:
    """Run zig in ``folder``, which receives its intermediate files too.

    Libraries contain the names of their source files: give names relative to ``folder``, so that
    two builds are the same bytes.

    Raises:
        LinkerError: zig fails.
    """
    # Keeping what zig compiles of its own code saves seconds for each library.
    kept = (cache_folder() / "zig").absolute()
    settings = {
        "ZIG_GLOBAL_CACHE_DIR": str(kept),
        "ZIG_LOCAL_CACHE_DIR": ".",
        "SOURCE_DATE_EPOCH": "1",  # the time that a DLL contains
    }
    command = [str(zig / "zig"), *arguments]
    run = subprocess.run(
        command, cwd=folder, env=os.environ | settings, capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise LinkerError(f"zig cannot link it: {run.stderr.strip()[-500:]}")
