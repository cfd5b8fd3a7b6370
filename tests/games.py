"""What the generic tests run on: games in several options, random positions.

The games are every registered one, the guide's tic-tac-toe, and one that uses what they do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from ludarium.envs import GAMES, Game, Option, Position
from tests.oddity import Oddity
from tests.tictactoe import TicTacToe

ALL_GAMES: dict[str, type[Game]] = {**GAMES, "tictactoe": TicTacToe, "oddity": Oddity}


def _values_to_try(option: Option) -> list[Any]:
    if isinstance(option.accepts, range):
        values = [option.accepts[0], option.accepts[-1]]
    elif isinstance(option.accepts, tuple):
        values = list(option.accepts)
    else:
        values = []
    return [value for value in values if value != option.default]


#: Values of options that have no list of values, and options that matter for each other.
MORE_OPTIONS: dict[str, list[dict[str, Any]]] = {
    "osiron": [
        {"setup": "alternating"},
        {"setup": "random"},
        {"setup": "LLLLLLLLLLDLDDDDDDDDDDDL"},
        {"setup": "empty"},
        {"setup": "empty", "movement": "advanced"},
    ],
}


def option_sets(game: type[Game]) -> list[dict[str, Any]]:
    """The defaults; then each option in turn at its extreme or other values, and some together."""
    changed = [
        {option.name: value} for option in game.option_list for value in _values_to_try(option)
    ]
    return [{}, *changed, *MORE_OPTIONS.get(game.name, [])]


def _label(name: str, options: dict[str, Any]) -> str:
    return "-".join([name, *(f"{option}={value}" for option, value in options.items())])


#: Game classes with options, one for each game and option set, by a name for the case.
CASES: dict[str, tuple[type[Game], dict[str, Any]]] = {
    _label(name, options): (game, options)
    for name, game in ALL_GAMES.items()
    for options in option_sets(game)
}


def slow_but(quick: Iterable[Any], values: Iterable[Any]) -> list[Any]:
    """Parameters of a test: the quick tests have those of the values that are in ``quick``."""
    quick = list(quick)
    return [
        value if value in quick else pytest.param(value, marks=pytest.mark.slow) for value in values
    ]


def random_game(
    game: Game, seed: int, max_plies: int = 400
) -> Iterator[tuple[Position, int | None]]:
    """Play a random game: each position with the action to be played there, the last with None.

    The position is one object that moves on; copy it to keep it.
    """
    random = np.random.default_rng(seed)
    position = game.start(seed)
    while not position.is_over and position.ply < max_plies:
        action = int(random.choice(position.legal_actions))
        yield position, action
        position.play(action)
    yield position, None


def random_positions(game: Game, count: int, seed: int = 0) -> list[Position]:
    """Positions out of random games, first and final ones included."""
    positions: list[Position] = []
    while len(positions) < count:
        positions += [position.copy() for position, _ in random_game(game, seed)]
        seed += 1
    between = np.random.default_rng(seed).permutation(len(positions) - 2)[: count - 2] + 1
    return [positions[0], *(positions[index] for index in between), positions[-1]]


def positions_after(game: Game, plies: int, count: int, seed: int = 0) -> list[Position]:
    """Unfinished positions after so many random plies."""
    random = np.random.default_rng(seed)
    found: list[Position] = []
    while len(found) < count:
        position = game.start()
        while not position.is_over and position.ply < plies:
            position.play(random.choice(position.legal_actions))
        if not position.is_over:
            found.append(position)
    return found


def states_of(positions: Iterable[Position]) -> np.ndarray:
    """The positions' records in one array."""
    return np.concatenate([position.states for position in positions])


def first_legal(position: Position) -> int:
    """A player who looks at nothing else."""
    return int(position.legal_actions[0])


def after(position: Position, *actions: int | str) -> Position:
    """The position after actions, as numbers or as texts; the one that is given stays."""
    position = position.copy()
    for action in actions:
        is_text = isinstance(action, str)
        position.play(position.text_to_action(action) if is_text else int(action))
    return position


def play_texts(position: Position, texts: str) -> Position:
    """Play actions, as texts with spaces between them, in the position itself."""
    for text in texts.split():
        position.play(position.text_to_action(text))
    return position


def refusal(position: Position, text: str) -> str:
    """The error message for a text that is not a legal action."""
    with pytest.raises(ValueError) as error:  # noqa: PT011 (the callers check the words)
        position.text_to_action(text)
    return str(error.value)


def children(position: Position) -> dict[int, Position]:
    """The position after each legal action."""
    return {int(action): after(position, action) for action in position.legal_actions}


def changed(position: Position, **fields: Any) -> Position:
    """The position with other entries in some fields of its record."""
    states = position.states
    for name, value in fields.items():
        states[name] = value
    return Position.of_state(position.game, states)


def garbage(array: np.ndarray, seed: int) -> np.ndarray:
    """The array, filled with random bytes."""
    array.view(np.uint8).reshape(-1)[:] = np.random.default_rng(seed).integers(
        0, 256, array.nbytes, np.uint8
    )
    return array
