"""The arrays that a module works on, at fixed places in its memory."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ludarium.configs.schema import SearchSettings
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position_text import no_format
from ludarium.envs.engine.views import NUM_FACTS
from ludarium.models import Evaluation
from ludarium.training.search import level
from ludarium.training.search.cache import Cache, new_cache
from ludarium.training.search.settings import settings_record
from ludarium.training.search.tree import Tree, new_tree

#: The place of every array is a multiple of this many bytes.
LINE = 64
LONGEST_VARIATION = 64
_OUTCOMES = 5


@dataclass(frozen=True)
class Limits:
    """Limits of a search's memory, which is fixed when a module or library is built.

    Attributes:
        simulations: most simulations of a search.
        max_considered: most root actions that sequential halving starts with, 16 to 1,000: levels
            start with 16.
        cache: megabytes for the network's answers.

    Raises:
        ValueError: a limit is out of range.
    """

    simulations: int = 1600
    max_considered: int = 64
    cache: float = 4.0

    def __post_init__(self) -> None:
        _ = self.largest
        for name, value, least, most in (
            ("max_considered", self.max_considered, level.SETTINGS.max_considered, 1000),
            ("cache", self.cache, 0, 1024),
        ):
            if not least <= value <= most:
                raise ValueError(f"{name} is {value}; accepted: {least} to {most:,}")

    @property
    def largest(self) -> SearchSettings:
        """Settings of the largest search."""
        return SearchSettings(simulations=self.simulations, max_considered=self.max_considered)


class GameMemory(NamedTuple):
    """The memory of one game in play, with A actions.

    Attributes:
        tables: the constants of the rules, structured [1].
        states: the position, structured [1].
        rngs: int64 [1, 2], random numbers for the start, random actions and random games.
        mask: int8 [A], legal actions of the mover.
        planes: float32 [planes, cells], an observation.
        view_tables: the constants of the view, structured [1].
        before: the position before the last action, structured [1], to mark changes.
        seen: float32 [planes, cells], the observation from which a picture is made.
        shown: int32 [slots], what each slot of the scene shows, by number.
        facts: int32 [5], see `ludarium.envs.engine.views`.
        counts: int64 [5], outcomes of random games.
        scratch: structured [2], working space of `game_threats`, `game_ownership` and
            `game_read_text`.
        threat_actions, threat_cells: int32 [2, A] and [2, cells], see `ludarium.envs.engine.views`.
        text_tables, said: structured [1], see `ludarium.envs.engine.position_text`: how texts of
            positions are written, and room for one.
        owner_sums, owner_rngs: int32 [cells] and int64 [1, 2], sums and random numbers of
            `game_ownership`.
    """

    tables: np.ndarray
    states: np.ndarray
    rngs: np.ndarray
    mask: np.ndarray
    planes: np.ndarray
    view_tables: np.ndarray
    before: np.ndarray
    seen: np.ndarray
    shown: np.ndarray
    facts: np.ndarray
    counts: np.ndarray
    scratch: np.ndarray
    threat_actions: np.ndarray
    threat_cells: np.ndarray
    text_tables: np.ndarray
    said: np.ndarray
    owner_sums: np.ndarray
    owner_rngs: np.ndarray


class SearchMemory(NamedTuple):
    """The memory of one search; first axes that count a batch elsewhere have one entry here.

    Attributes:
        settings: structured [1] of `ludarium.training.search.settings.SETTINGS`.
        level_settings: the same for a level, except for settings that its parameters decide.
        params: structured [1] of `ludarium.training.search.level.LEVEL_PARAMS`.
        rngs: int64 [1, 2], random numbers for the noise, PUCT's draws and a level's choice.
        planes: float32 [1, planes, cells], the network's input.
        tree: the search tree.
        cache: answers of the network; its ``words`` are the planes.
        evaluation: the network's answer.
        best_action, root_value, visits, action_values, priors: int64 [1], float32 [1], int32
            [1, A], float32 [1, A] and float32 [A], results; the policy is in ``tree.roots``.
        noise, pruned: float32 and int8 [A], of the root and its edges while results are read.
        line: int32 [64], the actions of the principal variation.
    """

    settings: np.ndarray
    level_settings: np.ndarray
    params: np.ndarray
    rngs: np.ndarray
    planes: np.ndarray
    tree: Tree
    cache: Cache
    evaluation: Evaluation
    best_action: np.ndarray
    root_value: np.ndarray
    visits: np.ndarray
    action_values: np.ndarray
    priors: np.ndarray
    noise: np.ndarray
    pruned: np.ndarray
    line: np.ndarray


def memory_of(game: Game, limits: Limits) -> dict[str, Any]:
    """The memory of a game and of one search."""
    return {
        "game": game_memory(game),
        "search": search_memory(game, limits.largest, limits.cache),
    }


def game_memory(game: Game) -> GameMemory:
    """The memory of a game, with its tables."""
    form = game.position_format or no_format()
    return GameMemory(
        tables=game.tables,
        states=game.new_states(1),
        rngs=np.ones((1, 2), np.int64),
        mask=np.zeros(game.num_actions, np.int8),
        planes=np.zeros(game.planes_shape, np.float32),
        view_tables=game.view_tables,
        before=game.new_states(1),
        seen=np.zeros(game.planes_shape, np.float32),
        shown=np.zeros(len(game.drawn_scene.slots), np.int32),
        facts=np.zeros(NUM_FACTS, np.int32),
        counts=np.zeros(_OUTCOMES, np.int64),
        scratch=game.new_states(2),
        threat_actions=np.zeros((2, game.num_actions), np.int32),
        threat_cells=np.zeros((2, game.planes_shape[1]), np.int32),
        text_tables=form.tables,
        said=form.new_text(),
        owner_sums=np.zeros(game.planes_shape[1], np.int32),
        owner_rngs=np.ones((1, 2), np.int64),
    )


def search_memory(game: Game, largest: SearchSettings, cache: float) -> SearchMemory:
    """The memory of a search.

    Args:
        game: the rules.
        largest: settings with the most simulations and considered actions that fit; memory starts
            with them.
        cache: megabytes for the network's answers.
    """
    planes = np.zeros((1, *game.planes_shape), np.float32)
    actions = game.num_actions
    return SearchMemory(
        settings=settings_record(largest, game),
        level_settings=settings_record(level.SETTINGS, game),
        params=np.zeros(1, level.LEVEL_PARAMS),
        rngs=np.ones((1, 2), np.int64),
        planes=planes,
        tree=new_tree(game, 1, largest),
        cache=new_cache(planes, actions, cache),
        evaluation=Evaluation.empty(1, actions),
        best_action=np.zeros(1, np.int64),
        root_value=np.zeros(1, np.float32),
        visits=np.zeros((1, actions), np.int32),
        action_values=np.zeros((1, actions), np.float32),
        priors=np.zeros(actions, np.float32),
        noise=np.zeros(actions, np.float32),
        pruned=np.zeros(actions, np.int8),
        line=np.zeros(LONGEST_VARIATION, np.int32),
    )


def named_arrays(name: str, memory: Any) -> dict[str, np.ndarray]:
    """The arrays in a tuple of arrays and tuples, by names such as ``search_tree_nodes``."""
    if isinstance(memory, np.ndarray):
        return {name: memory}
    return {
        full_name: array
        for field, value in memory._asdict().items()
        for full_name, array in named_arrays(f"{name}_{field}", value).items()
    }


def describe_array(array: np.ndarray) -> dict[str, Any]:
    """Shape and type of an array as JSON values, see `describe_type`."""
    return {"shape": list(array.shape), **describe_type(array.dtype)}


def describe_type(dtype: np.dtype) -> dict[str, Any]:
    """A type of entries as JSON values.

    Returns:
        - ``type``: numpy's name of a number's type, or ``record``;
        - ``bytes``: size of one entry;
        - ``fields``: fields of a record, by name; each has an ``offset`` in bytes, a ``shape``,
          empty for a single value, and the description of its type.
    """
    if dtype.fields is None:
        return {"type": dtype.name, "bytes": dtype.itemsize}
    fields = {}
    for name in dtype.names or ():
        kind, offset = dtype.fields[name][:2]
        fields[name] = {"offset": offset, "shape": list(kind.shape), **describe_type(kind.base)}
    return {"type": "record", "bytes": dtype.itemsize, "fields": fields}


def numbers_of(function: Callable, memory: Mapping[str, Any]) -> list[str]:
    """The names of a kernel's arguments that are numbers rather than memory."""
    return [name for name in inspect.signature(function).parameters if name not in memory]


def places_of(loaded: Any) -> np.ndarray:
    """An array for the places of loaded arrays: int64 [arrays, 2], address and length."""
    return np.zeros((len(loaded), 2), np.int64)


def address_of(array: np.ndarray) -> int:
    """The address of an array in this process, which identifies it up to views."""
    address: int = array.__array_interface__["data"][0]
    return address
