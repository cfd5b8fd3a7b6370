"""Shipped libraries: made for every platform; what is damaged or of something else is refused."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ludarium.base.files import sha256_of
from ludarium.machine import cache, compiler, libraries, loading, unit
from ludarium.machine.machines import FAMILIES, Machine, this_platform
from ludarium.machine.recipe import Recipe
from ludarium.machine.unit import Unit
from ludarium.models.kernels import network_units, target
from ludarium.play import shipping
from ludarium.play.native.targets import TARGETS
from ludarium.play.shipping import PLATFORMS, Job, make
from ludarium.play.wasm.linker import find_zig
from tests.machine import templates

pytest.importorskip("ziglang")

#: How files of each system begin.
BEGINNINGS = {"linux": (b"\x7fELF",), "macos": (b"\xcf\xfa\xed\xfe",), "windows": (b"MZ",)}


def own_unit() -> Unit:
    """A kernel that needs no game; it is declared for whole numbers."""
    return Unit("own", "", Recipe(templates.__name__), lambda: [("added", (1, 2))])


def name_of_code() -> str:
    return libraries.name_of("own", own_unit().declared())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Libraries with that kernel for all platforms."""
    folder = tmp_path_factory.mktemp("libraries")
    make([Job("own", {name_of_code(): own_unit()})], PLATFORMS, folder)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """This platform's libraries, copied to where they are looked for; no other place has code."""
    where = tmp_path / "shipped"
    shutil.copytree(made / this_platform(), where)
    monkeypatch.setattr(libraries, "folder", lambda: where)
    monkeypatch.setattr(unit, "places", lambda: ("shipped",))
    monkeypatch.setattr(loading, "_in_libraries", {})
    monkeypatch.setenv("LUDARIUM_CODE", "shipped")
    monkeypatch.setattr(compiler, "find_spec", lambda name: None)

    def forget() -> None:
        for each in (libraries._index, libraries._is_intact, libraries._refuse):
            each.cache_clear()

    forget()
    yield where
    forget()


def library_in(folder: Path) -> Path:
    """The library of this processor."""
    index = json.loads((folder / libraries.INDEX).read_text())
    return folder / index["code"][f"{name_of_code()}-{own_unit()._kind}"]["library"]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_library_is_made_for_each_processor_of_a_platform(made: Path, platform: str) -> None:
    index = json.loads((made / platform / libraries.INDEX).read_text())
    family, _, system = platform.partition("-")
    kinds = [each for each in own_unit().kinds if each in FAMILIES[family]]
    assert sorted(index["code"]) == [f"{name_of_code()}-{kind}" for kind in kinds]
    assert {each.name for each in (made / platform).iterdir()} == {
        libraries.INDEX,
        *index["libraries"],
    }
    for name, digest in index["libraries"].items():
        content = (made / platform / name).read_bytes()
        assert sha256_of(content) == digest
        assert content.startswith(BEGINNINGS[system])
        assert f"{name_of_code()}_0".encode() in content


#: A program that loads a library, and calls its kernel ``added`` with 1 and 2.
LOADER = """
#include <stdint.h>
#include <stdio.h>
#ifdef _WIN32
#include <windows.h>
#define OPEN(path) LoadLibraryA(path)
#define FIND GetProcAddress
#else
#include <dlfcn.h>
#define OPEN(path) dlopen(path, RTLD_NOW)
#define FIND dlsym
#endif
int main(int count, char **given) {
    int64_t block[16] = {1, 2};
    void *library = OPEN(given[1]);
    int64_t (*added)(int64_t *) = library ? (void *)FIND(library, given[2]) : 0;
    if (!added) return 1;
    printf("%d\\n", (int)added(block));
    return 0;
}
"""

#: By platform: zig's name of it, what runs its programs here, and a file that this needs.
ELSEWHERE = {
    "aarch64-linux": (
        "aarch64-linux-gnu",
        ("qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"),
        "/usr/aarch64-linux-gnu/lib/libc.so.6",
    ),
    "x86_64-windows": ("x86_64-windows-gnu", ("wine",), "/usr/bin/wine"),
}


@pytest.mark.slow
@pytest.mark.parametrize("platform", ELSEWHERE)
def test_a_library_of_another_system_loads_and_runs_there(
    made: Path, tmp_path: Path, platform: str
) -> None:
    target, emulator, needed = ELSEWHERE[platform]
    if not shutil.which(emulator[0]) or not Path(needed).exists():
        pytest.skip(f"nothing here runs programs of {platform}: {emulator[0]}, {needed}")
    (tmp_path / "loader.c").write_text(LOADER)
    program = tmp_path / "loader.exe"
    compiling = ("cc", "-target", target, tmp_path / "loader.c", "-o", program)
    subprocess.run([find_zig() / "zig", *compiling], check=True)
    index = json.loads((made / platform / libraries.INDEX).read_text())
    for entry in index["code"].values():
        library = made / platform / entry["library"]
        command = [*emulator, program, library, f"{name_of_code()}_0"]
        variables = os.environ | {"WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all"}
        ran = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        assert (ran.returncode, ran.stdout.strip()) == (0, "3"), (library, ran.stderr)


def test_a_shipped_kernel_runs_without_a_compiler(folder: Path) -> None:
    assert own_unit().kernels["added"](1, 2) == 3


def test_what_was_not_shipped_is_an_error_where_nothing_else_may_run(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"has no code of own for \w+ \(added\): run without"):
        own_unit().kernels["added"](1.5, 2.5)


def test_code_of_other_sources_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edited = own_unit()
    monkeypatch.setattr(edited.ingredients, "digest", lambda _: "0" * 16)
    with pytest.raises(ValueError, match="has no code of own"):
        edited.kernels["added"](1, 2)


def test_code_is_believed_where_sources_cannot_be_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = own_unit()

    def digest(_: Any) -> str:
        raise FileNotFoundError("templates.py")

    monkeypatch.setattr(packed.ingredients, "digest", digest)
    assert packed.kernels["added"](1, 2) == 3


def in_index(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        file = folder / libraries.INDEX
        file.write_text(json.dumps(json.loads(file.read_text()) | changes))

    return change


def with_its_digest(content: bytes) -> Callable[[Path], None]:
    """A library with other content, that the index knows."""

    def change(folder: Path) -> None:
        file = library_in(folder)
        file.write_bytes(content)
        in_index(libraries={file.name: sha256_of(content)})(folder)

    return change


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda folder: library_in(folder).write_bytes(b""), "is not the library that"),
        (lambda folder: library_in(folder).unlink(), "cannot be read"),
        (with_its_digest(b"of another system"), "cannot be loaded"),
        (in_index(version="0.0.1"), r"is of version 0\.0\.1, not"),
        (lambda folder: (folder / libraries.INDEX).write_text("{"), "is damaged"),
    ],
)
def test_a_damaged_library_is_named_once_and_not_used(
    damage: Callable[[Path], Any], told: str, folder: Path
) -> None:
    damage(folder)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for _ in range(2):
            with pytest.raises(ValueError, match="has no code of own"):
                own_unit().kernels["added"](1, 2)
    (only,) = (str(each.message) for each in warned)
    assert str(folder) in only
    assert re.search(told, only)


def test_after_a_damaged_library_the_cache_has_the_next_word(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library_in(folder).write_bytes(b"")
    monkeypatch.setattr(unit, "places", lambda: ("shipped", "own"))
    monkeypatch.setattr(compiler, "find_spec", lambda name: True)
    monkeypatch.setenv("LUDARIUM_CODE_FOLDER", str(tmp_path / "code"))
    with pytest.warns(RuntimeWarning, match="is not the library that"):
        assert own_unit().kernels["added"](1, 2) == 3
    assert len(cache.kept()) == 1


def test_only_what_has_changed_is_made_again(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    asked: list[int] = []
    compiled = shipping.compiled

    def counted(*given: Any) -> Any:
        asked.append(len(given[-1]))
        return compiled(*given)

    monkeypatch.setattr(shipping, "compiled", counted)
    library_in(tmp_path / this_platform()).write_bytes(b"")
    make([Job("own", {name_of_code(): own_unit()})], PLATFORMS, tmp_path)
    kinds = FAMILIES[this_platform().partition("-")[0]]
    assert asked == [len([each for each in own_unit().kinds if each in kinds])]
    for file in made.rglob("*"):
        if file.is_file():
            assert (tmp_path / file.relative_to(made)).read_bytes() == file.read_bytes()


@pytest.mark.slow
def test_networks_of_another_processor_come_from_a_process_that_has_compiled_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Types that a process has made for this processor stay, and fit no other one."""
    monkeypatch.setattr(compiler, "_idle", [])
    for name in ("current", "STEP", "ROWS", "LANES"):  # `sources` sets them
        monkeypatch.setattr(target, name, getattr(target, name))
    machine = Machine.of_kind("v2", TARGETS["x86_64-linux"].machine.triple)

    def child_of(each: Unit) -> Any:
        digest = Job("job", {"symbol": each}, ("v2",)).sources()["symbol"]
        compiler.compiled(
            *(each.recipe, digest, each.ingredients.files(), each.declared()[:1]),
            *("v2", "symbol", [machine]),
        )
        return compiler._idle[-1]

    first = child_of(own_unit())
    networks = next(iter(network_units().values()))
    assert child_of(networks) is not first
