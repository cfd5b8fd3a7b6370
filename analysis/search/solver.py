"""`EndgameSolver`: exact values of late positions of any game, by search."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import reward

from ..side_by_side import answer_side_by_side
from . import kernels

#: Positions that a question may take unless told otherwise, and bytes of the table.
LIMIT = 10_000_000
MEMORY = 1 << 28

_SHARE = 1 << 16  # positions that a thread searches between two looks at the limit

#: Called now and then with the positions searched so far and how many questions are answered.
Show = Callable[[int, int], None]


@dataclass(frozen=True)
class Answer:
    """What a search found out about a position, for its player to move.

    Values are numbers: a draw is 0, a win ``span`` plus the final lead, a loss the (negative) lead
    less ``span``. So winning comes first and then the lead. Where leads are not asked for, or the
    game has none, ``span`` is 1 and values are 1, 0 and -1.

    Attributes:
        low: the value is no less.
        high: and no greater.
        span: what a win is worth besides the lead.
        nodes: positions that were searched for it.
        seconds: that it took.
    """

    low: int
    high: int
    span: int
    nodes: int
    seconds: float

    @property
    def is_decided(self) -> bool:
        """Whether the value is known exactly."""
        return self.low == self.high

    @property
    def outcome(self) -> int | None:
        """+1 a win, 0 a draw, -1 a loss, None if it is not known."""
        if self.low > 0:
            return 1
        if self.high < 0:
            return -1
        return 0 if self.is_decided else None

    @property
    def result(self) -> str | None:
        """``win``, ``draw`` or ``loss``, None if it is not known."""
        return None if self.outcome is None else ("loss", "draw", "win")[self.outcome + 1]

    @property
    def leads(self) -> tuple[int, int] | None:
        """Least and greatest final lead of the mover; None if the search does not count.

        Draws have no lead here, also where the game stopped at its ply cap.
        """
        if self.span == 1:
            return None
        most = self.span // 2
        if self.outcome is None:
            return -most, most
        offset = self.outcome * self.span
        return max(self.low - offset, -most), min(self.high - offset, most)

    def reversed(self) -> Answer:
        """The same for the opponent."""
        return Answer(-self.high, -self.low, self.span, self.nodes, self.seconds)

    @staticmethod
    def best(answers: Iterable[Answer]) -> Answer:
        """What a position is worth whose actions are worth these; at least one."""
        answers = list(answers)
        return Answer(
            max(answer.low for answer in answers),
            max(answer.high for answer in answers),
            answers[0].span,
            sum(answer.nodes for answer in answers),
            sum(answer.seconds for answer in answers),
        )

    def __str__(self) -> str:
        if self.result is None:
            if self.low >= 0:
                return "draw or win"
            return "draw or loss" if self.high <= 0 else "not decided"
        if self.leads is None or self.outcome == 0:
            return self.result
        least, most = sorted(map(abs, self.leads))
        return f"{self.result} by {least}" + (f" to {most}" if least < most else "")


class EndgameSolver:
    """Searches positions of one game to the end, with a table that it keeps.

    Nothing in the answers depends on the arguments but ``leads``, only how long they take.

    Args:
        game: the rules.
        leads: ask for the lead at the end too, not only who wins, in games that have points.
        memory: bytes that the table may take.
        threads: that search at the same time, when there are several positions to search.
        seed: of the keys of the table.

    Raises:
        ValueError: the memory is too little, there is no thread, or the game has more points than
            the search has room for.
    """

    def __init__(
        self,
        game: Game,
        leads: bool = True,
        memory: int = MEMORY,
        threads: int = 1,
        seed: int = 0,
    ) -> None:
        if threads < 1:
            raise ValueError(f"threads are 1 or more, not {threads}")
        self.game = game
        self.threads = threads
        self.span = 2 * game.max_score + 1 if leads else 1
        if self.span + game.max_score >= kernels.OFFSET - 1:
            raise ValueError(
                f"{game} can end with a lead of {game.max_score}, which is too much for this "
                "search; ask without leads"
            )
        self._table = _new_table(memory)
        masks = _key_masks(game)
        factors = np.random.default_rng(seed).integers(
            -(1 << 63), (1 << 63) - 1, (3, len(masks)), np.int64, endpoint=True
        )
        self._keys = (masks, factors)
        self._kernels = specialise(kernels, game.rules)
        self._threads = [_Thread(game, len(masks)) for _ in range(threads)]

    @property
    def nodes(self) -> int:
        """Positions searched since the solver was made: actions played, repetitions included."""
        return sum(thread.nodes for thread in self._threads)

    @property
    def memory(self) -> int:
        """Bytes of the table."""
        return int(self._table.nbytes)

    @property
    def filled(self) -> float:
        """Share of the table that is in use, from a sample of its entries."""
        step = max(1, len(self._table) >> 20)
        return float((self._table[::step, 1] != 0).mean())

    def forget(self) -> None:
        """Empty the table: what follows then takes as long as if it had been asked first."""
        self._table = np.zeros_like(self._table)

    def value(self, position: Position, limit: int = LIMIT, show: Show | None = None) -> Answer:
        """What a position is worth to its player to move."""
        return self.answer_all([position], limit, show)[0]

    def actions(
        self, position: Position, limit: int = LIMIT, show: Show | None = None
    ) -> dict[int, Answer]:
        """The legal actions with what they are worth to the mover, the best first.

        Args:
            position: not finished.
            limit: positions to search for all of them together; answers that would take more
                stay bounds. With several threads it is kept only roughly.
            show: see `Show`.

        Raises:
            ValueError: the game is over, or it is another one.
        """
        if position.is_over:
            raise ValueError("the game is over: there is nothing to search")
        after = {}
        for action in position.legal_actions:
            after[int(action)] = position.copy()
            after[int(action)].play(int(action))
        found = self.answer_all(list(after.values()), limit, show)
        answers = {
            action: answer if child.mover == position.mover else answer.reversed()
            for (action, child), answer in zip(after.items(), found, strict=True)
        }
        return dict(
            sorted(answers.items(), key=lambda item: (item[1].low, item[1].high), reverse=True)
        )

    def answer_all(
        self, positions: Sequence[Position], limit: int = LIMIT, show: Show | None = None
    ) -> list[Answer]:
        """What positions are worth to their players to move, searched on all threads.

        Args:
            positions: finished ones too.
            limit: as for `actions`.
            show: see `Show`.

        Raises:
            ValueError: a position is of another game, or the limit is negative.
        """
        if limit < 0:
            raise ValueError(f"the limit is a number of positions, not {limit}")
        for position in positions:
            if position.game != self.game:
                raise ValueError(f"this solves {self.game}, not {position.game}")
        pool = _Pool(limit)
        before = self.nodes
        return answer_side_by_side(
            self._threads,
            positions,
            lambda thread, position: self._answer(thread, position, pool),
            pool.close,
            lambda answered: show(self.nodes - before, answered) if show else None,
        )

    def _answer(self, thread: _Thread, position: Position, pool: _Pool) -> Answer:
        """Narrow the bounds until they meet, or the pool is empty.

        The windows are those of MTD(f) (Plaat and others, "Best-first fixed-depth minimax
        algorithms", 1996): the first is whether player 0 wins, each further one is just beyond
        the bound that the one before returned.
        """
        started = time.perf_counter()
        nodes = thread.nodes
        most = self.span + self.span // 2
        low, high = -most, most
        if position.is_over:
            low = high = self._final_value(position)
        target = 1
        while low < high:
            bounds = self._ask(thread, position, target, pool)
            if bounds is None:
                break
            low, high = max(low, bounds[0]), min(high, bounds[1])
            target = low + 1 if low >= target else high
        seconds = time.perf_counter() - started
        answer = Answer(low, high, self.span, thread.nodes - nodes, seconds)
        return answer.reversed() if position.mover else answer

    def _ask(
        self, thread: _Thread, position: Position, target: int, pool: _Pool
    ) -> tuple[int, int] | None:
        """Bounds that tell whether player 0 gets ``target``, or None if the pool is empty."""
        line, workers, frames = thread.line, thread.workers, thread.frames
        room = (line, thread.words, workers, frames, thread.children)
        last_bucket = len(self._table) // kernels.BUCKET - 1
        setting = (self.game.tables, self.span, self._table, last_bucket, *self._keys)
        line[0] = position.states[0]
        is_answered = False
        self._kernels.begin(setting, *room, target)
        spent = 0
        while not is_answered:
            share = pool.take(_SHARE)
            if share == 0:
                return None
            spent = thread.nodes
            is_answered = self._kernels.search(setting, *room, target, share)
            pool.give_back(share - (thread.nodes - spent))
        return int(frames["low"][0]), int(frames["high"][0])

    def _final_value(self, position: Position) -> int:
        result = reward(position.outcome, 0)
        return result * self.span + position.score if result and self.span > 1 else result


class _Thread:
    """What a thread needs to search: room for one line of play."""

    def __init__(self, game: Game, words: int) -> None:
        plies = game.max_plies + 1
        self.line = game.new_states(plies)
        self.words = self.line.view(np.uint32).reshape(plies, words)
        self.workers = np.zeros(1, kernels.WORKER)
        self.frames = np.zeros(plies, kernels.FRAME)
        self.children = np.zeros((plies, game.num_actions), kernels.CHILD)

    @property
    def nodes(self) -> int:
        return int(self.workers["nodes"][0])


class _Pool:
    """Positions that may still be searched, for all threads together."""

    def __init__(self, positions: int) -> None:
        self._left = positions
        self._lock = threading.Lock()

    def take(self, share: int) -> int:
        """Up to ``share`` positions, none when the pool is empty or closed."""
        with self._lock:
            share = max(0, min(share, self._left))
            self._left -= share
            return share

    def give_back(self, positions: int) -> None:
        """Return what was not used; less than nothing if more was."""
        with self._lock:
            self._left += positions

    def close(self) -> None:
        """Let nobody take any more."""
        with self._lock:
            self._left = -(1 << 62)


def _new_table(memory: int) -> np.ndarray:
    bucket = kernels.BUCKET * 16
    if memory < bucket:
        raise ValueError(f"a table takes {bucket} bytes or more, not {memory}")
    return np.zeros((kernels.BUCKET << (memory // bucket).bit_length() - 1, 2), np.int64)


def _key_masks(game: Game) -> np.ndarray:
    """Which bits of the words of a record belong to the position, uint32[words].

    All but what is between the fields, and the fields that are only a log.
    """
    mask = game.new_states(1)
    content = mask.view(np.uint8)
    for name, (dtype, offset, *_) in (game.state_dtype.fields or {}).items():
        if name not in game.log_fields:
            content[offset : offset + dtype.itemsize] = 0xFF
    return mask.view(np.uint32).copy()
