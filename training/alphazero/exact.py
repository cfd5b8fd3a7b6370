"""Exact targets: exact values from a search to the end replace the results of self-play games.

From the end of each game of self-play backwards, positions are searched for the exact values of
their actions, until a search exceeds its limit of positions. Leela Chess Zero corrects its games
by tablebases in this way (its "rescorer"). From a solved position the network learns

- its value, instead of the result of the game;
- as a policy, the *set* of the actions that keep the value; the loss does not prescribe how the
  probability is divided among them. If all actions have the same value, the target is unchanged.

From the positions before, it learns the value of the game's first solved position instead of the
result. Of the solved positions whose actions all have one value, the share ``keep_trivial`` is
kept.

Another package, found by an entry point, is the source of the values: a table of all positions, or
a solver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from ludarium.base.threads import run_tasks
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import DRAW, PLAYER_0_WINS, PLAYER_1_WINS
from ludarium.training.exact_values import ValueBounds, installed_source

#: Values of the field ``solved`` of a sample: not solved; some action loses value, and the policy
#: target has a 1 for each that does not; all actions have the same value.
UNSOLVED, CHOICE, ALL_EQUAL = range(3)

#: Memory in bytes for the table of a search; each thread has one search at a time.
TABLE_BYTES = 1 << 25

_PART = 64  # games that share a search's memory


class ExactSource(Protocol):
    """A source of exact values."""

    def actions(
        self, position: Position, limit: int | None = None, *, leads: bool = True
    ) -> Mapping[int, ValueBounds]:
        """Proven bounds of the value of each legal action, for the mover.

        A search visits at most ``limit`` positions, by default its own limit. ``leads`` asks for
        the lead at the end too.
        """


class ExactTargets:
    """Corrects the samples of finished games; see the module.

    Args:
        game: the rules.
        limit: how many positions the search of one position may visit.
        keep_trivial: share kept of solved positions whose actions all have one value.

    Raises:
        ImportError: no installed package has exact values.
    """

    def __init__(self, game: Game, limit: int, keep_trivial: float = 1.0) -> None:
        self.game = game
        self.limit = limit
        self.keep_trivial = keep_trivial
        self._prober_of: Callable[[Game, int], ExactSource] = installed_source(
            "prober_of", "self_play.solve"
        )

    def correct(
        self, samples: np.ndarray, games: np.ndarray, seed: int, threads: int = 1
    ) -> np.ndarray:
        """Give the samples exact targets; return which of them are kept, bool [N].

        Args:
            samples: structured [N] with a field ``solved``, of finished games; changed in place.
            games: int64 [N], the number of each sample's game.
            seed: seed for the choice of the samples that are kept.
            threads: how many threads search; the result does not depend on it.
        """
        order = np.lexsort((-samples["state"]["ply"], games))
        starts = np.flatnonzero(np.diff(games[order], prepend=-1))
        of_games = np.split(order, starts[1:]) if len(order) else []
        parts = [of_games[first : first + _PART] for first in range(0, len(of_games), _PART)]

        def correct_part(_: int, number: int) -> None:
            prober = self._prober_of(self.game, TABLE_BYTES)  # for this part alone
            for rows in parts[number]:
                self._correct_game(samples, rows, prober)

        run_tasks(correct_part, len(parts), threads)
        kept = np.random.default_rng(seed).random(len(samples)) < self.keep_trivial
        return kept | (samples["solved"] != ALL_EQUAL)

    def _correct_game(self, samples: np.ndarray, rows: np.ndarray, prober: ExactSource) -> None:
        """Correct the samples of one game, ``rows``, from the last to the first."""
        first_known: int | None = None  # value for player 0
        for place, row in enumerate(rows):
            values = self._values(samples["state"][row], prober)
            if values is None:
                if first_known is not None:
                    samples["outcome"][rows[place:]] = _outcome(first_known)
                return
            value = max(values.values())
            optimal = [action for action, worth in values.items() if worth == value]
            first_known = value * (1 - 2 * int(samples["state"]["mover"][row]))
            samples["outcome"][row] = _outcome(first_known)
            samples["solved"][row] = CHOICE if len(optimal) < len(values) else ALL_EQUAL
            if len(optimal) < len(values):
                samples["policy"][row] = 0
                samples["policy"][row, optimal] = 1

    def _values(self, state: np.ndarray, prober: ExactSource) -> dict[int, int] | None:
        """Each action's value for the mover, 1, 0 or -1; None if one is not found in the limit."""
        position = Position.of_state(self.game, state)
        return ValueBounds.outcomes(prober.actions(position, self.limit, leads=False))


def _outcome(value: int) -> int:
    """The outcome that has this value for player 0."""
    return (DRAW, PLAYER_0_WINS, PLAYER_1_WINS)[value]
