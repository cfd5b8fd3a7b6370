"""The texts about a library: for C compilers, and for people."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, replace
from importlib.resources import files
from textwrap import fill
from typing import Any

import numpy as np

from ludarium.arena.ladder import Ladder
from ludarium.base.files import sha256_of
from ludarium.configs.schema import SearchOption, accepted
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import DRAW, PLAYER_0_WINS, PLAYER_1_WINS, TRUNCATED
from ludarium.models.kernels.packing import WRITTEN, PackedNetwork
from ludarium.models.kernels.target import PER, TARGETS
from ludarium.models.layers import Layers
from ludarium.training.search.settings import DEFAULTS, NEVER, OPTIONS, SETTINGS, settings_record

from ..wasm.memory import Limits, memory_of
from ..wasm.module import digest_of, module_name
from .buffer import PACKED, Layout, game_layout, kept_bytes, network_layout, position_bytes
from .targets import Platform

#: Limits of a library's buffer: a few megabytes, and no shipped level needs more.
LIMITS = Limits(simulations=400, max_considered=16, cache=1.0)

OUTCOMES = {
    "PLAYER_0_WINS": PLAYER_0_WINS,
    "PLAYER_1_WINS": PLAYER_1_WINS,
    "DRAW": DRAW,
    "TRUNCATED": TRUNCATED,
}
#: Errors by name, numbered from -1 down, with their meaning.
ERRORS = {
    "NULL": "an argument is a null pointer",
    "ALIGNMENT": "the buffer's address is not a multiple of 16: align it by 16, better by 64",
    "SIZE": "the buffer is too short: ludarium_game_size() tells how long it must be",
    "NOT_READY": "the buffer was not made ready by this library: call ludarium_game_init first",
    "PROCESSOR": "the processor is too old, or has no code of that number",
    "SEED": "a seed is 0 or more",
    "START": "there is nothing to take back, or the places are not a start of this game",
    "ILLEGAL": "the action is not legal here: ludarium_game_legal tells which are",
    "OVER": "the game is over",
    "ROOM": "the array is too short",
    "TEXT": "no legal action has this text",
    "SAVE": "the saved game is damaged, or of another version of the format",
    "OTHER_GAME": "the saved game is of another game, or of other options",
    "LEVEL": "there is no such level: ludarium_game_levels() tells how many there are",
    "SETTING": "the number is out of range, or larger than the buffer allows",
    "NO_SEARCH": "no search has begun in this position: call ludarium_game_begin first",
    "NETWORK": "the network's answer has numbers that are not finite",
    "POSITION": "the text is no position of this game: ludarium_game_refusal() tells why",
}


@dataclass(frozen=True)
class Library:
    """The parts of an exported library.

    Attributes:
        game: the rules.
        network: its agent's network.
        ladder: the agent's levels; None if there are none.
    """

    game: Game
    network: Layers
    ladder: Ladder | None

    @property
    def limits(self) -> Limits:
        """Limits of the search: `LIMITS`, with room for the strongest level."""
        asked = self.ladder.simulations if self.ladder else 0
        return replace(LIMITS, simulations=max(LIMITS.simulations, asked))

    @property
    def prefix(self) -> str:
        """The beginning of the functions' names, ``ludarium_corso``."""
        return "ludarium_" + re.sub(r"\W", "_", module_name(self.game))

    def named(self, text: str) -> str:
        """A template with this game's names."""
        return text.replace("ludarium_game", self.prefix).replace(
            "LUDARIUM_GAME", self.prefix.upper()
        )


def template(library: Library, name: str) -> str:
    """A file of ``templates`` for this game."""
    text = files(__package__).joinpath("templates", name).read_text(encoding="utf-8")
    return library.named(text)


def buffer_layout(library: Library, networks: Iterable[PackedNetwork]) -> Layout:
    """The layout of the buffer: a game, and behind it room for any one of the networks."""
    of_game = game_layout(library.game, library.limits)
    layouts = [network_layout(packed, of_game.end) for packed in networks]
    largest = max(layouts, key=lambda layout: layout.end)
    # Weights come first, and have the same size in all networks.
    weights = {name: largest.offsets[f"network_{name}"] for name in PACKED}
    return Layout({**of_game.offsets, **weights}, largest.end)


def header(library: Library, layout: Layout) -> str:
    """The header; ``layout`` comes from `buffer_layout`."""
    game, levels = library.game, library.ladder.levels if library.ladder else ()
    words = (
        {number: word for word, number in library.ladder.words.items()} if library.ladder else {}
    )
    rows = [
        f" *   level {number:2}  {round(level.rating.value):5} Elo above random play, "
        f"{level.params.simulations:4} simulations  {words.get(number, '')}".rstrip()
        for number, level in enumerate(levels, 1)
    ]
    told = {
        "TITLE": f"{game.title} ({', '.join(f'{k}={v}' for k, v in game.options.items())})",
        "LEVELS_TABLE": "\n".join(rows or [" * There are no levels."]),
        "BUFFER_BYTES": layout.end,
        "ACTION_COUNT": game.num_actions,
        "SLOT_COUNT": len(game.drawn_scene.slots),
        "SIMULATION_COUNT": library.limits.simulations,
        "CONSIDERED_COUNT": library.limits.max_considered,
        "POSITION_ROOM": 1 + position_bytes(game),
        "TEXT_BYTES": 1 + max(len(word.encode()) for word in game.words),
        "OUTCOMES": "\n".join(f"    LUDARIUM_{k} = {v}," for k, v in OUTCOMES.items()),
        "ERRORS": "\n".join(
            f"    LUDARIUM_{name} = -{number}, /* {library.named(text)} */"
            for number, (name, text) in enumerate(ERRORS.items(), 1)
        ),
    }
    usual = settings_record(DEFAULTS, game)[0]
    told["SEARCH_OPTIONS"] = "\n".join(
        fill(
            f"    {library.prefix.upper()}_OPTION_{each.name.upper()} = {number}, /* {each.help}; "
            f"{accepted(each.kind).lower()}; default {usual[each.name]} */",
            width=100,
            subsequent_indent=" " * 7,
        )
        for number, each in enumerate(OPTIONS)
    )
    text = template(library, "ludarium_game.h")
    return re.sub("|".join(rf"\b{name}\b" for name in told), lambda m: str(told[m[0]]), text)


def licences(library: Library) -> str:
    """The licences of all parts of a library, and the game's inventor."""
    game = library.game
    text = template(library, "LICENCES.md").replace("CREDIT", f"{game.title}: {game.credit}")
    own = f"{game.name}.md"  # the inventor's reservation, if any
    is_reserved = files(__package__).joinpath("templates", own).is_file()
    return text + (template(library, own) if is_reserved else "")


def readme(library: Library, targets: Mapping[str, Platform]) -> str:
    """The README of the library."""
    rows = [
        f"| `{name}` | "
        + " | ".join(
            f"`{file.format(name=library.prefix)}`" if file else "none: link the static one"
            for file in (target.static, target.shared)
        )
        + " |"
        for name, target in targets.items()
    ]
    name = next(iter(targets))
    return (
        template(library, "README.md")
        .replace("TARGET_ROWS", "\n".join(rows))
        .replace("TARGET", name)
        .replace("TITLE", library.game.title)
    )


def build_number(library: Library, networks: Iterable[PackedNetwork]) -> str:
    """A number of 60 bits, hexadecimal; a library refuses buffers of one with another number."""
    sources = digest_of(library.game), template(library, "glue.c")
    layout = game_layout(library.game, library.limits)
    told = hashlib.sha256(repr((sources, layout, library.limits, library.ladder)).encode())
    for packed in networks:
        for name, array in packed._asdict().items():
            told.update(repr((name, array.shape)).encode())
            told.update(b"" if name in WRITTEN else array.tobytes())
    return f"0x{told.hexdigest()[:15]}"


def made(
    library: Library, target: Platform, layout: Layout, plain: PackedNetwork, build: str
) -> str:
    """The content of ``made.h``, the numbers for `glue.c`.

    ``layout`` comes from `buffer_layout`, ``build`` from `build_number`; ``plain`` is the network
    in the order of `PLAIN`.
    """
    game, limits = library.game, library.limits
    roots = memory_of(game, limits)["search"].tree.roots.dtype.fields
    at = layout.offsets
    diagram = game.drawn_scene.diagram
    rules = repr((game.name, game.version, sorted(game.options.items()), game.num_actions))
    names = (
        *("game_rngs", "game_mask", "game_states", "game_before", "game_shown"),
        *("search_settings", "search_params"),
        *("search_action_values", "search_visits", *PACKED),
    )
    places = {name: at[name] for name in names}
    said = memory_of(game, limits)["game"].said.dtype.fields
    assert said is not None
    for name in ("text", "length", "message", "told"):
        places[f"said_{name}"] = at["game_said"] + said[name][1]
    places |= {name: at["search_tree_roots"] + roots[name][1] for name in ("noise", "waiting")}
    defined: dict[str, Any] = {
        "BUFFER_BYTES": layout.end,
        "KEPT_BYTES": kept_bytes(game),
        "RULES": f"0x{sha256_of(rules.encode())[:15]}",
        "BUILD": build,
        "ACTIONS": game.num_actions,
        "STATE_BYTES": game.new_states(1).nbytes,
        "SLOTS": len(game.drawn_scene.slots),
        "MOST_PLIES": game.max_plies,
        "POSITION_BYTES": position_bytes(game),
        "MOST_SIMULATIONS": limits.simulations,
        "DIAGRAM_PLACES": len(diagram.places) if diagram else 0,
        "DIAGRAM_LETTERS": _quoted(diagram.letters if diagram else "  "),
        **{f"AT_{name}": place for name, place in places.items()},
        "NETWORKS": " ".join(f"NETWORK({name})" for name in target.machines),
        "ERROR_TEXTS": ", ".join(map(_quoted, ("no error", *map(library.named, ERRORS.values())))),
    }
    levels = library.ladder.levels if library.ladder else ()
    rows = [
        f"{{{round(level.rating.value)}, {{{', '.join(map(repr, astuple(level.params)))}}}}}"
        for level in levels
    ]
    assert SETTINGS.fields is not None
    options = [
        f"{{{SETTINGS.fields[each.name][1]}, {int(each.value_type is not float)}, {least:.17g}, "
        f"{most:.17g}}}"
        for each in OPTIONS
        for least, most in [_range(library, each)]
    ]
    settings = ", ".join(map(str, settings_record(DEFAULTS, game).tobytes()))
    layers = {
        "trunk": _layers(plain.trunk, 9 if len(game.observation_shape) == 3 else 1),
        "heads": _layers(plain.heads, 1),
    }
    blocks = [TARGETS[kind] for kind in target.machines]
    orders = [f"{{{each.step}, {each.narrow}, {PER[str(each.eight_bit)]}}}" for each in blocks]
    return "\n".join(
        [
            *(f"#define {name} {value}" for name, value in defined.items()),
            *(f"static const struct layer {name}[] = {{{rows}}};" for name, rows in layers.items()),
            f"static const struct order orders[] = {{{', '.join(orders)}}};",
            f"#define LEVELS {len(levels)}",
            f"#define OPTIONS {len(options)}",
            f"static const struct option known_options[] = {{{', '.join(options)}}};",
            f"static const uint8_t settings[] = {{{settings}}};",
            "static const struct { int32_t elo; double params[5]; } levels[] = "
            f"{{{', '.join(rows) or '{0}'}}};",
            f"static const char *const words[] = {{{', '.join(map(_quoted, game.words))}}};",
            "",
        ]
    )


def _range(library: Library, option: SearchOption) -> tuple[float, float]:
    """The least and the largest number that a library takes for an option; none is `NEVER`."""
    if option.choices:
        return 0, len(option.choices) - 1
    meta, limits = option.meta, library.limits
    at_most = {
        "simulations": limits.simulations,
        "max_considered": limits.max_considered,
        "noise": 1,
        "temperature_plies": NEVER,
    }
    if not library.game.max_score:
        at_most["score"] = 0
    least: Any = meta.ge if meta.gt is None else np.nextafter(meta.gt, np.inf)
    most: Any = meta.le if meta.lt is None else np.nextafter(meta.lt, -np.inf)
    return least, at_most.get(option.name, most)


def _layers(layers: np.ndarray, taps: int) -> str:
    """Inputs, at all taps, and outputs of layers, as an initialiser in C."""
    return ", ".join(f"{{{taps * layer.inputs}, {layer.outputs}}}" for layer in layers)


def _quoted(text: str) -> str:
    """A text as a C literal."""
    return json.dumps(text, ensure_ascii=False)
