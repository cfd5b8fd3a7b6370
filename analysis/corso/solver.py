"""`CorsoSolver`: exact values of positions of Corso, by search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ludarium.envs.corso import Corso
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.training.exact_values import Value, ValueBounds

from ..solver import NO_LIMIT, Solver, after
from ..window import first_target, is_open, next_target
from . import kernels
from .board import cells_of, check_game, kernels_of, new_table
from .kernels import board_record, new_workers
from .known import hardest_known

#: Default of ``eager``: the least gain in lead for which an expansion that takes opposing marbles
#: is tried before placements.
EAGER = 5
MEMORY = 1 << 30


@dataclass(frozen=True)
class TableEntry:
    """What the table of a solver has for a position.

    Attributes:
        low: the mover can lead by at least this much at the end.
        high: the mover cannot lead by more than this.
        effort: bit length of the number of positions searched for these bounds; 0 if none were.
            It is `known.RAISED` more, up to 63, for positions that were given to the method `known`
            and that `learn` then wrote.
        best: the action that the search found best; -1 if none is known.
    """

    low: int
    high: int
    effort: int
    best: int


class CorsoSolver(Solver):
    """Searches positions of Corso on boards up to 5 x 5, with a table that it keeps.

    Args:
        game: the rules.
        memory: bytes that the table may take.
        threads: how many threads search at the same time if there are several positions.
        seed: seed of the function that scrambles the table's keys.
        eager: least gain in lead for which an expansion that takes opposing marbles is tried
            before placements.

    Raises:
        ValueError: the game is not Corso, the board is too large, the memory is too little or more
            than there is, there is no thread, or ``seed`` is not a seed.
    """

    game: Corso
    source: ClassVar[str] = "search made for Corso"

    def __init__(
        self,
        game: Game,
        memory: int = MEMORY,
        threads: int = 1,
        seed: int = 0,
        eager: int = EAGER,
    ) -> None:
        size = check_game(game).size
        super().__init__(game, new_table(size, memory), threads)
        self._boards = board_record(size, len(self._table), seed)
        self._kernels = kernels_of(game)
        self._workers = new_workers(threads, eager)

    @property
    def nodes(self) -> int:
        """Positions searched since the solver was made, repetitions included."""
        return int(self._workers["nodes"].sum())

    def learn(self, known: np.ndarray) -> None:
        """Put results of an earlier search, int64[N, 2] from the method `known`, into the table."""
        self._kernels.learn_all(self._boards, self._table, known)

    def known(self, positions: Sequence[Position], count: int) -> np.ndarray:
        """The table's entries of positions, and those that took the most work; see `hardest_known`.

        Args:
            positions: unfinished positions, whose entries are taken first.
            count: how many entries to take in all.

        Returns:
            int64[count or fewer, 2], for `learn`.

        Raises:
            ValueError: a position is of another game.
        """
        cells = [cells_of(self._checked(position)) for position in positions]
        arrays = (self._boards, self._table, self._workers)
        asked = [self._kernels.entry_of(*arrays, each) for each in cells]
        return hardest_known(self._table, self._boards[0], asked, count)

    def outcome(self, position: Position, limit: int | None = None) -> ValueBounds:
        """Find out who wins, without the lead; arguments and errors as for `answer_all`."""
        return self.answer(position, limit, leads=False)

    def at_least(self, position: Position, lead: int) -> bool:
        """Whether the mover can lead by ``lead`` or more at the end; the game may be over.

        The search has no limit.

        Raises:
            ValueError: the position is of another game.
        """
        if position.is_over:
            return _final_lead(position) >= lead
        return self._bound(0, cells_of(self._checked(position)), lead) >= lead

    def recall(self, position: Position) -> TableEntry:
        """Bounds of a position's value without a search, from its fixed cells and the table.

        Raises:
            ValueError: the position is of another game.
        """
        if position.is_over:
            lead = _final_lead(position)
            return TableEntry(lead, lead, 0, -1)
        cells = cells_of(self._checked(position))
        return TableEntry(*self._kernels.recall(self._boards, self._table, self._workers, cells))

    def choices(self, position: Position, *answers: ValueBounds) -> list[int]:
        """The best of the actions that are known to keep the value of the position.

        Call this right after the searches that gave these answers, while the
        table holds their results. If the position is won, the best actions are those proven
        with the least effort; else those not proven to lose, if there are any, and of these the
        ones on which the search spent most effort, because the opponent has the most to refute.
        If the table shows for no action that it keeps the value, this searches for one that does,
        without a limit.

        Args:
            position: the position, not finished.
            answers: what searches have proven of its value, one or more.
        """
        low = max(self._least_lead(answer.low) for answer in answers)
        worth: dict[int, tuple[bool, int]] = {}
        children = {action: after(position, action) for action in position.legal_actions.tolist()}
        for action, child in children.items():
            known = self.recall(child)
            if -known.high >= low:
                effort = -known.effort if low > 0 else known.effort
                worth[action] = (-known.low >= 0, effort)
        if not worth:  # the table has the position's result, but not the actions' results
            best = self.recall(position).best
            order = sorted(children, key=lambda action: action != best)
            return [next(a for a in order if not self.at_least(children[a], 1 - low))]
        most = max(worth.values())
        return [action for action, value in worth.items() if value == most]

    def _least_lead(self, value: Value) -> int:
        if value.lead is not None:
            return value.lead
        return (0, 1, -self.game.num_actions)[value.outcome]

    def _stop(self, is_stopped: bool) -> None:
        super()._stop(is_stopped)
        self._workers["stop"] = is_stopped

    def _nodes_of(self, thread: int) -> int:
        return int(self._workers[thread]["nodes"])

    def _search(self, thread: int, position: Position, leads: bool) -> tuple[Value, Value]:
        """Narrow the bounds until they meet, or without ``leads`` until they tell who wins."""
        worker, cells = self._workers[thread], cells_of(position)
        worker["limit"] = end = self._nodes_of(thread) + self._left()
        low, high = -self.game.num_actions, self.game.num_actions
        target = first_target(low, high)
        while is_open(low, high, leads):
            bound = self._bound(thread, cells, target)
            if self._is_stopped or worker["nodes"] >= end:
                break
            if bound >= target:
                low = max(low, bound)
            else:
                high = min(high, bound)
            target = next_target(low, high, target)
        worker["limit"] = NO_LIMIT
        return _value(low), _value(high)

    def _bound(self, thread: int, cells: kernels.Cells, target: int) -> int:
        arrays = (self._boards, self._table, self._workers)
        return int(self._kernels.ask(*arrays, thread, cells, target))

    def _bounds_of_all(self) -> tuple[Value, Value]:
        return _value(-self.game.num_actions), _value(self.game.num_actions)

    def _final_value(self, position: Position) -> Value:
        return _value(_final_lead(position))

    def _checked(self, position: Position) -> Position:
        if position.game != self.game:
            raise ValueError(f"this solves {self.game}, not {position.game}")
        return position


def _value(lead: int) -> Value:
    return Value((lead > 0) - (lead < 0), lead)


def _final_lead(position: Position) -> int:
    """The lead of the player whose turn it would be in a finished game."""
    return position.score * (1 - 2 * position.mover)


def first_actions(game: Game) -> list[int]:
    """The lowest first action of each class of symmetric ones."""
    symmetries = game.symmetries().actions
    classes = np.unique(symmetries.min(axis=0))
    return [int(action) for action in classes]
