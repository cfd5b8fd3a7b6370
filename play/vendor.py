"""The page's one library, onnxruntime-web, which runs networks.

``npm/package-lock.json`` names its version and digest, which ``npm ci`` checks. To take another
version, change ``npm/package.json`` and run there

    npm install --package-lock-only --omit-lockfile-registry-resolved

so that the lock names no registry.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

from ludarium.training.runs.files import StorageError

from . import parts
from .parts import Say

NPM = Path(__file__).with_name("npm")

_PACKAGE = "onnxruntime-web"
_FOLDER = f"vendor/{_PACKAGE}"
_FILES = ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")
#: What belongs to the library by its licence. Its package lacks both; Python's package has them.
_LICENCES = ("LICENSE", "ThirdPartyNotices.txt")
_LOCK = "package-lock.json"  # goes along: it tells which version the files are of
_MOST_SECONDS = 600


def library_files(say: Say) -> dict[str, bytes]:
    """The library's files by their address within the page, with its licences.

    They are taken from the page that came along or from the cache folder, or fetched by npm.

    Raises:
        ValueError: there is no npm, or it fails, such as for another digest.
    """
    lock = (NPM / _LOCK).read_bytes()
    for folder in (parts.BUILT / _FOLDER, parts.cache_folder() / _FOLDER):
        if (folder / _LOCK).is_file() and (folder / _LOCK).read_bytes() == lock:
            contents = {name: (folder / name).read_bytes() for name in _FILES}
            break
    else:
        say(f"fetching {_PACKAGE} with npm")
        contents = _fetch()
        with suppress(StorageError):  # then it is fetched again the next time
            for name, content in {**contents, _LOCK: lock}.items():
                parts.keep(f"{_FOLDER}/{name}", content)
    licences = files("onnxruntime")
    contents |= {name: licences.joinpath(name).read_bytes() for name in _LICENCES}
    return {f"{_FOLDER}/{name}": content for name, content in {**contents, _LOCK: lock}.items()}


def _fetch() -> dict[str, bytes]:
    npm = shutil.which("npm")
    if npm is None:
        raise ValueError(
            f"the page takes {_PACKAGE} from npm, which is not installed: install Node.js, which "
            "brings npm"
        )
    with tempfile.TemporaryDirectory() as place:
        for path in NPM.iterdir():
            shutil.copy(path, place)
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        try:
            done = subprocess.run(
                command, cwd=place, capture_output=True, text=True, timeout=_MOST_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise ValueError(f"npm ci took more than {_MOST_SECONDS} s") from None
        if done.returncode:
            last = (done.stderr or done.stdout).strip()[:300]
            raise ValueError(f"npm ci failed: {last or f'status {done.returncode}'}")
        folder = Path(place, "node_modules", _PACKAGE, "dist")
        return {name: (folder / name).read_bytes() for name in _FILES}
