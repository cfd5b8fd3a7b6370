"""Makes a wheel for each platform of a wheel that was built here: machine code, extension, tags.

    python .ci/wheels.py build/dist/ludarium-0.1.0-cp311-abi3-linux_x86_64.whl build/shipped

adds what ``python -m ludarium.play.shipping --platform all --output build/shipped`` has made, and
the extension machine/call.c, compiled by zig for the oldest systems that it knows. The new wheels
lie beside the given one, which is removed.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

import numpy
import ziglang

ROOT = Path(__file__).resolve().parents[1]
ZIG = Path(ziglang.__file__).parent / "zig"

#: By platform: zig's target, flags of the extension's linker, and the wheel's tags.
PLATFORMS = {
    "x86_64-linux": (
        *("x86_64-linux-gnu.2.17", []),
        "manylinux_2_17_x86_64.manylinux2014_x86_64",
    ),
    "aarch64-linux": (
        *("aarch64-linux-gnu.2.17", []),
        "manylinux_2_17_aarch64.manylinux2014_aarch64",
    ),
    "arm64-macos": (
        *("aarch64-macos.11.0", ["-Wl,-undefined,dynamic_lookup"]),
        "macosx_11_0_arm64",
    ),
    "x86_64-macos": (
        *("x86_64-macos.11.0", ["-Wl,-undefined,dynamic_lookup"]),
        "macosx_11_0_x86_64",
    ),
    "x86_64-windows": ("x86_64-windows-gnu", ["-L.", "-lpython3"], "win_amd64"),
}

#: What Python's headers ask for on Windows: those that are installed here describe this system.
WINDOWS = """
#define MS_WINDOWS 1
#define MS_WIN64 1
#define HAVE_DECLSPEC_DLL 1
#define Py_ENABLE_SHARED 1
#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_VOID_P 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_TIME_T 8
#define SIZEOF_WCHAR_T 2
#define SIZEOF_PID_T 4
#define HAVE_LONG_LONG 1
#define PLATLIBDIR "lib"
typedef long long Py_ssize_t;
#define HAVE_PY_SSIZE_T 1
"""


def extension(platform: str) -> tuple[str, bytes]:
    """The name and content of the extension for a platform."""
    target, flags, _ = PLATFORMS[platform]
    is_windows = platform.endswith("windows")
    name = "_call.pyd" if is_windows else "_call.abi3.so"
    with tempfile.TemporaryDirectory() as folder:
        headers = [sysconfig.get_path("include"), numpy.get_include()]
        if "linux" not in platform:
            headers = [
                shutil.copytree(each, Path(folder, str(n))) for n, each in enumerate(headers)
            ]
            sizes = Path(headers[1], "numpy", "_numpyconfig.h")
            text = sizes.read_text().replace("#define NPY_HAVE_ENDIAN_H 1", "")
            if is_windows:
                text = text.replace("NPY_SIZEOF_LONG 8", "NPY_SIZEOF_LONG 4")
                Path(headers[0], "pyconfig.h").write_text(WINDOWS)
            sizes.write_text(text)
        shutil.copy(ROOT / "machine/call.c", folder)
        compiling = [
            "cc",
            "-target",
            target,
            "-O2",
            "-s",
            "-fPIC",
            *(f"-I{each}" for each in headers),
        ]
        if is_windows:
            zig([*compiling, "-c", "call.c", "-o", "call.o"], folder)
            names = set(re.findall(rb"__imp_(_?Py\w+)", Path(folder, "call.o").read_bytes()))
            exports = "\n".join(sorted(each.decode() for each in names))
            Path(folder, "python3.def").write_text(f"LIBRARY python3.dll\nEXPORTS\n{exports}\n")
            library = ["-d", "python3.def", "-l", "libpython3.a"]
            zig(["dlltool", "-m", "i386:x86-64", *library], folder)
        zig([*compiling, "-shared", "call.c", "-o", name, *flags], folder)
        return name, Path(folder, name).read_bytes()


def zig(arguments: list[str], folder: str) -> None:
    """Run zig in a folder."""
    settings = {"ZIG_LOCAL_CACHE_DIR": folder, "SOURCE_DATE_EPOCH": "1"}
    subprocess.run([str(ZIG), *arguments], cwd=folder, env=os.environ | settings, check=True)


def write_wheel(built: Path, platform: str, libraries: Path) -> Path:
    """Write the wheel of a platform beside the built one; return its path."""
    tags = PLATFORMS[platform][2]
    path = built.with_name("-".join([*built.name.split("-")[:2], "cp311", "abi3", f"{tags}.whl"]))
    name, content = extension(platform)
    files = {
        f"ludarium/machine/shipped/{platform}/{file.name}": file.read_bytes()
        for file in sorted(libraries.iterdir())
    }
    files[f"ludarium/machine/{name}"] = content
    with zipfile.ZipFile(built) as old:
        for name in old.namelist():
            if name.endswith(".dist-info/RECORD"):
                record = name
            elif name.endswith(".dist-info/WHEEL"):
                files[name] = tagged(old.read(name).decode(), tags).encode()
            elif not name.startswith(("ludarium/machine/_call.", "ludarium/machine/shipped/")):
                files[name] = old.read(name)
    files = dict(sorted(files.items(), key=lambda each: (".dist-info/" in each[0], each[0])))
    lines = [f"{name},sha256={digest(content)},{len(content)}" for name, content in files.items()]
    files[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)  # of 1980: the same files make the same wheel
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o100644 << 16
            new.writestr(info, content)
    return path


def tagged(about: str, tags: str) -> str:
    """The file WHEEL with other tags."""
    head = re.sub(r"^(Tag|Root-Is-Purelib): .*\n", "", about, flags=re.MULTILINE)
    lines = [f"Tag: cp311-abi3-{tag}" for tag in tags.split(".")]
    return "\n".join([head.strip(), "Root-Is-Purelib: false", *lines, ""])


def digest(content: bytes) -> str:
    """A digest as RECORD has it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def main() -> None:
    """Make a wheel for each platform."""
    built, folder = map(Path, sys.argv[1:])
    for platform in PLATFORMS:
        path = write_wheel(built, platform, folder / platform)
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    built.unlink()


if __name__ == "__main__":
    main()
