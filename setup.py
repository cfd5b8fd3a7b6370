"""Maps the top-level folders to packages of the ``ludarium`` namespace, and builds the extension.

The folders are found rather than listed, so that a new one needs no line here. The rest is in
pyproject.
"""

import json
import re
import sys
import tomllib
from pathlib import Path

import numpy
from setuptools import Extension, find_packages, setup
from setuptools.command.build_py import build_py

PROJECT = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
#: Links and pictures that lie beside a page; not those with a scheme or to a heading.
LINK = re.compile(r"(\]\(|(?:src|href)=\")(?![a-z]+:|#)([^)\s\"]+)")
PICTURES = (".gif", ".png", ".svg")
#: The link that says where to play; on a package index it leads to the page itself.
PLAY = "docs/guide/page.md#play-now"

#: The page to play in a browser, which `make page` builds; a wheel made after that holds it.
PAGE = Path("play/built")


def check_page() -> None:
    """Warn if the wheel will lack the page; exit if the page is incomplete."""
    listed = PAGE / "site.json"
    if not listed.is_file():
        print(
            "ludarium: play/built has no page, so the wheel will have none (make page)",
            file=sys.stderr,
        )
        return
    for address in json.loads(listed.read_text(encoding="utf-8"))["files"]:
        if not (PAGE / address).is_file():
            sys.exit(f"ludarium: the page in {PAGE} lacks {address}: remove {PAGE}, then make page")


def absolute(page: str) -> str:
    """A page for readers elsewhere: relative links lead to this version's files on GitHub."""
    repository = PROJECT["urls"]["Repository"]
    raw = repository.replace("//github.com/", "//raw.githubusercontent.com/")

    def address_of(link: re.Match[str]) -> str:
        address = link[2]
        if address == PLAY:
            return link[1] + PROJECT["urls"]["Play"]
        is_picture = address.endswith(PICTURES)
        place = raw if is_picture else f"{repository}/{'tree' if address[-1] == '/' else 'blob'}"
        return f"{link[1]}{place}/v{PROJECT['version']}/{address}"

    return LINK.sub(address_of, Path(page).read_text(encoding="utf-8"))


class Build(build_py):
    """Puts AGENTS.md, which is for coding assistants, beside the packages."""

    def run(self) -> None:
        """See `build_py.run`."""
        super().run()
        if not self.editable_mode:
            Path(self.build_lib, "ludarium/AGENTS.md").write_text(absolute("AGENTS.md"), "utf-8")


check_page()

#: The top-level folders that are packages: those with a file ``py.typed``.
ROOMS = sorted(marker.parent.name for marker in Path().glob("*/py.typed"))

#: Calls machine code. It is in Python's limited interface: one file serves 3.11 and all later
#: versions. Without a C compiler it is left out, and calls take longer.
CALL = Extension(
    "ludarium.machine._call",
    ["machine/call.c"],
    include_dirs=[numpy.get_include()],
    py_limited_api=True,
    optional=True,
)

setup(
    long_description=absolute("README.md"),
    long_description_content_type="text/markdown",
    packages=[
        name
        for room in ROOMS
        for name in (
            f"ludarium.{room}",
            *(f"ludarium.{room}.{package}" for package in find_packages(room)),
        )
    ],
    package_dir={f"ludarium.{room}": room for room in ROOMS},
    ext_modules=[CALL],
    cmdclass={"build_py": Build},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
    include_package_data=False,  # all of it is listed here
    package_data={
        "": ["*.json", "*.safetensors", "README.md", "py.typed"],
        "ludarium.analysis": ["exact_tests/hard/*.jsonl"],
        "ludarium.arena": ["puzzle_sets/*.jsonl"],
        "ludarium.arena.report": ["templates/*"],
        "ludarium.configs": ["*/*.yaml"],
        "ludarium.language": ["templates/*"],
        "ludarium.machine": ["shipped/*/*"],  # what `make libraries` has made, if it has
        "ludarium.models": ["shipped/*", "shipped/pocket/*"],
        "ludarium.play.native": ["templates/*"],
        "ludarium.play": ["js/*", "page/**/*", "built/**/*"],
    },
)
