"""`CorsoSolver`: exact values of positions of Corso, by search."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position

from ..side_by_side import answer_side_by_side
from . import kernels
from .board import NO_LIMIT, Cells, board_record, cells_of, check_game, new_table, new_workers

#: From which gain on an expansion comes before placements; the default of the search.
EAGER = 5

#: Called now and then with the positions searched so far and how many questions are answered.
Show = Callable[[int, int], None]


@dataclass(frozen=True)
class Answer:
    """What a search found out about a position.

    Attributes:
        low: the mover can lead by at least so much at the end.
        high: and not by more than this.
        nodes: positions that were searched for it.
        seconds: that it took.
    """

    low: int
    high: int
    nodes: int
    seconds: float

    @property
    def lead(self) -> int | None:
        """The mover's lead at the end with best play, if it is known exactly."""
        return self.low if self.low == self.high else None

    @property
    def outcome(self) -> int | None:
        """+1 a win for the mover, 0 a draw, -1 a loss, None if it is not known."""
        if self.low > 0:
            return 1
        if self.high < 0:
            return -1
        return 0 if self.low == self.high else None

    def reversed(self) -> Answer:
        """The same for the opponent of the mover: what an action is worth that leads here."""
        return Answer(-self.high, -self.low, self.nodes, self.seconds)

    @staticmethod
    def best(answers: Iterable[Answer]) -> Answer:
        """What a position is worth whose actions are worth these; at least one."""
        answers = list(answers)
        return Answer(
            max(answer.low for answer in answers),
            max(answer.high for answer in answers),
            sum(answer.nodes for answer in answers),
            sum(answer.seconds for answer in answers),
        )

    def __str__(self) -> str:
        if self.outcome is None:
            return f"a lead of {self.low} to {self.high}"
        result = ("loss", "draw", "win")[self.outcome + 1]
        if self.outcome == 0:
            return result
        if self.lead is None:
            return result
        return f"{result} by {abs(self.lead)}"


@dataclass(frozen=True)
class Known:
    """What a solver knows of a position without a search.

    Attributes:
        low: the mover can lead by at least so much at the end.
        high: and not by more than this.
        effort: length in bits of the number of positions that were searched for it.
    """

    low: int
    high: int
    effort: int


class CorsoSolver:
    """Searches positions of Corso on boards up to 5 x 5, with a table that it keeps.

    Nothing in the answers depends on the arguments, only how long they take.

    Args:
        game: the rules.
        memory: bytes that the table may take.
        threads: that search at the same time, when there are several positions to search.
        seed: of the function that scrambles the keys of the table.
        eager: gain from which on an expansion is tried before placements.

    Raises:
        ValueError: the game is not Corso, the board is too large, or the memory too little.
    """

    def __init__(
        self,
        game: Game,
        memory: int = 1 << 30,
        threads: int = 1,
        seed: int = 0,
        eager: int = EAGER,
    ) -> None:
        self.game = check_game(game)
        size = self.game.size
        self.threads = threads
        self._table = new_table(size, memory)
        self._boards = board_record(size, len(self._table), seed)
        self._workers = new_workers(threads, eager)

    @property
    def nodes(self) -> int:
        """Positions searched since the solver was made."""
        return int(self._workers["nodes"].sum())

    @property
    def memory(self) -> int:
        """Bytes of the table."""
        return int(self._table.nbytes)

    @property
    def filled(self) -> float:
        """Share of the table that is in use, from a sample of its entries."""
        step = max(1, len(self._table) >> 20)
        return float((self._table[::step] != 0).mean())

    def at_least(self, position: Position, lead: int) -> bool:
        """Whether the mover can lead by ``lead`` or more at the end."""
        return self._bound(0, self._cells(position), lead) >= lead

    def outcome(
        self, position: Position, show: Show | None = None, limit: int = NO_LIMIT
    ) -> Answer:
        """Whether the mover wins, draws or loses; the lead is bounded only.

        With a ``limit``, the search ends after so many positions, and the answer is what was
        found until then.
        """
        return self.answer_all([position], False, show, limit)[0]

    def lead(self, position: Position, show: Show | None = None, limit: int = NO_LIMIT) -> Answer:
        """The mover's exact lead at the end; ``limit`` as for `outcome`."""
        return self.answer_all([position], True, show, limit)[0]

    def recall(self, position: Position) -> Known:
        """What is known of a position without a search, from its fixed cells and the table."""
        if position.is_over:
            lead = position.score * (1 - 2 * position.mover)
            return Known(lead, lead, 0)
        cells = self._cells(position)
        return Known(*kernels.recall(self._boards[0], self._table, self._workers[0], *cells))

    def choices(self, position: Position, low: int) -> list[int]:
        """The best of the actions that are known to lead by ``low`` or more; equally good ones.

        This is for right after a search of the position that found the bound ``low``, while the
        table knows what the search learned. If it is a win, the best are those that were proven
        with the least effort; else those that may not lose, and of these the ones of most
        effort, which the opponent has to refute in the longest search.
        """
        worth: dict[int, tuple[bool, int]] = {}
        children = {action: after(position, action) for action in position.legal_actions.tolist()}
        for action, child in children.items():
            known = self.recall(child)
            if -known.high >= low:
                effort = -known.effort if low > 0 else known.effort
                worth[action] = (-known.low >= 0, effort)
        if not worth:  # what was learned has had to make room in the table: search again
            return [next(a for a, child in children.items() if not self._exceeds(child, -low))]
        best = max(worth.values())
        return [action for action, value in worth.items() if value == best]

    def _exceeds(self, position: Position, lead: int) -> bool:
        """Whether the mover can lead by more than ``lead``; the game may be over."""
        if position.is_over:
            return self.recall(position).low > lead
        return self.at_least(position, lead + 1)

    def actions(
        self, position: Position, exact: bool = True, show: Show | None = None
    ) -> dict[int, Answer]:
        """The legal actions with what they are worth to the mover, the best first.

        Args:
            position: not finished.
            exact: the leads; else only who wins.
            show: see `Show`.
        """
        self._cells(position)
        children = [after(position, int(action)) for action in position.legal_actions]
        answers = [answer.reversed() for answer in self.answer_all(children, exact, show)]
        worth = dict(zip(position.legal_actions.tolist(), answers, strict=True))
        return dict(sorted(worth.items(), key=lambda item: (-item[1].low, -item[1].high)))

    def answer_all(
        self,
        positions: Iterable[Position],
        exact: bool,
        show: Show | None = None,
        limit: int = NO_LIMIT,
    ) -> list[Answer]:
        """Answers for several positions; each thread takes the next one when it is free.

        A finished position has the lead on its board. ``limit`` is for each position, see
        `outcome`. Interrupting the search (Ctrl-C) ends the threads before the exception goes on.
        """
        positions = list(positions)
        answers: dict[int, Answer] = {}
        for number, position in enumerate(positions):
            if position.game != self.game:
                raise ValueError(f"this solves {self.game}, not {position.game}")
            if position.is_over:
                lead = position.score * (1 - 2 * position.mover)
                answers[number] = Answer(lead, lead, 0, 0.0)
        finished = len(answers)
        waiting = [number for number in range(len(positions)) if number not in answers]
        self._workers["stop"] = 0
        try:
            found = answer_side_by_side(
                range(self.threads),
                waiting,
                lambda thread, number: self._answer(
                    thread, cells_of(positions[number]), exact, limit
                ),
                lambda: self._workers["stop"].fill(1),
                lambda answered: show(self.nodes, finished + answered) if show else None,
            )
        finally:
            self._workers["stop"] = 0
        answers |= zip(waiting, found, strict=True)
        return [answers[number] for number in range(len(positions))]

    def _answer(self, thread: int, cells: Cells, exact: bool, limit: int) -> Answer:
        """Narrow the bounds until they tell who wins, or until they meet.

        The windows are those of MTD(f) (Plaat and others, "Best-first fixed-depth minimax
        algorithms", 1996): the first is between loss and win, each further one is just beyond
        the bound that the one before returned.
        """
        started = time.perf_counter()
        worker = self._workers[thread]
        begin = int(worker["nodes"])
        worker["limit"] = min(NO_LIMIT, begin + limit)
        low, high = -self.game.num_actions, self.game.num_actions
        target = 1
        while low < high and (exact or not (low > 0 or high < 0)):
            bound = self._bound(thread, cells, target)
            if worker["stop"] or worker["nodes"] >= worker["limit"]:
                break
            if bound >= target:
                low = max(low, bound)
                target = low + 1
            else:
                high = min(high, bound)
                target = high
        worker["limit"] = NO_LIMIT
        nodes = int(worker["nodes"]) - begin
        return Answer(low, high, nodes, time.perf_counter() - started)

    def _bound(self, thread: int, cells: Cells, target: int) -> int:
        return int(
            kernels.search(self._boards[0], self._table, self._workers[thread], *cells, target, 0)
        )

    def _cells(self, position: Position) -> Cells:
        if position.game != self.game:
            raise ValueError(f"this solves {self.game}, not {position.game}")
        if position.is_over:
            raise ValueError("the game is over: there is nothing to search")
        return cells_of(position)


def after(position: Position, action: int) -> Position:
    """The position that an action leads to."""
    child = position.copy()
    child.play(action)
    return child


def first_actions(game: Game) -> list[int]:
    """One first action of each class of those that symmetry makes equal, the lowest number."""
    symmetries = game.symmetries().actions
    classes = np.unique(symmetries.min(axis=0))
    return [int(action) for action in classes]
