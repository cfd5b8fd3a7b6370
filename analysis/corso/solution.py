"""Perfect play of Corso, by search."""

from __future__ import annotations

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import ONGOING

from ..solution import Solution
from .known import shipped_known
from .solver import CorsoSolver

#: Size of the transposition table in bytes; the system provides memory as it fills.
MEMORY = 1 << 28
#: Node limit for finding out who wins: about half a minute.
OUTCOME_LIMIT = 1 << 26
#: Node limit for then finding out by how much: about a tenth of a second.
LEAD_LIMIT = 1 << 18


class CorsoSolution(Solution):
    """Actions that keep the value of a position: a win, a draw or a loss.

    If the lead with best play is found soon, as it is late in the game, they keep the lead
    too. Of several such actions, those proven with the least effort are taken in a won position,
    and those on which the search spent the most effort in a drawn or lost one.

    The search begins with the results that ship for the board, see `shipped_known`. Where it has
    the position's result, but of none of its actions, it looks without a limit for one that keeps
    the value, and begins with the one that was best before. If `OUTCOME_LIMIT` does not suffice to
    find out who wins, the actions are those not known to lose, if there are any, and of these the
    ones on which the search spent the most effort; only then may the play be imperfect.

    Args:
        game: the rules, on a board up to 5 x 5.
        memory: bytes that the table of the search may take; the table is kept.

    Raises:
        ValueError: the game is not Corso, the board is too large, the memory is too little or more
            than there is, or a shipped file is damaged.
    """

    def __init__(self, game: Game, memory: int = MEMORY) -> None:
        super().__init__(game)
        self.solver = CorsoSolver(game, memory)
        self.solver.learn(shipped_known(game))

    def best_actions(self, states: np.ndarray) -> np.ndarray:
        """See `Solution.best_actions` and the class."""
        best = np.zeros((len(states), self.game.num_actions), bool)
        for number in np.flatnonzero(states["outcome"] == ONGOING):
            best[number, self._best(Position.of_state(self.game, states[number]))] = True
        return best

    def _best(self, position: Position) -> list[int]:
        answers = [self.solver.outcome(position, OUTCOME_LIMIT)]
        if answers[0].is_decided:
            answers.append(self.solver.answer(position, LEAD_LIMIT))
        return self.solver.choices(position, *answers)
