"""Exact targets: what a search to the end knows of a position takes the place of the game's guess.

From the end of each game of self-play backwards, positions are searched for the exact values of
their actions, until one takes more than a number of positions. Leela Chess Zero corrects its games
by tablebases in this way (its "rescorer"). Of a solved position the network learns

- its value, in place of the result of the game and of the search's value;
- as a policy, the *set* of the actions that keep the value: how it divides its probability among
  them is its own affair. Where all actions are worth the same, its policy target stays as it was.

The rest of the game learns the value of its first solved position in place of the result.

The source of the values is another package, found by an entry point: a table of all positions, or
a solver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import DRAW, PLAYER_0_WINS, PLAYER_1_WINS
from ludarium.envs.engine.threads import take_turns
from ludarium.training.exact_values import installed_source

#: What the field ``solved`` of a sample says: nothing is known; some action loses value, and the
#: policy target has a 1 for each that does not; all actions are worth the same.
UNSOLVED, CHOICE, DECIDED = range(3)

#: Bytes of the table of a search; each thread has one search at a time.
TABLE_BYTES = 1 << 25

_PART = 64  # games that one search remembers


class Answer(Protocol):
    """What is known of an action."""

    @property
    def outcome(self) -> int | None:
        """1 a win for the mover, 0 a draw, -1 a loss; None: not known."""


class Prober(Protocol):
    """A source of exact values."""

    def actions(
        self, position: Position, limit: int | None = None, *, leads: bool = True
    ) -> Mapping[int, Answer]:
        """What each legal action is worth, within so many positions searched."""


class ExactTargets:
    """Corrects the samples of finished games; see the module.

    Args:
        game: the rules.
        limit: positions to search for one position.
        keep_decided: share of the decided positions that are kept.

    Raises:
        ImportError: no installed package knows exact values.
    """

    def __init__(self, game: Game, limit: int, keep_decided: float = 1.0) -> None:
        self.game = game
        self.limit = limit
        self.keep_decided = keep_decided
        self._prober_of: Callable[[Game, int], Prober] = installed_source(
            "prober_of", "self_play.solve"
        )

    def correct(
        self, samples: np.ndarray, games: np.ndarray, seed: int, threads: int = 1
    ) -> np.ndarray:
        """Give the samples exact targets; which of them are kept, bool [N].

        Args:
            samples: structured [N] with a field ``solved``, of finished games; changed in place.
            games: int64 [N], the game of each.
            seed: seed of the choice of those that are kept.
            threads: that search; what they find does not depend on their number.
        """
        order = np.lexsort((-samples["state"]["ply"], games))
        starts = np.flatnonzero(np.diff(games[order], prepend=-1))
        of_games = np.split(order, starts[1:]) if len(order) else []
        parts = [of_games[first : first + _PART] for first in range(0, len(of_games), _PART)]
        take_turns(
            lambda _, number: self._correct_part(samples, parts[number]), len(parts), threads
        )
        kept = np.random.default_rng(seed).random(len(samples)) < self.keep_decided
        return kept | (samples["solved"] != DECIDED)

    def _correct_part(self, samples: np.ndarray, of_games: Sequence[np.ndarray]) -> None:
        """Correct the samples of some games, with a search that remembers nothing of others."""
        prober = self._prober_of(self.game, TABLE_BYTES)
        for rows in of_games:
            self._correct_game(samples, rows, prober)

    def _correct_game(self, samples: np.ndarray, rows: np.ndarray, prober: Prober) -> None:
        """Correct the samples of one game, ``rows``, the last first."""
        first_known: int | None = None  # of player 0
        for place, row in enumerate(rows):
            values = self._values(samples["state"][row], prober)
            if values is None:
                if first_known is not None:
                    samples["outcome"][rows[place:]] = _outcome(first_known)
                return
            value = max(values.values())
            keeping = [action for action, worth in values.items() if worth == value]
            first_known = value * (1 - 2 * int(samples["state"]["mover"][row]))
            samples["outcome"][row] = _outcome(first_known)
            samples["search_value"][row] = value
            samples["solved"][row] = CHOICE if len(keeping) < len(values) else DECIDED
            if len(keeping) < len(values):
                samples["policy"][row] = 0
                samples["policy"][row, keeping] = 1

    def _values(self, state: np.ndarray, prober: Prober) -> dict[int, int] | None:
        """What each action is worth to the mover, 1, 0 or -1; None if that takes too long."""
        position = Position.of_state(self.game, state)
        answers = prober.actions(position, self.limit, leads=False)
        values = {action: answer.outcome for action, answer in answers.items()}
        known = {action: value for action, value in values.items() if value is not None}
        return known if len(known) == len(values) else None


def _outcome(value: int) -> int:
    """The outcome of a game that is worth this to player 0."""
    return (DRAW, PLAYER_0_WINS, PLAYER_1_WINS)[value]
