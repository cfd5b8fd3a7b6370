"""Opponents of an environment's agent: by name, as a function, or chosen game by game.

This package can only play at random. An installed package, such as the training package, provides
agents by name through an entry point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from .engine.game import Game
from .engine.game_in_play import GameInPlay

if TYPE_CHECKING:
    from .batch import BatchEnv

#: The group of the installed function ``make_agent(spec, game, seed)`` that turns names into
#: opponents: one entry point, called ``make_agent``.
OPPONENT_ENTRY_POINTS = "ludarium.opponents"

SEATS = (0, 1, "random", "alternate")

#: A function from the observations and masks of several games to one legal action for each.
BatchPolicy = Callable[[np.ndarray, np.ndarray], Any]


@runtime_checkable
class Opponents(Protocol):
    """The opponent of each game of a `OneSide`; it is told when games begin and end."""

    def begin(self, games: np.ndarray) -> None:
        """Called before these games, int64[K], begin."""

    def choose(self, batch: BatchEnv, games: np.ndarray) -> Any:
        """Actions, integers [K], for games int64[K] of ``batch`` where the opponent is to move."""

    def finish(self, games: np.ndarray, rewards: np.ndarray) -> None:
        """Called after these games end; ``rewards`` float32[K] are the agent's."""


@runtime_checkable
class Player(Protocol):
    """An agent that is given whole games, such as those of the training package."""

    def begin(self, games: Sequence[GameInPlay]) -> None:
        """Called before its first decision in these games."""

    def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> Any:
        """Actions, integers [N], in the positions ``states`` [N] of these games."""

    def finish(self, games: Sequence[GameInPlay]) -> None:
        """Called when these games are over."""


class PlayerOpponents:
    """One `Player` as the opponent in all games of a `OneSide`, asked for many moves at once.

    Args:
        player: the agent.
        batch: the games.
        seats: int64[N], which player the other side is in each; it may change between games.
        actions: the actions so far in each, in the board's own frame; likewise.
    """

    def __init__(
        self, player: Player, batch: BatchEnv, seats: np.ndarray, actions: list[list[int]]
    ) -> None:
        self._player = player
        self._batch = batch
        self._seats = seats
        self._actions = actions
        self._handles: list[GameInPlay | None] = [None] * batch.num_envs

    def begin(self, games: np.ndarray) -> None:
        """Hand over new games."""
        for game in games:
            self._handles[game] = GameInPlay(
                self._batch.game,
                int(game),
                1 - int(self._seats[game]),
                0,
                self._batch.states,
                self._actions[game],
            )
        if len(games):
            self._player.begin(self._of(games))

    def choose(self, batch: BatchEnv, games: np.ndarray) -> Any:
        """Ask for a move in each game; see `Opponents.choose`."""
        actions = self._player.play(self._of(games), batch.states[games])
        if not batch.canonical:
            return actions
        return [
            batch.position(int(game)).turned_action(int(action))
            for game, action in zip(games, actions, strict=True)
        ]

    def finish(self, games: np.ndarray, rewards: np.ndarray) -> None:
        """Tell that games are over."""
        if len(games):
            self._player.finish(self._of(games))

    def _of(self, games: np.ndarray) -> list[GameInPlay]:
        handles = [self._handles[game] for game in games]
        return [handle for handle in handles if handle is not None]


class Chooser:
    """Opponents that only choose, the same way in all games."""

    def __init__(self, choose: Callable[[BatchEnv, np.ndarray], Any]) -> None:
        self.choose = choose

    def begin(self, games: np.ndarray) -> None:
        """Nothing to prepare."""

    def finish(self, games: np.ndarray, rewards: np.ndarray) -> None:
        """Nothing to note."""


def make_agent(spec: str, game: Game, seed: int) -> Any:
    """Make the agent called ``spec`` through an installed package.

    It is a `Player`, or has ``choose(position)``.

    Raises:
        ImportError: no installed package makes agents.
        ValueError: ``spec`` names no agent.
    """
    makers = entry_points(group=OPPONENT_ENTRY_POINTS, name="make_agent")
    try:
        maker = next(iter(makers)).load()
    except (StopIteration, ImportError) as error:
        raise ImportError(
            f"the opponent {spec!r} needs the training package: "
            'pip install "ludarium[train]"; without it, opponents are "random" and functions'
        ) from error
    return maker(spec, game, seed)


def check_choice(name: str, value: Any, accepted: tuple) -> None:
    """Raise ``ValueError`` unless ``value`` is one of ``accepted``, of the same type."""
    if isinstance(value, np.integer):
        value = int(value)
    if not any(type(value) is type(known) and value == known for known in accepted):
        choices = ", ".join(repr(known) for known in accepted)
        raise ValueError(f"{name} is {value!r}; accepted: {choices}")


def check_opponent(opponent: Any) -> None:
    """Raise ``ValueError`` unless ``opponent`` is a name, a function or an agent."""
    if isinstance(opponent, Player) or callable(opponent):
        return
    if not isinstance(opponent, str) or not opponent:
        raise ValueError(f"opponent is {opponent!r}; accepted: a name, a function, or an agent")
