"""The solution of Osiron: looks up positions of a game in the tables of their rule sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import ONGOING
from ludarium.envs.osiron.rules import CIRCLES
from ludarium.training.exact_values import Value

from ..solution import ILLEGAL, TableSolution
from . import kernels as templates
from .colourings import RuleSet, view_of
from .kernels import WIN
from .retrograde import SolvedTable


class OsironSolution(TableSolution):
    """The value of every position of Osiron in which all pieces are placed.

    The circles that do not count decide which table has the value, see `RuleSet`. From an empty
    start the players decide these by placing; tables are then loaded, or computed, when needed, and
    no values are known before all pieces are placed.

    Args:
        game: the rules, with any ply cap and repetitions.

    Raises:
        ValueError: the stored table is damaged; the methods raise this too, if they load tables.
    """

    source: ClassVar[str] = "table of all positions (repetitions and the ply cap are left out)"

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self._kernels = specialise(templates, game)
        self._tables: dict[RuleSet, SolvedTable] = {}
        self._views: dict[tuple[int, int], tuple[RuleSet, np.ndarray]] = {}
        self._has_placing = has_placing(game)
        if not self._has_placing:
            rules, _ = self._view(game.start(0).states[0])
            self._table(rules)

    def knows(self, states: np.ndarray) -> np.ndarray:
        """Whether all pieces are placed; see `TableSolution.knows`."""
        known: np.ndarray = states["empty"] == 0
        return known

    def values(self, states: np.ndarray) -> np.ndarray:
        """Values of positions; see `TableSolution.values`."""
        values = np.full(len(states), ILLEGAL, np.int8)
        for rows, arguments in self._by_table(states):
            found = np.empty(len(states[rows]), np.int8)
            self._kernels.look_up(*arguments, states[rows], found)
            values[rows] = found
        return values

    def action_values(self, states: np.ndarray) -> np.ndarray:
        """Values of all actions in positions; see `TableSolution.action_values`."""
        values = np.full((len(states), self.game.num_actions), ILLEGAL, np.int8)
        for rows, arguments in self._by_table(states):
            found = np.empty((len(states[rows]), self.game.num_actions), np.int8)
            self._kernels.look_up_actions(*arguments, states[rows], found)
            values[rows] = found
        return values

    def decode(self, value: int) -> Value:
        """The `Value` for a number: ``WIN - n`` a win in n plies, ``n - WIN`` a loss, 0 a draw."""
        return Value((value > 0) - (value < 0), plies=WIN - abs(value) if value else None)

    def _by_table(self, states: np.ndarray) -> Iterator[tuple[np.ndarray | slice, tuple]]:
        """Rows of positions with the same table, and the kernels' first arguments for them."""
        if not self._has_placing:
            yield slice(None), self._arguments(*next(iter(self._views.values())))
            return
        going = np.flatnonzero(states["outcome"] == ONGOING)
        if not self.knows(states[going]).all():
            raise ValueError(
                "no exact value is known before all pieces are placed; ask about a later position, "
                "or about a start of 24 letters (setup=LLLLLDLLLDLLDDLDDDDLDDDD)"
            )
        _, first, classes = np.unique(
            states["counting"][going], axis=0, return_index=True, return_inverse=True
        )
        for number, row in enumerate(first):
            rows = going[classes.ravel() == number]
            yield rows, self._arguments(*self._view(states[going[row]]))

    def _arguments(self, rules: RuleSet, view: np.ndarray) -> tuple:
        table = self._table(rules)
        return table.board, view, self.game.tables, table.words

    def _table(self, rules: RuleSet) -> SolvedTable:
        if rules not in self._tables:
            self._tables[rules] = SolvedTable.of(rules)
        return self._tables[rules]

    def _view(self, state: np.record) -> tuple[RuleSet, np.ndarray]:
        first, second = state["counting"].tolist()
        if (first, second) not in self._views:
            self._views[first, second] = view_of_state(self.game, state)
        return self._views[first, second]


def has_placing(game: Game) -> bool:
    """Whether the players place their pieces before they exchange any."""
    return bool(game.start(0).states[0]["empty"] != 0)


def view_of_state(game: Game, state: np.record) -> tuple[RuleSet, np.ndarray]:
    """The rule set and record for a position in which all pieces are placed, see `view_of`."""
    first, second = (
        tuple(circle for circle in range(CIRCLES) if not counting >> (4 * circle + 3) & 1)
        for counting in state["counting"].tolist()
    )
    # The player who placed last exchanges first.
    return view_of(game.options["movement"], (first, second), opener=int(has_placing(game)))


def view_of_game(game: Game) -> tuple[RuleSet, np.ndarray]:
    """The rule set and record for a game whose start decides them, see `view_of`.

    Raises:
        ValueError: the players decide it by placing their pieces.
    """
    if has_placing(game):
        raise ValueError(
            f"{game} has no table of its own: the placing decides which circles do not count. "
            "Take a start of 24 letters, such as setup=LLLLLDLLLDLLDDLDDDDLDDDD"
        )
    return view_of_state(game, game.start(0).states[0])
