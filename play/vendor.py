"""The page's one library, onnxruntime-web, which runs networks: fetched with npm, and checked.

``vendor.json`` names its version and the SHA-512 of each file that the page takes; files with
another one are refused, wherever they come from.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from ludarium.envs.engine.files import MEGABYTE, read_regular_file
from ludarium.training.runs.files import make_folders, write_file

_PINNED = Path(__file__).with_name("vendor.json")
_MOST_BYTES = 64 * MEGABYTE
_MOST_SECONDS = 600
#: What belongs to the library by its licence. Its package lacks both; Python's package has them.
_LICENCES = ("LICENSE", "ThirdPartyNotices.txt")


@dataclass(frozen=True)
class Library:
    """A package of npm, and what the page takes of it.

    Attributes:
        package, version: as npm knows it.
        files: SHA-512 of each file, hexadecimal, by its name in the package's folder ``dist``.
    """

    package: str
    version: str
    files: dict[str, str]

    @classmethod
    def pinned(cls) -> Library:
        """The library that belongs to these sources."""
        return cls(**json.loads(_PINNED.read_text(encoding="utf-8")))

    def is_file(self, path: Path) -> bool:
        """Whether a path holds the file of its name, unchanged."""
        try:
            content = read_regular_file(path, _MOST_BYTES, f"a file of {self.package}")
        except (FileNotFoundError, ValueError):
            return False
        return self._is_content(path.name, content)

    def is_whole(self, folder: Path) -> bool:
        """Whether a folder holds all of its files, unchanged."""
        return all(self.is_file(folder / name) for name in self.files)

    def fetch(self, folder: Path) -> None:
        """Bring its files into a folder, with the npm that is installed here.

        Raises:
            ValueError: there is no npm, it fails, or a file is not the one that is expected.
        """
        npm = shutil.which("npm")
        if npm is None:
            raise ValueError(
                f"the page takes {self.package} {self.version} from npm, which is not installed: "
                "install Node.js, which brings npm"
            )
        with tempfile.TemporaryDirectory() as place:
            archive = self._pack(npm, Path(place))
            contents = {name: self._extract(archive, name) for name in self.files}
        make_folders(folder)
        for name, content in contents.items():
            write_file(folder / name, content)

    def _pack(self, npm: str, folder: Path) -> Path:
        wanted = f"{self.package}@{self.version}"
        command = [npm, "pack", wanted, "--silent", "--pack-destination", str(folder)]
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=_MOST_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise ValueError(f"npm pack {wanted} took more than {_MOST_SECONDS} s") from None
        found = sorted(folder.glob("*.tgz"))
        if done.returncode or len(found) != 1:
            last = (done.stderr or done.stdout).strip()[-300:]
            raise ValueError(f"npm pack {wanted} failed: {last or f'status {done.returncode}'}")
        return found[0]

    def _extract(self, archive: Path, name: str) -> bytes:
        with tarfile.open(archive) as packed:
            try:
                member = packed.getmember(f"package/dist/{name}")
            except KeyError:
                member = None
            stream = None if member is None else packed.extractfile(member)
            content = b"" if stream is None else stream.read(_MOST_BYTES)
        if not self._is_content(name, content):
            raise ValueError(
                f"{name} of {self.package} {self.version} is not the file that {_PINNED} names by "
                "its SHA-512: npm's registry has another one"
            )
        return content

    def _is_content(self, name: str, content: bytes) -> bool:
        return hashlib.sha512(content).hexdigest() == self.files[name]


def licences() -> dict[str, bytes]:
    """The library's licence and those of what it holds, by the name of the file."""
    folder = files("onnxruntime")
    return {name: folder.joinpath(name).read_bytes() for name in _LICENCES}
