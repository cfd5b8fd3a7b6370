"""WebAssembly modules: building them, reading their manifests, and telling which are stale."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from ludarium.envs.engine.compile import GivenPart, sources_of
from ludarium.envs.engine.description import describe_game
from ludarium.envs.engine.draw.scene import describe_scene
from ludarium.envs.engine.files import load_json, read_regular_file
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.messages import quoted
from ludarium.envs.registry import make_stored_game
from ludarium.training.search.settings import SearchSettings

from ..objects import exported_kernels, in_own_process, numbers_of
from . import kernels
from .compiler import compile_object, places_of
from .linker import find_zig, link
from .memory import Limits, describe_array, memory_of, named_arrays
from .network import any_network, layout_of, part_of

#: Name of the custom section that holds the manifest.
SECTION = "ludarium"
_FORMAT = 2
_MAGIC = b"\0asm\x01\0\0\0"
_MOST_BYTES = 64 * 2**20
_MAKERS = ("../objects.py", "compiler.py", "linker.py", "memory.py", "module.py", "network.py")


@dataclass(frozen=True)
class Module:
    """A WebAssembly module and its manifest, which it also contains in a custom section."""

    content: bytes
    manifest: dict[str, Any]


def module_name(game: Game) -> str:
    """Name of a module: the game's, then each option other than the default: ``onyx-size=8``."""
    defaults = {option.name: option.default for option in game.option_list}
    changed = [
        f"{name}={_as_word(value)}"
        for name, value in game.options.items()
        if value != defaults[name]
    ]
    return "-".join([game.name, *changed])


def _as_word(value: Any) -> str:
    text = str(value)
    if re.fullmatch(r"[\w.]{1,32}", text):
        return text
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


def build_module(game: Game, limits: Limits | None = None) -> Module:
    """Compile a game's rules and the search over them, in a dedicated process.

    Raises:
        LinkerError: the linker is missing or fails.
    """
    find_zig()  # check before the long compilation
    return in_own_process(_build, game, limits or Limits())


def _build(game: Game, limits: Limits) -> Module:
    about = {
        "max_plies": game.max_plies,
        "random_start": game.random_start,
        "sources": digest_of(game),
        "search": {"limits": asdict(limits), "defaults": SearchSettings()._asdict()},
        "network": layout_of(game),
    }
    loaded = {"network": any_network(game)}
    return assemble(game, kernels, memory_of(game, limits), about, loaded, ask=part_of(game))


def assemble(
    game: Game,
    templates: ModuleType,
    memory: dict[str, Any],
    about: dict[str, Any],
    loaded: dict[str, Any] | None = None,
    **given: GivenPart,
) -> Module:
    """Compile and link a template module; see `compile_object`.

    Args:
        about: additional entries of the manifest.
    """
    loaded = loaded or {}
    compiled = compile_object(game, templates, memory, loaded, **given)
    manifest = _describe(game, templates, memory, loaded) | about
    names = [*manifest["exports"], *manifest["arrays"]]
    content = link(compiled, names) + custom_section(SECTION, _as_json(manifest))
    return Module(content, manifest)


def _describe(
    game: Game, templates: ModuleType, memory: dict[str, Any], loaded: dict[str, Any]
) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        f"{name}_places": describe_array(places_of(value)) for name, value in loaded.items()
    }
    addresses: set[int] = set()
    for name, value in memory.items():
        for full_name, array in named_arrays(name, value).items():
            address = array.__array_interface__["data"][0]
            if address not in addresses:  # leave out further views of an array
                arrays[full_name] = describe_array(array)
            addresses.add(address)
    return {
        "format": _FORMAT,
        "name": module_name(game),
        "description": describe_game(game),
        "made_with": {name: version(name) for name in ("numba", "llvmlite", "ziglang")},
        "exports": {
            name: numbers_of(function, memory | loaded)
            for name, function in exported_kernels(templates).items()
        },
        "arrays": arrays,
    }


def digest_of(game: Game) -> str:
    """Digest of all that a game's module is made of, except its `Limits` and the tools' versions.

    ``NUMBA_DISABLE_JIT=1`` changes it.
    """
    return digest_of_parts(
        *(game, kernels, game.view_tables.tobytes(), _as_json(describe_scene(game))),
        layout_of(game).encode(),
    )


def digest_of_parts(game: Game, templates: ModuleType, *more: bytes) -> str:
    """Digest of what a module is made of: a template module, a game's rules, and ``more``."""
    digest = hashlib.sha256(sources_of(templates, game.rules, game.view).encode())
    for name in _MAKERS:
        digest.update((Path(__file__).parent / name).read_bytes())
    digest.update(_as_json(describe_game(game)))
    digest.update(repr((game.state_dtype, game.tables.dtype)).encode())
    for content in (game.tables.tobytes(), *more):
        digest.update(content)
    return digest.hexdigest()


def require_current(manifest: dict[str, Any]) -> None:
    """Check that a module of `build_module` fits the present sources.

    Raises:
        ValueError: it is stale, or its game is missing; the message says which, and what to do.
    """
    about = manifest["description"]
    game = make_stored_game(about["game"], about["options"])
    if manifest["sources"] != digest_of(game):
        raise ValueError(
            f"the module {quoted(manifest['name'])} is stale: the sources have changed since it "
            "was built; build it anew, with its options: python -m ludarium.play.build "
            f"{game.name}"
        )


def read_module(path: str | os.PathLike[str]) -> Module:
    """Read a module from a file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not a module of this package, or its manifest has another format.
    """
    content = read_regular_file(path, _MOST_BYTES, "a WebAssembly module")
    return parse_module(content, quoted(os.fspath(path), 100))


def parse_module(content: bytes, name: str) -> Module:
    """Read a module from its content; ``name`` stands for it in the message of a ``ValueError``."""
    if not content.startswith(_MAGIC):
        raise ValueError(f"{name} is not a WebAssembly module")
    text = _find_section(content, SECTION)
    if text is None:
        raise ValueError(f"{name} is not a module of ludarium: it has no whole section {SECTION!r}")
    manifest = load_json(text, f"the manifest in {name}")
    if not _is_manifest(manifest):
        raise ValueError(f"{name} has no manifest of format {_FORMAT}; build it anew")
    return Module(content, manifest)


def _is_manifest(found: Any) -> bool:
    """Whether a JSON value has all fields of a manifest that Python uses."""
    if not isinstance(found, dict) or found.get("format") != _FORMAT:
        return False
    kinds = {"name": str, "sources": str, "description": dict}
    if not all(isinstance(found.get(key), kind) for key, kind in kinds.items()):
        return False
    if not isinstance(found.get("search", found.get("solver")), dict):
        return False
    about = found["description"]
    return isinstance(about.get("game"), str) and isinstance(about.get("options"), dict)


def _as_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


# The binary format, https://webassembly.github.io/spec/core/binary/modules.html


def custom_section(name: str, content: bytes) -> bytes:
    """A custom section, which can be appended to a module."""
    title = name.encode()
    body = _unsigned(len(title)) + title + content
    return b"\0" + _unsigned(len(body)) + body


def _unsigned(number: int) -> bytes:
    """A number in LEB128 code."""
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _read_unsigned(content: bytes, place: int) -> tuple[int, int]:
    """A number of at most five bytes in LEB128 code, and the place after it, or ``IndexError``."""
    number = 0
    for shift in range(0, 35, 7):
        byte = content[place]
        place += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, place
    raise IndexError


def _find_section(content: bytes, name: str) -> bytes | None:
    """The content of a custom section, or None if there is none, or the file is truncated."""
    place = len(_MAGIC)
    found = None
    try:
        while place < len(content):
            kind = content[place]
            size, place = _read_unsigned(content, place + 1)
            end = place + size
            if end > len(content):
                return None
            if kind == 0:
                length, start = _read_unsigned(content, place)
                if content[start : start + length] == name.encode():
                    found = content[start + length : end]
            place = end
    except IndexError:
        return None
    return found
