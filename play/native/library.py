"""Links compiled kernels and the C functions around them to static and shared libraries."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ludarium.base.messages import named
from ludarium.base.progress import SILENT, Progress
from ludarium.base.storage import write_whole
from ludarium.envs.engine.draw.scene import describe_scene
from ludarium.machine.compiler import in_own_process
from ludarium.models.kernels import ranges_of
from ludarium.models.kernels.packing import PackedNetwork, pack
from ludarium.models.kernels.target import TARGETS as OF_KINDS
from ludarium.models.kernels.target import Target
from ludarium.training.networks import calibration_inputs_of

from ..wasm.linker import find_zig, run_zig
from . import texts
from .buffer import PLAIN
from .targets import TARGETS, Platform
from .texts import Library


def write_library(
    library: Library, targets: Sequence[str], folder: Path, progress: Progress = SILENT
) -> list[Path]:
    """Write a folder with libraries for some of `TARGETS` and all that goes with them.

    Args:
        library: what the libraries hold.
        targets: names of `TARGETS`, each with a folder of its own in ``folder``.
        folder: a new or an empty folder, or one of an earlier export of this game.
        progress: says a line for each step.

    Returns:
        The paths of the libraries.

    Raises:
        ValueError: the folder exists, and is neither empty nor for a library of this game; or it
            has libraries for other targets; or there is no machine code (``LUDARIUM_CODE=plain``).
        LinkerError: the linker is missing or fails.
        ImportError: numba is not installed.
        OSError: a file cannot be written.
    """
    header_file = folder / f"{library.prefix}.h"
    if folder.is_dir() and any(folder.iterdir()) and not header_file.is_file():
        raise ValueError(f"{named(folder)} holds other files: name a new folder")
    others = [name for name in TARGETS if name not in targets and (folder / name).exists()]
    if others:
        raise ValueError(
            f"{named(folder)} holds libraries for {', '.join(others)} of an earlier export, "
            "which may not fit a new header: name all targets in one call, or a new folder"
        )
    find_zig()  # check before the long compilation
    chosen = {name: TARGETS[name] for name in targets}
    progress.say(f"compiling {library.game} and its network")
    ranges = ranges_of(library.network, calibration_inputs_of(library.game))
    plain = pack(library.network, ranges, PLAIN)
    networks = {
        blocks: pack(library.network, ranges, blocks)
        for blocks in dict.fromkeys(
            OF_KINDS[kind] for target in chosen.values() for kind in target.machines
        )
    }
    layout = texts.buffer_layout(library, networks.values())
    header = texts.header(library, layout)
    build = texts.build_number(library, networks.values())
    objects = _objects(library, chosen, plain, networks)
    for name, text in {
        header_file.name: header,
        "example.c": texts.template(library, "example.c"),
        "README.md": texts.readme(library, chosen),
        "LICENCES.md": texts.licences(library),
        "scene.json": json.dumps(describe_scene(library.game), ensure_ascii=False) + "\n",
    }.items():
        write_whole(folder / name, text.encode())
    written = []
    for name, target in chosen.items():
        progress.say(f"linking for {name}")
        sources = {
            header_file.name: header,
            "made.h": texts.made(library, target, layout, plain, build),
            "glue.c": texts.template(library, "glue.c"),
        }
        for file, content in _linked(library, target, objects[name], sources).items():
            write_whole(folder / name / file, content)
            written.append(folder / name / file)
    return written


def _objects(
    library: Library,
    targets: dict[str, Platform],
    plain: PackedNetwork,
    networks: dict[Target, PackedNetwork],
) -> dict[str, dict[str, bytes]]:
    """Object files by target and name; one process compiles for all targets that share code."""
    found: dict[str, dict[str, bytes]] = {name: {} for name in targets}
    machines = [target.machine for target in targets.values()]
    game, limits = library.game, library.limits
    compiled = in_own_process(_compiled, "compile_game", game, limits, library.prefix, machines)
    for name, content in zip(targets, compiled, strict=True):
        found[name]["game.o"] = content
    written = in_own_process(_compiled, "write_network", library.prefix, plain, machines)
    for name, content in zip(targets, written, strict=True):
        found[name]["network.o"] = content
    for blocks, packed in networks.items():
        wanted = [
            (name, kind, machine)
            for name, target in targets.items()
            for kind, machine in target.machines.items()
            if OF_KINDS[kind] == blocks
        ]
        # Function names contain the kind, so kinds with the same blocks are compiled separately.
        for kind in dict.fromkeys(kind for _, kind, _ in wanted):
            those = [(name, machine) for name, each, machine in wanted if each == kind]
            compiled = in_own_process(
                *(_compiled, "compile_network", game, limits, library.prefix),
                *(kind, blocks, packed, plain),
                [machine for _, machine in those],
            )
            for (name, _), content in zip(those, compiled, strict=True):
                found[name][f"{kind}.o"] = content
    return found


def _compiled(name: str, *arguments: Any) -> list[bytes]:
    """Call a function of ``compiler``, which brings the compiler into the process."""
    from . import compiler

    objects: list[bytes] = getattr(compiler, name)(*arguments)
    return objects


def _linked(
    library: Library, target: Platform, objects: dict[str, bytes], sources: dict[str, str]
) -> dict[str, bytes]:
    """Contents of a target's static library, and of its shared one if it has one, by file name."""
    zig = find_zig()
    with tempfile.TemporaryDirectory() as folder:
        for name, content in objects.items():
            Path(folder, name).write_bytes(content)
        for name, text in sources.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        exported = f"{{ global: {library.prefix}_*; local: *; }};"
        Path(folder, "exported.map").write_text(exported, encoding="utf-8")
        flags = [
            *("-std=c11", "-ffreestanding", "-fvisibility=hidden", "-DLUDARIUM_BUILD"),
            *("-I.", f"-I{zig / 'lib/include'}"),
        ]
        found = {}
        for pattern, kind in ((target.static, "-static"), (target.shared, "-dynamic")):
            if pattern is None:
                continue
            file = pattern.format(name=library.prefix)
            run_zig(
                zig,
                [
                    *("build-lib", kind, "-target", target.zig, "-mcpu", "baseline", "-fPIC"),
                    *("-O", "ReleaseFast", "-fstrip", "-fno-stack-check", "-fno-stack-protector"),
                    *("--gc-sections", "--name", library.prefix, f"-femit-bin={file}"),
                    *(["--version-script", "exported.map"] if "linux" in target.zig else []),
                    # A DLL's entry point is in the system's C library, which every Windows has.
                    *(["-lc"] if "windows" in target.zig and kind == "-dynamic" else []),
                    *("-cflags", *flags, "--", "glue.c"),
                    *objects,
                ],
                folder,
            )
            found[file] = Path(folder, file).read_bytes()
        return found
