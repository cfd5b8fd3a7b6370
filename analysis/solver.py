"""`Solver`: the common interface of all searches for exact values."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

import numpy as np

from ludarium.base.progress import SILENT, Progress
from ludarium.base.threads import run_tasks
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.training.exact_values import Value, ValueBounds

#: A node limit that no search reaches.
NO_LIMIT = 1 << 62


class Solver(ABC):
    """Searches positions of one game for their exact values.

    The transposition table is kept from call to call.

    The answers of a finished search depend on the game alone; other arguments change how long it
    takes. Only one call may run at a time.

    Attributes:
        game: the rules.
        threads: how many threads search at the same time if there are several positions.
        default_limit: default number of positions to search in one call.
        source: the kind of search, in words for people who ask for a value.

    A search is made by ``(game, memory=..., threads=...)``, where memory is the bytes of its table.

    Args:
        game: the rules.
        table: the transposition table, 64-bit integers [entries] or [entries, 2]; a free entry
            ends with 0.
        threads: 1 or more.

    Raises:
        ValueError: there is no thread.
    """

    default_limit: ClassVar[int] = NO_LIMIT
    source: ClassVar[str]

    def __init__(self, game: Game, table: np.ndarray, threads: int) -> None:
        if threads < 1:
            raise ValueError(f"threads are 1 or more, not {threads}")
        self.game = game
        self.threads = threads
        self._table = table
        self._end = 0  # node count at which the current call stops
        self._is_stopped = False

    @property
    @abstractmethod
    def nodes(self) -> int:
        """Positions searched since the solver was made, repetitions included."""

    @property
    def memory(self) -> int:
        """Bytes of the table."""
        return int(self._table.nbytes)

    @property
    def filled(self) -> float:
        """Fraction of the table's entries in use, estimated from a sample."""
        step = max(1, len(self._table) >> 20)
        return float((self._table.reshape(len(self._table), -1)[::step, -1] != 0).mean())

    def answer(
        self,
        position: Position,
        limit: int | None = None,
        progress: Progress = SILENT,
        leads: bool = True,
    ) -> ValueBounds:
        """The value of one position for its player to move.

        Arguments and errors as for `answer_all`.
        """
        return self.answer_all([position], limit, progress, leads)[0]

    def actions(
        self,
        position: Position,
        limit: int | None = None,
        progress: Progress = SILENT,
        leads: bool = True,
    ) -> dict[int, ValueBounds]:
        """The legal actions with their answers for the mover, the best first.

        Arguments as for `answer_all`.

        Raises:
            ValueError: the game is over; or see `answer_all`.
        """
        if position.is_over:
            raise ValueError("the game is over: there is nothing to search")
        children = {action: after(position, action) for action in position.legal_actions.tolist()}
        answers = self.answer_all(list(children.values()), limit, progress, leads)
        return ValueBounds.best_first(
            {
                action: answer if child.mover == position.mover else answer.reversed()
                for (action, child), answer in zip(children.items(), answers, strict=True)
            }
        )

    def answer_all(
        self,
        positions: Sequence[Position],
        limit: int | None = None,
        progress: Progress = SILENT,
        leads: bool = True,
    ) -> list[ValueBounds]:
        """The values of positions for their players to move; threads share the positions.

        Args:
            positions: positions of this game, finished ones too.
            limit: positions to search for all of them together, `default_limit` by default;
                answers that would take more remain bounds. It is kept only roughly.
            progress: counts the positions; stopping it ends the search early.
            leads: ask for the lead at the end too, in games that have points; otherwise only who
                wins, which takes less.

        Raises:
            ValueError: a position is of another game, the limit is negative, or the search cannot
                find leads in this game.
        """
        limit = self.default_limit if limit is None else limit
        if limit < 0:
            raise ValueError(f"the limit is a number of positions, not {limit}")
        for position in positions:
            if position.game != self.game:
                raise ValueError(f"this solves {self.game}, not {position.game}")
        begin = self.nodes
        self._end = begin + min(limit, NO_LIMIT)

        told = 0
        progress.begin("positions answered", len(positions))
        part = progress.part(on_stop=partial(self._stop, True))

        def watch(answered: int) -> None:
            nonlocal told
            spent = self.nodes - begin
            progress.advance(answered - told, f"{spent / 1e6:,.1f} M positions searched")
            told = answered
            if part.stopped or spent >= limit:
                part.stop()

        try:
            found = run_tasks(
                lambda thread, number: self._timed(thread, positions[number], leads),
                len(positions),
                self.threads,
                part,
                watch,
            )
        finally:
            self._stop(False)
        unknown = ValueBounds(*self._bounds_of_all())
        answers = [found.get(number, unknown) for number in range(len(positions))]
        return answers if leads else [answer.without_lead() for answer in answers]

    def _timed(self, thread: int, position: Position, leads: bool) -> ValueBounds:
        if position.is_over:
            return ValueBounds.exact(self._final_value(position))
        started, nodes = time.perf_counter(), self._nodes_of(thread)
        low, high = self._search(thread, position, leads)
        return ValueBounds(low, high, self._nodes_of(thread) - nodes, time.perf_counter() - started)

    def _stop(self, is_stopped: bool) -> None:
        """Make running searches stop soon, or allow searches again."""
        self._is_stopped = is_stopped

    def _left(self) -> int:
        """Positions that the current call may still search."""
        return 0 if self._is_stopped else max(0, self._end - self.nodes)

    @abstractmethod
    def _nodes_of(self, thread: int) -> int:
        """Positions that a thread has searched."""

    @abstractmethod
    def _search(self, thread: int, position: Position, leads: bool) -> tuple[Value, Value]:
        """Bounds of an unfinished position's value for its mover, within `_left` positions."""

    @abstractmethod
    def _bounds_of_all(self) -> tuple[Value, Value]:
        """Bounds of every value that a position can have."""

    @abstractmethod
    def _final_value(self, position: Position) -> Value:
        """The value of a finished game for the player whose turn it would be."""


def after(position: Position, action: int) -> Position:
    """The position after an action."""
    child = position.copy()
    child.play(action)
    return child
