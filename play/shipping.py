"""Makes the machine code that the package ships, for `ludarium.machine.libraries`.

    python -m ludarium.play.shipping                       # for this machine's platform
    python -m ludarium.play.shipping --platform all
    python -m ludarium.play.shipping corso 'onyx?size=6'   # of some games alone

compiles every game with the options that the page offers, and networks, to one library for each set
of options and kind of processor, in machine/shipped/PLATFORM. Options whose code is the same share
it. Libraries whose sources have not changed stay; those of games that are not named are removed.
The linker is the package ziglang: pip install 'ludarium[wasm]'. A set of options takes a minute of
one core; all free ones are used.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ludarium.arena.units import units_of
from ludarium.base.console import output, say
from ludarium.base.files import sha256_of
from ludarium.base.storage import write_whole
from ludarium.base.threads import available_cores
from ludarium.envs import GAMES, Game
from ludarium.machine import libraries
from ludarium.machine.compiler import CompileError, compiled
from ludarium.machine.machines import FAMILIES, OF_NETWORKS, Machine
from ludarium.machine.unit import Unit
from ludarium.models.kernels import network_units

from .build import read_game
from .native.targets import TARGETS, this_machine
from .variants import usual_variants
from .wasm import module_name
from .wasm.linker import find_zig, run_zig

#: The platforms that have wheels, by the names of `TARGETS`.
PLATFORMS = ("x86_64-linux", "aarch64-linux", "arm64-macos", "x86_64-macos", "x86_64-windows")

_FOLDER = Path(libraries.__file__).parent / "shipped"


@dataclass
class Job:
    """Units that one library of each kind of processor holds.

    Attributes:
        name: the beginning of the libraries' names.
        units: the units, by the names of their code.
        kinds: the kinds of processors; empty: those of the units. Networks, whose code is written
            for one kind, have a job for each.
    """

    name: str
    units: dict[str, Unit] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()

    def kinds_of(self, unit: Unit, platform: str) -> list[str]:
        """The kinds of a platform's processors for which a unit is compiled."""
        family = FAMILIES[platform.partition("-")[0]]
        return [each for each in self.kinds or unit.kinds if each in family]

    def sources(self) -> dict[str, str]:
        """The digest of each unit's sources, by the name of its code."""
        with _is_preparing:
            for unit in self.units.values():
                unit.recipe.prepare_for(self.kinds[0] if self.kinds else "")
            return {name: unit.recipe.ingredients().digest() for name, unit in self.units.items()}


_is_preparing = threading.Lock()


def plan(games: Iterable[Game]) -> list[Job]:
    """What is to be made for some games and for networks: each code once."""
    jobs, seen = [], set()
    for game in games:
        named = {libraries.name_of(unit.name, unit.declared()): unit for unit in units_of(game)}
        new = {name: unit for name, unit in named.items() if name not in seen}
        seen |= set(new)
        if new:
            jobs.append(Job(module_name(game), new))
    networks = {
        libraries.name_of(unit.name, unit.declared()): unit for unit in network_units().values()
    }
    return [*jobs, *(Job("networks", networks, (kind,)) for kind in OF_NETWORKS)]


def make(jobs: Sequence[Job], platforms: Sequence[str], folder: Path) -> None:
    """Make libraries for some of `PLATFORMS`, in ``folder/PLATFORM``; other files there, such as
    libraries of earlier jobs, are removed.

    Raises:
        CompileError, NoCompilerError: numba refuses a function, or is not there.
        LinkerError: the linker is missing or fails.
        OSError: a file cannot be written.
    """
    find_zig()  # check before the long compilation
    known = {platform: _known(folder / platform) for platform in platforms}
    indexes: dict[str, dict[str, Any]] = {
        platform: {"version": version("ludarium"), "libraries": {}, "code": {}}
        for platform in platforms
    }

    def do(job: Job) -> None:
        began, sources = time.monotonic(), job.sources()
        kept = {each: _kept(job, each, sources, known[each], folder / each) for each in platforms}
        new = [each for each in platforms if not kept[each]]
        made, parts = _compiled(job, new, sources)
        for platform, contents in made.items():
            for library, objects in contents.items():
                content = _linked(platform, library, objects)
                write_whole(folder / platform / library, content)
                parts[platform]["libraries"][library] = sha256_of(content)
        for platform, part in (kept | parts).items():
            for name, entries in part.items():
                indexes[platform][name].update(entries)
        if new:
            kinds = "-".join(["", *job.kinds])
            say(f"ludarium: {job.name}{kinds}: {time.monotonic() - began:.0f} s")

    try:
        with ThreadPoolExecutor(available_cores()) as pool:
            list(pool.map(do, jobs))
    finally:  # what was made before an error is kept
        for platform, index in indexes.items():
            text = json.dumps(index, indent=0, sort_keys=True)
            write_whole(folder / platform / libraries.INDEX, text.encode())
    for platform, index in indexes.items():
        for file in (folder / platform).iterdir():
            if file.name not in (libraries.INDEX, *index["libraries"]):
                file.unlink()


def _library(job: Job, kind: str, platform: str) -> str:
    return f"{job.name}-{kind}{Path(TARGETS[platform].shared or '').suffix}"


def _known(folder: Path) -> dict[str, Any]:
    """The index of libraries that were made earlier; empty if there is none of this version."""
    try:
        index: dict[str, Any] = json.loads((folder / libraries.INDEX).read_bytes())
    except (OSError, ValueError):
        return {}
    return index if index.get("version") == version("ludarium") else {}


def _kept(
    job: Job, platform: str, sources: dict[str, str], known: dict[str, Any], folder: Path
) -> dict[str, Any]:
    """The part of an index for a job whose libraries need not be made again; else empty."""
    part: dict[str, Any] = {"libraries": {}, "code": {}}
    for name, unit in job.units.items():
        for kind in job.kinds_of(unit, platform):
            entry = known.get("code", {}).get(f"{name}-{kind}", {})
            file = folder / _library(job, kind, platform)
            digest = known.get("libraries", {}).get(file.name)
            if entry.get("sources") != sources[name] or not file.is_file():
                return {}
            if sha256_of(file.read_bytes()) != digest:
                return {}
            part["code"][f"{name}-{kind}"] = entry
            part["libraries"][file.name] = digest
    return part


def _compiled(
    job: Job, platforms: Sequence[str], sources: dict[str, str]
) -> tuple[dict[str, dict[str, list[bytes]]], dict[str, dict[str, Any]]]:
    """Object files of a job by platform and library, and the parts of the platforms' indexes."""
    found: dict[str, dict[str, list[bytes]]] = {platform: {} for platform in platforms}
    parts: dict[str, dict[str, Any]] = {each: {"libraries": {}, "code": {}} for each in platforms}
    for name, unit in job.units.items():
        targets = [(each, kind) for each in platforms for kind in job.kinds_of(unit, each)]
        if not targets:
            continue
        forms, contents = compiled(
            *(unit.recipe, sources[name], unit.ingredients.files(), unit.declared()),
            *(targets[0][1], name),
            [Machine.of_kind(kind, TARGETS[each].machine.triple) for each, kind in targets],
        )
        for (platform, kind), content in zip(targets, contents, strict=True):
            library = _library(job, kind, platform)
            found[platform].setdefault(library, []).append(content)
            parts[platform]["code"][f"{name}-{kind}"] = {
                "unit": unit.name,
                "sources": sources[name],
                "library": library,
                "returned": [form.returned for form in forms],
            }
    return found, parts


def _linked(platform: str, library: str, objects: Sequence[bytes]) -> bytes:
    """A shared library of object files."""
    zig, target = find_zig(), TARGETS[platform].zig
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{number}.o" for number in range(len(objects))]
        for name, content in zip(names, objects, strict=True):
            Path(folder, name).write_bytes(content)
        if "linux" in target:
            # It names no C library: whichever the process has serves.
            flags = ["ld.lld", "-shared", "-s", "--gc-sections", "-z", "noexecstack"]
            flags += ["-soname", library, "-o", library]
        else:
            flags = ["build-lib", "-dynamic", "-target", target, "-O", "ReleaseFast", "-fstrip"]
            flags += ["--gc-sections", "--name", Path(library).stem, f"-femit-bin={library}"]
            flags += ["-lc"]  # a DLL's entry point is there
        run_zig(zig, [*flags, *names], folder)
        return Path(folder, library).read_bytes()


def main(arguments: Sequence[str] | None = None) -> int:
    """Make libraries; return the exit status, 2 if one cannot be made."""
    given = _parser().parse_args(arguments)
    try:
        games = [read_game(text) for text in given.games] or [
            variant.game for name in GAMES for variant in usual_variants(name)
        ]
        asked = given.platform or [this_machine()]
        platforms = PLATFORMS if "all" in asked else tuple(dict.fromkeys(asked))
        make(plan(games), platforms, given.output)
    except (ValueError, OSError, CompileError) as error:
        say(f"ludarium: {error}")
        return 2
    for platform in platforms:
        files = [file.stat().st_size for file in (given.output / platform).iterdir()]
        output(f"{given.output / platform}: {len(files)} files, {sum(files) / 1e6:.2f} MB")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ludarium.play.shipping",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    where = "the folder of the platforms' folders: %(default)s"
    parser.add_argument("games", nargs="*", metavar="GAME[?OPTION=VALUE&...]", help="default: all")
    parser.add_argument("--output", type=Path, default=_FOLDER, metavar="FOLDER", help=where)
    parser.add_argument(
        "--platform",
        action="append",
        choices=[*PLATFORMS, "all"],
        help="a platform (may be repeated); default: this machine's",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
