"""`Agent`, the interface of every player, and `AgentFactory`, which makes one for a game."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.game_in_play import GameInPlay
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import ONGOING
from ludarium.envs.registry import make_game

Seed = int | np.random.SeedSequence | None


class Agent:
    """Chooses actions in positions of one game.

    `actions` is all that an agent must have, or `play`. With `actions` alone it keeps no memory of
    a game between decisions, only of its random numbers: with the same seed, the same positions in
    the same order get the same actions, whether they come one by one or together.

    An agent that does keep something, such as a tree, overrides `play`, and `begin` and `finish`
    where it needs them: matches give it whole games.

    Attributes:
        game: the rules that it plays by.
        name: how tables name it, such as ``uct:1000``.
    """

    def __init__(self, game: Game, name: str, seed: Seed = None) -> None:
        self.game = game
        self.name = name
        self.restart(seed)

    def restart(self, seed: Seed = None) -> None:
        """Reseed the random numbers; ``None`` takes a fresh seed from the system."""
        self._random = np.random.default_rng(seed)

    def actions(self, states: np.ndarray) -> np.ndarray:
        """Choose an action for the player to move in each position, all in one call.

        By default each unfinished position is a game that begins there, is played for one move, and
        has no `finish`.

        Args:
            states: structured array [N] of ``game.state_dtype``; it is not changed.

        Returns:
            int64[N], a legal action for each position, -1 where the game is over.

        Raises:
            ValueError: ``states`` is not such an array.
            NotImplementedError: the agent's class has neither ``actions`` nor ``play``.
        """
        if type(self).play is Agent.play:
            raise NotImplementedError(
                f"agent {self.name} cannot choose: {type(self).__name__} must have actions or play"
            )
        states = self._check(states)
        chosen = np.full(len(states), -1, np.int64)
        places = np.flatnonzero(states["outcome"] == ONGOING)
        playing = np.ascontiguousarray(states[places])
        games = [
            GameInPlay(self.game, number, int(state["mover"]), 0, playing, [])
            for number, state in enumerate(playing)
        ]
        self.begin(games)
        chosen[places] = self.play(games, playing)
        return chosen

    def preferences(self, states: np.ndarray) -> np.ndarray:
        """How much the agent would like each action, for callers that rule out its choice.

        Args:
            states: as for `actions`, of unfinished games.

        Returns:
            float [N, A]; only the order within a row has a meaning, and actions that are not legal
            have none. By default all are equal.
        """
        return np.zeros((len(self._check(states)), self.game.num_actions))

    def begin(self, games: Sequence[GameInPlay]) -> None:
        """Called before the first decision of these games."""

    def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> np.ndarray:
        """Choose an action in each of these games of a match, where the agent is to move.

        Args:
            games: N of them.
            states: their positions, as for `actions`.

        Returns:
            int64[N], a legal action for each.
        """
        return self.actions(states)

    def finish(self, games: Sequence[GameInPlay]) -> None:
        """Called once when these games are over, or abandoned; see `GameInPlay.reward`."""

    def choose(self, position: Position) -> int:
        """Choose an action for the player to move in ``position``.

        Raises:
            ValueError: the game is over, or it is not the game that this agent plays.
        """
        if position.game != self.game:
            raise ValueError(f"agent {self.name} plays {self.game}, not {position.game}")
        if position.is_over:
            raise ValueError(f"agent {self.name} cannot move: the game is over")
        return int(self.actions(position.states)[0])

    def __repr__(self) -> str:
        return f"<agent {self.name} for {self.game}>"

    def _check(self, states: np.ndarray) -> np.ndarray:
        """The positions as compiled functions need them: contiguous, writable, of an aligned dtype.

        A dtype that was read from a file has lost its aligned flag, although it equals the game's.
        """
        if not isinstance(states, np.ndarray) or states.dtype != self.game.state_dtype:
            kind = getattr(states, "dtype", type(states).__name__)
            raise ValueError(f"agent {self.name} needs positions of {self.game}, not {kind}")
        if states.ndim != 1:
            raise ValueError(f"positions are an array of shape [N], not {states.shape}")
        return np.require(states, requirements=["C", "A", "W"]).view(self.game.state_dtype)

    def _random_streams(self, count: int) -> np.ndarray:
        """Generator states for ``engine.rule.random_below``, int64[count, 2]."""
        return self._random.integers(1, 1 << 32, (count, 2))


class AgentFactory(ABC):
    """Makes an agent for a game that is given later; parsing an agent's name returns one.

    Attributes:
        shares_state: whether the agents that it makes may share what two threads must not use at
            once, such as an object of the user's own.
    """

    shares_state: ClassVar[bool] = False

    def choose_game(self, options: dict[str, Any]) -> Game | None:
        """The game that a trained agent plays, with its own options but for the given ones.

        Returns:
            ``None`` if the agent is made for whatever game there is.

        Raises:
            ValueError, FileNotFoundError: there is no such agent, or no such option.
        """
        return None

    def usual_game(self, name: str, options: dict[str, Any]) -> Game:
        """The game that an agent for any game plays, where only the game's name is said.

        Args:
            name: of the game.
            options: that are said.

        Raises:
            ValueError: there is no such game or option.
        """
        return make_game(name, **options)

    def with_simulations(self, simulations: int | None) -> AgentFactory:
        """The same with so many simulations for each move, where its name does not say.

        Agents that search otherwise, and ``None``, change nothing.
        """
        return self

    @abstractmethod
    def make(self, game: Game, seed: Seed = None) -> Agent:
        """The agent for ``game``.

        Raises:
            ValueError: it cannot play that game.
            FileNotFoundError: there is no such agent.
        """
