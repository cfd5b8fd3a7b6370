"""`ConnectFourSolver`: who wins a position of Connect Four with best play, by search."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ludarium.analysis import Solver, Value
from ludarium.envs import Game, Position
from ludarium.envs.engine.compile import specialise

from . import kernels

_SHARE = 1 << 20  # positions that a thread searches between checks of the limit


class ConnectFourSolver(Solver):
    """Searches positions of any board to the end, with a table that it keeps.

    On the board of 7 x 6 a position of eight stones or more takes seconds at most, the start
    minutes.

    Args:
        game: the rules.
        memory: bytes that the table may take.
        threads: how many threads search at the same time if there are several positions.
    """

    source: ClassVar[str] = "search made for Connect Four"

    def __init__(self, game: Game, memory: int = 1 << 28, threads: int = 1) -> None:
        rows = 1 << (max(memory, 32) // 16).bit_length() - 1
        super().__init__(game, np.zeros((rows, 2), np.uint64), threads)
        self._boards = kernels.board_record(game, rows)
        self._kernels = specialise(kernels, game)
        self._workers = np.zeros((threads, 1), kernels.WORKER)
        self._frames = np.zeros((threads, kernels.PLIES), kernels.FRAME)

    @property
    def nodes(self) -> int:
        """Positions searched since the solver was made, repetitions included."""
        return int(self._workers["nodes"].sum())

    def _nodes_of(self, thread: int) -> int:
        return int(self._workers[thread, 0]["nodes"])

    def _search(self, thread: int, position: Position, leads: bool) -> tuple[Value, Value]:
        low, high = -1, 1
        for target in (1, 0):
            answer = self._ask(thread, position, target) if low < high else None
            if answer is not None:
                low, high = (target, high) if answer else (low, target - 1)
        return Value(low), Value(high)

    def _ask(self, thread: int, position: Position, target: int) -> bool | None:
        """Whether the mover gets ``target``; None if the limit is reached."""
        room = (self._boards, self._table, self._workers[thread], self._frames[thread])
        mover = position.mover
        stones = position.state.stones[[mover, 1 - mover]]
        self._kernels.begin(*room, stones, target)
        while left := self._left():
            if self._kernels.search(*room, min(_SHARE, -(-left // self.threads))):
                return bool(self._workers[thread, 0]["answer"])
        return None

    def _bounds_of_all(self) -> tuple[Value, Value]:
        return Value(-1), Value(1)

    def _final_value(self, position: Position) -> Value:
        return Value(int(position.rewards[position.mover]))
