"""`EndgameSolver`: exact values of late positions of any game, by search."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ludarium.base.memory import zeros
from ludarium.base.numbers import require_seed
from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import reward
from ludarium.training.exact_values import Value

from ..solver import Solver
from ..window import first_target, is_open, next_target
from . import kernels

#: Default size of the transposition table in bytes.
MEMORY = 1 << 28

_SHARE = 1 << 16  # most positions that a thread searches between checks of the limit


class EndgameSolver(Solver):
    """Searches positions of one game to the end, with a table that it keeps.

    Values are searched as numbers: a draw is 0, a win ``span`` plus the final lead, a loss the
    (negative) lead minus ``span``. So winning comes first and then the lead. If the game has no
    points, or more than fit (`span_of`), ``span`` is 1 and values are 1, 0 and -1. In the second
    case the search refuses to find leads.

    Args:
        game: the rules.
        memory: bytes that the table may take.
        threads: how many threads search at the same time if there are several positions.
        seed: seed of the keys of the table.

    Raises:
        ValueError: the memory is too little or more than there is, there is no thread, or ``seed``
            is not a seed.
    """

    default_limit: ClassVar[int] = 100_000_000
    source: ClassVar[str] = "search to the end of the game"

    def __init__(
        self,
        game: Game,
        memory: int = MEMORY,
        threads: int = 1,
        seed: int = 0,
    ) -> None:
        super().__init__(game, _new_table(memory), threads)
        self.span = self.span_of(game)
        self._has_room = game.max_score == 0 or self.span > 1
        masks = key_masks(game)
        self._keys = (masks, random_factors(len(masks), seed))
        self._kernels = specialise(kernels, game)
        self._rooms = [_Room(game, len(masks)) for _ in range(threads)]

    @staticmethod
    def span_of(game: Game) -> int:
        """The value of a win besides the lead; 1 if leads do not fit into the search's numbers."""
        span = 2 * game.max_score + 1
        return span if span + game.max_score < kernels.OFFSET - 1 else 1

    @property
    def nodes(self) -> int:
        """Positions searched since the solver was made: actions played, repetitions included."""
        return sum(room.nodes for room in self._rooms)

    def _nodes_of(self, thread: int) -> int:
        return self._rooms[thread].nodes

    def _search(self, thread: int, position: Position, leads: bool) -> tuple[Value, Value]:
        """Narrow the bounds of player 0's value until they answer the question; see `window`."""
        if leads and not self._has_room:
            raise ValueError(
                f"{self.game} can end with a lead of {self.game.max_score}, which is too much for "
                "this search; ask who wins only"
            )
        high = self.span + self.span // 2
        low = -high
        target = first_target(low, high)
        while is_open(low, high, leads):
            bounds = self._ask(self._rooms[thread], position, target)
            if bounds is None:
                break
            low, high = max(low, bounds[0]), min(high, bounds[1])
            target = next_target(low, high, target)
        values = self._value(low), self._value(high)
        return (-values[1], -values[0]) if position.mover else values

    def _ask(self, room: _Room, position: Position, target: int) -> tuple[int, int] | None:
        """Bounds that tell whether player 0 gets ``target``, or None if the limit is reached."""
        if not self._left():
            return None
        spaces = (room.line, room.words, room.workers, room.frames, room.children)
        last_bucket = len(self._table) // kernels.BUCKET - 1
        setting = (self.game.tables, self.span, self._table, last_bucket, *self._keys)
        room.line[0] = position.states[0]
        self._kernels.begin(setting, *spaces, target)
        is_answered = False
        while not is_answered:
            left = self._left()
            if left == 0:
                return None
            share = min(_SHARE, -(-left // self.threads))
            is_answered = self._kernels.search(setting, *spaces, target, share)
        return int(room.frames["low"][0]), int(room.frames["high"][0])

    def _value(self, number: int) -> Value:
        """The `Value` for a number of the search."""
        outcome = (number > 0) - (number < 0)
        if self.span == 1:
            return Value(outcome)
        most = self.span // 2
        # A bound may lie between the least win and a draw, where no value exists.
        return Value(outcome, outcome and max(-most, min(most, number - outcome * self.span)))

    def _bounds_of_all(self) -> tuple[Value, Value]:
        most = self.span + self.span // 2
        return self._value(-most), self._value(most)

    def _final_value(self, position: Position) -> Value:
        sign = 1 - 2 * position.mover
        result = reward(position.outcome, 0)
        if self.span == 1:
            return Value(result * sign)
        return Value(result * sign, result and position.score * sign)


class _Room:
    """Scratch space of a thread for one line of play."""

    def __init__(self, game: Game, words: int) -> None:
        plies = game.max_plies + 1
        self.line = game.new_states(plies)
        self.words = self.line.view(np.uint32).reshape(plies, words)
        self.workers = np.zeros(1, kernels.WORKER)
        self.frames = np.zeros(plies, kernels.FRAME)
        self.children = np.zeros((plies, game.num_actions), kernels.CHILD)

    @property
    def nodes(self) -> int:
        """Positions searched by this thread."""
        return int(self.workers["nodes"][0])


def _new_table(memory: int) -> np.ndarray:
    bucket = kernels.BUCKET * 16
    if memory < bucket:
        raise ValueError(f"a table takes {bucket} bytes or more, not {memory}")
    entries = kernels.BUCKET << (memory // bucket).bit_length() - 1
    return zeros(f"a table of {memory} bytes", (entries, 2), np.int64)


def random_factors(words: int, seed: int) -> np.ndarray:
    """The random numbers that make keys, int64[3, words]."""
    least, most = -(1 << 63), (1 << 63) - 1
    return np.random.default_rng(require_seed(seed)).integers(
        least, most, (3, words), np.int64, endpoint=True
    )


def key_masks(game: Game) -> np.ndarray:
    """Masks of the bits of a record's words that belong to the position, uint32[words].

    They leave out the gaps between fields, and fields that are only a log.
    """
    mask = game.new_states(1)
    content = mask.view(np.uint8)
    for name, (dtype, offset, *_) in (game.state_dtype.fields or {}).items():
        if name not in game.log_fields:
            content[offset : offset + dtype.itemsize] = 0xFF
    return mask.view(np.uint32).copy()
