"""WebAssembly modules: building them, and digests of what they are made of."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from ludarium.base.files import sha256_of
from ludarium.configs.schema import accepted
from ludarium.envs.engine.check import compile_error
from ludarium.envs.engine.compile import sources_of
from ludarium.envs.engine.description import describe_game
from ludarium.envs.engine.draw.scene import describe_scene
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position_text import no_format
from ludarium.machine.compiler import in_own_process
from ludarium.machine.copies import template_functions
from ludarium.training.search.settings import NEVER, OPTIONS

from . import kernels
from .linker import find_zig, link
from .memory import (
    Limits,
    address_of,
    describe_array,
    memory_of,
    named_arrays,
    numbers_of,
    places_of,
)
from .network import any_network, layout_of, part_of

#: Name of the custom section that holds the manifest.
SECTION = "ludarium"
_FORMAT = 4
_MAKERS = ("compiler.py", "linker.py", "memory.py", "module.py", "network.py")


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
    return sha256_of(json.dumps(value, sort_keys=True).encode())[:12]


def build_module(game: Game, limits: Limits | None = None) -> bytes:
    """Compile a game's rules and the search over them, in a dedicated process.

    Args:
        game: the rules.
        limits: limits of the search; default: those of `Limits`.

    Returns:
        The content of a WebAssembly file, with its manifest.

    Raises:
        LinkerError: the linker is missing or fails.
        ValueError: the rules cannot be compiled; the message says why.
        ImportError: numba is not installed.
    """
    find_zig()  # check before the long compilation
    return in_own_process(_build, game, limits or Limits())


def _build(game: Game, limits: Limits) -> bytes:
    about = {
        "max_plies": game.max_plies,
        "random_start": game.random_start,
        "sources": digest_of(game),
        "search": {"limits": asdict(limits), "options": _describe_options()},
        "network": layout_of(game),
    }
    loaded = {"network": any_network(game)}
    return assemble(game, kernels, memory_of(game, limits), about, loaded, ask=part_of(game))


def _describe_options() -> dict[str, dict[str, Any]]:
    """The options of a search as JSON values, by name.

    Returns:
        - ``default``; what is ``accepted``, in words; ``none``, the number in memory for null;
        - ``choices``, the values of a flag or a choice, by the number of each in memory;
        - the range of a number, by ``ge``, ``gt``, ``le`` and ``lt``, null where there is no such
          limit, and whether it is ``whole``.
    """
    return {
        option.name: {
            "default": option.default,
            "accepted": accepted(option.kind).lower(),
            "none": NEVER,
            "choices": option.choices,
            "whole": option.value_type is not float,
            **{key: getattr(option.meta, key) for key in ("ge", "gt", "le", "lt")},
        }
        for option in OPTIONS
    }


def assemble(
    game: Game,
    templates: ModuleType,
    memory: dict[str, Any],
    about: dict[str, Any],
    loaded: dict[str, Any] | None = None,
    **given: Callable,
) -> bytes:
    """Compile and link a template module; see `compile_object`.

    Args:
        about: additional entries of the manifest.

    Raises:
        LinkerError: the linker fails.
        ValueError: the rules cannot be compiled; the message says why.
    """
    from .compiler import compile_object  # it brings the compiler

    loaded = loaded or {}
    try:
        compiled = compile_object(game, templates, memory, loaded, **given)
    except (ImportError, OSError, MemoryError):
        raise
    except Exception as error:  # numba has errors of Python's for what it does not know
        raise compile_error(game, error) from None
    manifest = _describe(game, templates, memory, loaded) | about
    names = [*manifest["exports"], *manifest["arrays"]]
    return link(compiled, names) + custom_section(SECTION, _as_json(manifest))


def _describe(
    game: Game, templates: ModuleType, memory: dict[str, Any], loaded: dict[str, Any]
) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        f"{name}_places": describe_array(places_of(value)) for name, value in loaded.items()
    }
    addresses: set[int] = set()
    for name, value in memory.items():
        for full_name, array in named_arrays(name, value).items():
            if address_of(array) not in addresses:  # leave out further views of an array
                arrays[full_name] = describe_array(array)
            addresses.add(address_of(array))
    return {
        "format": _FORMAT,
        "name": module_name(game),
        "description": describe_game(game),
        "made_with": {name: version(name) for name in ("numba", "llvmlite", "ziglang")},
        "exports": {
            name: numbers_of(function, memory | loaded)
            for name, function in template_functions(templates, "kernel").items()
        },
        "arrays": arrays,
    }


def digest_of(game: Game) -> str:
    """Digest of all that a game's module is made of, except `Limits` and the tools' versions."""
    return digest_of_parts(
        *(game, kernels, game.view_tables.tobytes(), _as_json(describe_scene(game))),
        *(layout_of(game).encode(), _as_json(_describe_options())),
        (game.position_format or no_format()).tables.tobytes(),
        _as_json((game.max_plies, game.random_start)),
    )


def digest_of_parts(game: Game, templates: ModuleType, *more: bytes) -> str:
    """Digest of what a module is made of: a template module, a game's rules, and ``more``."""
    digest = hashlib.sha256(sources_of(templates, game).encode())
    for name in _MAKERS:
        digest.update((Path(__file__).parent / name).read_bytes())
    digest.update(_as_json(describe_game(game)))
    digest.update(repr((game.state_dtype, game.tables.dtype)).encode())
    for content in (game.tables.tobytes(), *more):
        digest.update(content)
    return digest.hexdigest()


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
