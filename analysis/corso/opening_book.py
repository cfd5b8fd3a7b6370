"""Moves for the first plies, where a search takes long: a file of actions for both seats.

An `OpeningBook` has an entry for every position of the first ``plies`` plies that can arise if the
player to move has followed the opening book until then, whatever the opponent did. If the mover can
win, the action wins. If not, every action loses, and the entry has the one that took the search
the most effort to refute. The positions after each reply to it have entries too, so that no mistake
of the opponent is missed.

A position is stored as the least of its eight numbers to base 5 (see `kernels`), so symmetric
positions share an entry, and so do positions that differ by an exchange of the players. An entry
is one word, ``(number * 25 + cell) * 2 + won``, where the cell belongs to the position with that
number; the words are sorted.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.messages import quoted
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.progress import UNWATCHED, Task

from ..solver import after
from ..table import read_table, write_table
from . import kernels
from .board import board_record, cells_of, check_game, description, new_workers
from .solver import CorsoSolver, first_actions

#: Default number of plies with entries.
PLIES = 7

_CELLS = 25
_ENTRIES = 2 * _CELLS  # possible words of one position


@dataclass(frozen=True)
class BookMove:
    """The entry of an opening book for a position.

    Attributes:
        action: the action to play.
        won: whether the action wins; if not, every action loses.
    """

    action: int
    won: bool


@dataclass(frozen=True)
class Check:
    """Counts of the positions that the check of an opening book visited.

    Attributes:
        won: positions with an entry that says won.
        lost: positions with an entry that says lost.
        beyond: positions without an entry that follow one that says won.
        finished: games that ended after an action that is said to win.
    """

    won: int
    lost: int
    beyond: int
    finished: int


class OpeningBook:
    """Actions in the first plies, for both seats.

    Args:
        game: the rules.
        words: the entries, uint64[N], ascending.
        plies: how many of the first plies have entries.
    """

    def __init__(self, game: Game, words: np.ndarray, plies: int) -> None:
        self.game = check_game(game)
        self.plies = plies
        self._words = words
        self._board = board_record(self.game.size, kernels.BUCKET, 0)[0]
        self._worker = new_workers(1, 0)[0]

    def __len__(self) -> int:
        return len(self._words)

    @classmethod
    def build(cls, solver: CorsoSolver, plies: int = PLIES, task: Task = UNWATCHED) -> OpeningBook:
        """Search the positions that can arise, ply by ply.

        Args:
            solver: finds out who wins; it is faster with a larger table.
            plies: how many plies shall have entries, at least 1.
            task: task that counts the searched positions.

        Raises:
            ValueError: no plies, or one of the positions is a draw.
        """
        if plies < 1:
            raise ValueError(f"an opening book is for 1 or more plies, not {plies}")
        book = cls(solver.game, np.zeros(0, np.uint64), plies)
        words: dict[int, int] = {}
        layer = book._starts()
        while layer:
            # Of equal positions keep the one after the fewest plies, to meet all continuations.
            layer.sort(key=lambda position: -position.ply)
            by_number = {book._number(position)[0]: position for position in layer}
            positions = [by_number[number] for number in by_number if number not in words]
            title = f"positions answered, ply {layer[-1].ply}"
            answers = solver.answer_all(positions, task=task, leads=False, title=title)
            layer = []
            for position, answer in zip(positions, answers, strict=True):
                if answer.outcome == 0:
                    raise ValueError(f"an opening book has no draws, but this is one:\n{position}")
                advice = BookMove(solver.choices(position, answer)[0], answer.outcome == 1)
                number, symmetry = book._number(position)
                cell = int(book._board["to"][symmetry, advice.action])
                words[number] = number * _ENTRIES + 2 * cell + advice.won
                layer += [
                    reply
                    for reply in _replies(position, advice)
                    if not reply.is_over and reply.ply < plies
                ]
        return cls(solver.game, np.array(sorted(words.values()), np.uint64), plies)

    @classmethod
    def load(cls, path: str | os.PathLike[str], game: Game) -> OpeningBook:
        """Read an opening book from a file; its checksum is verified.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is not such a file, or damaged, or for other rules.
        """
        described, words = read_table(path, np.uint64, (None,), description(game))
        plies = described.get("plies")
        if type(plies) is not int or plies < 1:
            raise ValueError(f"{path} is not an opening book: its plies are {quoted(plies)}")
        return cls(game, words, plies)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the opening book to a file; return the path."""
        return write_table(path, description(self.game) | {"plies": self.plies}, self._words)

    def advice(self, position: Position) -> BookMove | None:
        """The entry of an unfinished position; None if there is none."""
        number, symmetry = self._number(position)
        place = int(np.searchsorted(self._words, np.uint64(number * _ENTRIES)))
        if place == len(self._words) or int(self._words[place]) // _ENTRIES != number:
            return None
        cell, won = divmod(int(self._words[place]) % _ENTRIES, 2)
        return BookMove(int(self._board["back"][symmetry, cell]), bool(won))

    def check(self, solver: CorsoSolver, task: Task = UNWATCHED) -> Check:
        """Follow all lines of play by the rules, and check that the opening book is right.

        If an entry says won, the game must be won after its action and any reply, or be in a
        position whose entry says won, or in one without an entry that the solver finds won.
        The solver must find each position lost whose entry says lost.

        Raises:
            ValueError: it is wrong, or an entry is missing; the message shows the position.
        """
        won: set[int] = set()
        lost: set[int] = set()
        beyond: set[int] = set()
        finished = 0
        layer = [(position, position.mover, False) for position in self._starts()]
        while layer:
            replies = []
            ask: dict[int, tuple[Position, int]] = {}
            for position, seat, must_win in layer:
                if position.is_over:
                    finished += must_win
                    if must_win and position.rewards[seat] <= 0:
                        raise ValueError(f"the opening book does not win here:\n{position}")
                    continue
                number, _ = self._number(position)
                advice = self.advice(position)
                if advice is None:
                    if position.ply < self.plies:
                        raise ValueError(f"there is no entry for this position:\n{position}")
                    if must_win and number not in beyond:
                        beyond.add(number)
                        ask[number] = position, 1
                    continue
                if must_win and not advice.won:
                    raise ValueError(f"the opening book does not win here:\n{position}")
                if number in won or number in lost:
                    continue
                if advice.won:
                    won.add(number)
                else:
                    lost.add(number)
                    ask[number] = position, -1
                replies += [(reply, seat, advice.won) for reply in _replies(position, advice)]
            asked = [position for position, _ in ask.values()]
            answers = solver.answer_all(asked, task=task, leads=False, title="positions checked")
            for (position, outcome), answer in zip(ask.values(), answers, strict=True):
                if answer.outcome != outcome:
                    said = "won" if outcome > 0 else "lost"
                    raise ValueError(f"said to be {said}, but it is a {answer}:\n{position}")
            layer = replies
        return Check(len(won), len(lost), len(beyond), finished)

    def _starts(self) -> list[Position]:
        """The first position of each seat: the start, and one for each class of first actions."""
        start = self.game.start()
        return [start] + [after(start, action) for action in first_actions(self.game)]

    def _number(self, position: Position) -> tuple[int, int]:
        """The least number of a position, and the symmetry that gives it."""
        number, symmetry = kernels.number_of(self._board, self._worker, cells_of(position))
        return int(number), int(symmetry)


def shipped_opening_book(game: Game) -> OpeningBook | None:
    """The opening book that ships for a board; None if the board needs none.

    Raises:
        ValueError: the search cannot handle the game, see `check_game`, or the file is damaged.
    """
    size = check_game(game).size
    path = Path(__file__).with_name(f"{size}x{size}.safetensors")
    return OpeningBook.load(path, game) if path.is_file() else None


def _replies(position: Position, advice: BookMove) -> list[Position]:
    """The positions after an action: the end of the game, or one for each reply."""
    child = after(position, advice.action)
    if child.is_over:
        return [child]
    return [after(child, int(reply)) for reply in child.legal_actions]
