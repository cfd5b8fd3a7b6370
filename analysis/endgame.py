"""``endgame:AGENT``: an agent that also searches late positions to the end of the game."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ludarium.base.numbers import checked_whole
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import ONGOING
from ludarium.training.agents import RESIGN, Agent, AgentSpec, GameInPlay, Needs, Seed, read_agent
from ludarium.training.agents.names import find_kind
from ludarium.training.agents.settings import (
    read_flag,
    read_number,
    setting,
    settings_of,
    with_settings,
)
from ludarium.training.exact_values import ValueBounds

from .probing import solver_of
from .solutions import table_of
from .solver import Solver, after

#: Default number of positions to search for a move: 5 to 40 ms if the search finds nothing.
POSITIONS = 100_000

_MOST_POSITIONS = 1_000_000_000
_MEMORY = 1 << 24  # bytes of the table of a search
_KIND = "endgame"


class EndgameAgent(Agent):
    """Plays another agent's moves, unless a search to the end of the game finds better ones.

    Before each move the position is searched for its exact value (`ludarium.analysis.probing`):
    who wins. Then actions are searched in the order of the player's preference, its choice first:

    - If the value was found, the first action that is found to keep it is played.
    - If not, the first one that is not proven to lose.

    If there is none, or no positions are left to search, or all actions lose, the player's choice
    is played; so it is if the player resigns. The results of searches are kept from move to move,
    until `restart`. Where a table has the values, the agent searches nothing and plays perfectly.

    Args:
        player: the agent whose moves it plays.
        positions: about how many positions to search for a move at most, 1 to 10^9; at most half of
            them are for the value of the position itself.
        points: ask for the lead at the end too; if that is found, keep it, also in a lost position.
        seed: seed with which the player is restarted.

    Raises:
        ValueError: ``positions`` is out of range, ``points`` is set and the game counts none, or
            ``seed`` is not a seed; or see `table_of` and `solver_of`.
    """

    def __init__(
        self,
        player: Agent,
        positions: int = POSITIONS,
        points: bool = False,
        seed: Seed = None,
    ) -> None:
        if points and not player.game.max_score:
            raise ValueError(f"{player.game} counts no points to play for: leave out points")
        self.player = player
        self.positions = checked_whole("positions", positions, 1, _MOST_POSITIONS)
        self.points = points
        game = player.game
        self._table = table_of(game)
        self._is_solved = self._table is not None and self._table.knows(game.start(0).states)[0]
        self._solver: Solver | None = None
        super().__init__(game, _name(player.name, positions, points), seed)

    def restart(self, seed: Seed = None) -> None:
        """Restart the player, and forget what was searched; see `Agent.restart`."""
        super().restart(seed)
        self.player.restart(seed)
        if not self._is_solved:
            self._solver = solver_of(self.game, _MEMORY)

    def actions(self, states: np.ndarray) -> np.ndarray:
        """An action for each position; see `Agent.actions`."""
        states = self._check(states)
        return self._checked(states, self.player.actions(states))

    def begin(self, games: Sequence[GameInPlay]) -> None:
        """Tell the player; see `Agent.begin`."""
        self.player.begin(games)

    def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> np.ndarray:
        """An action for each game; see `Agent.play`."""
        states = self._check(states)
        return self._checked(states, self.player.play(games, states))

    def finish(self, games: Sequence[GameInPlay]) -> None:
        """Tell the player; see `Agent.finish`."""
        self.player.finish(games)

    def preferences(self, states: np.ndarray) -> np.ndarray:
        """The player's preferences; see `Agent.preferences`."""
        return self.player.preferences(states)

    def _checked(self, states: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """The player's choices, except those that the search proves to be worse than others."""
        actions = np.array(chosen)
        for number in np.flatnonzero((states["outcome"] == ONGOING) & (actions != RESIGN)):
            position = Position.of_state(self.game, states[number])
            actions[number] = self._choose(position, int(actions[number]))
        return actions

    def _choose(self, position: Position, choice: int) -> int:
        """The action to play, given the player's choice; see the class."""
        if self._table is not None and self._table.knows(position.states)[0]:
            values = self._table.actions(position)
            best = max(values.values())
            return next(a for a in self._ranked(position, choice) if values[a] == best)
        assert self._solver is not None
        begin = self._solver.nodes
        known = self._solver.answer(position, (self.positions + 1) // 2, leads=self.points)
        leads = self.points and known.is_decided
        known = known if leads else known.without_lead()
        is_found = known.is_decided
        if is_found and known.low.outcome < 0 and not leads:
            return choice  # all actions lose
        for action in self._ranked(position, choice):
            left = self.positions - (self._solver.nodes - begin)
            if left <= 0:
                break
            worth = self._worth(position, action, left if is_found else (left + 1) // 2, leads)
            if worth.low >= known.low if is_found else worth.high.outcome >= 0:
                return action
        return choice

    def _worth(self, position: Position, action: int, limit: int, leads: bool) -> ValueBounds:
        """The answer for an action, for the player to move."""
        assert self._solver is not None
        child = after(position, action)
        answer = self._solver.answer(child, limit, leads=leads)
        return answer if child.mover == position.mover else answer.reversed()

    def _ranked(self, position: Position, choice: int) -> Iterator[int]:
        """The legal actions in the order of the player's preference, its choice first.

        The player is asked for the others only when they are needed.
        """
        yield choice
        legal = position.legal_actions
        preferred = self.player.preferences(position.states)[0, legal]
        for action in legal[np.argsort(-preferred, kind="stable")].tolist():
            if action != choice:
                yield action


@dataclass(frozen=True, kw_only=True)
class EndgameSpec(AgentSpec):
    """An `EndgameAgent` around the agent of another spec.

    Attributes:
        player: spec of the player.
    """

    usage = f"{_KIND}:AGENT"
    help = (
        "another agent, which also searches late positions to the end of the game: it plays moves "
        "that are proven best, and avoids moves that are proven to lose; all other settings belong "
        "to that agent"
    )

    positions: int = setting(
        read_number, f"most positions searched for a move, {POSITIONS:,} by default", POSITIONS
    )
    points: bool = setting(read_flag, "true keeps the lead too, in games that count points", False)
    player: AgentSpec

    @classmethod
    def read(cls, argument: str | None, settings: Mapping[str, str], **others: Any) -> AgentSpec:
        """Read ``AGENT``, which has all settings but ``positions`` and ``points``.

        Raises:
            ValueError: see `AgentSpec.read`; or the agent has a risk, see `AgentSpec`.
        """
        if not argument:
            raise ValueError("endgame needs an agent: endgame:AGENT, such as endgame:corso:100")
        word = argument.partition(":")[0]
        if word == _KIND:
            raise ValueError("endgame: it cannot be nested; write endgame:AGENT once")
        kind = find_kind(word)
        if kind is not None and kind.risk:
            raise ValueError(f"{word}: {kind.risk}, so it does not play within endgame")
        own = {key: text for key, text in settings.items() if key in settings_of(cls)}
        rest = {key: text for key, text in settings.items() if key not in own}
        # Read it as from a file, so that a nested name has no risk either.
        player = read_agent(with_settings(argument, rest), from_file=True)
        return super().read(None, own, player=player)

    @property
    def needs(self) -> Needs:
        """What the player needs."""
        return self.player.needs

    def __str__(self) -> str:
        return _name(str(self.player), self.positions, self.points)

    @property
    def label(self) -> str:
        """The player's label, with the own settings."""
        return _name(self.player.label, self.positions, self.points)

    def choose_game(self, options: dict[str, Any], name: str | None = None) -> Game | None:
        """The player's game; see `AgentSpec.choose_game`."""
        return self.player.choose_game(options, name)

    def with_simulations(self, simulations: int | None) -> EndgameSpec:
        """The spec with the player's simulations; see `AgentSpec.with_simulations`."""
        return replace(self, player=self.player.with_simulations(simulations))

    def network_file(self, game: Game) -> Path | None:
        """The player's; see `AgentSpec.network_file`."""
        return self.player.network_file(game)

    def make(self, game: Game, seed: Seed = None) -> Agent:
        """Make the agent for ``game``; see `AgentSpec.make`."""
        return EndgameAgent(self.player.make(game, seed), self.positions, self.points, seed)


def _name(player: str, positions: int, points: bool) -> str:
    """The name of the agent around a player with this name."""
    settings = {
        "positions": None if positions == POSITIONS else positions,
        "points": points or None,
    }
    return f"{_KIND}:{with_settings(player, settings)}"
