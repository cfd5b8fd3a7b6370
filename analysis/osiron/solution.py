"""The solution of Osiron: made by retrograde analysis, kept in a file, asked for values."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.messages import quoted
from ludarium.envs.engine.threads import available_cores, split
from ludarium.envs.osiron import Osiron
from ludarium.envs.osiron.rules import NO_PAIR

from ..answer import Value
from ..progress import Progress, Show
from ..solution import TableSolution
from ..table import default_path, read_table, write_table
from . import kernels as templates
from .colourings import all_colourings, board_record
from .kernels import COLOURINGS, WIN

_FORMAT = 1


@dataclass(frozen=True)
class Totals:
    """How many unfinished positions are won, lost and drawn, for the player to move.

    A position is a colouring in which nobody holds a circle that counts for them, a player to
    move, and no forbidden pair; in the figures with ``_all`` there are also the positions with
    each forbidden pair that may have been exchanged last, its ends being of different colours.

    Attributes:
        longest_win: plies of the longest win, with or without a forbidden pair.
        longest_win_unforbidden: the same of positions without a forbidden pair.
    """

    won: int
    lost: int
    drawn: int
    won_all: int
    lost_all: int
    drawn_all: int
    longest_win: int
    longest_win_unforbidden: int


def rule_set(game: Game) -> str:
    """The name of the rules of a game's positions: a random setup has those of "alternating"."""
    return "beginner" if game.options["setup"] == "beginner" else "alternating"


def table_path(rules: str) -> Path:
    """Default path of the table for a rule set."""
    return default_path(f"osiron-v{Osiron.version}-{rules}")


class OsironSolution(TableSolution):
    """The value of every position of Osiron under one rule set.

    Play without end is a draw; draws by repetition and the ply cap are left out. Whoever wins
    by the table comes closer to the end with each ply and repeats nothing.

    Args:
        game: any game with these rules, whatever its cap, repetitions or start.
        words: what `solve` made, or `load` read: int32[2704156], read-only; one word for each
            colouring as its mover sees it (see the kernels' sources).
    """

    source: ClassVar[str] = "table of all positions (repetitions and the ply cap are left out)"

    def __init__(self, game: Game, words: np.ndarray) -> None:
        super().__init__(game)
        self._words = words
        self._words.flags.writeable = False
        self._board = board_record(game)
        self._kernels = specialise(templates, game.rules)

    @classmethod
    def of(cls, game: Game) -> Self:
        """The solution for a game: from the table that was kept, or made now and kept.

        Raises:
            ValueError: the table is damaged.
        """
        path = table_path(rule_set(game))
        if path.is_file():
            return cls.load(path, game)
        print(f"ludarium: solving osiron ({rule_set(game)}), once, some seconds", file=sys.stderr)
        solution = cls.solve(game)
        try:
            solution.save(path)
        except OSError as error:
            print(f"ludarium: the solution could not be kept: {error}", file=sys.stderr)
        return solution

    @classmethod
    def solve(cls, game: Game, show: Show | None = None, threads: int | None = None) -> Self:
        """Solve the game from the end backwards.

        Args:
            game: the rules.
            show: is told of each layer, see `Show`.
            threads: by default as many as there are cores. The result does not depend on it.
        """
        workers = available_cores() if threads is None else threads
        if workers < 1:
            raise ValueError(f"threads are 1 or more, not {workers}")
        kernels = specialise(templates, game.rules)
        board, colourings = board_record(game), all_colourings()
        words = np.empty(COLOURINGS, np.int32)
        marks, next_marks = np.zeros((2, COLOURINGS), np.uint8)
        changed = np.zeros(workers, np.int64)

        def start(begin: int, end: int) -> None:
            kernels.start(board, colourings, words, marks, begin, end)

        split(start, COLOURINGS, workers)
        for layer in range(1, WIN):
            arguments = (board, colourings, words, marks, next_marks, layer)

            def decide(begin: int, end: int, arguments: tuple = arguments) -> None:
                for worker in range(begin, end):
                    changed[worker] = kernels.decide(*arguments, worker, workers)

            split(decide, workers, workers)
            if show is not None:
                stage = f"decided in {layer} plies: {changed.sum():,} colourings"
                show(Progress(layer, stage=stage))
            if not changed.any():
                return cls(game, words)
            marks, next_marks = next_marks, marks
        raise OverflowError(f"some win takes {WIN} plies or more: a byte does not hold that")

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the table to a file, with the totals in its description; returns the path."""
        description = {
            "format": _FORMAT,
            "game": self.game.name,
            "version": self.game.version,
            "rules": rule_set(self.game),
            "totals": asdict(self.totals),
        }
        return write_table(path, description, self._words)

    @classmethod
    def load(cls, path: str | os.PathLike[str], game: Game) -> Self:
        """Read a table; its checksum is verified.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is no table, or for other rules, or damaged.
        """
        description, words = read_table(path, np.int32, (COLOURINGS,))
        wanted = {
            "format": _FORMAT,
            "game": game.name,
            "version": game.version,
            "rules": rule_set(game),
        }
        found = {key: description.get(key) for key in wanted}
        if found != wanted:
            differences = ", ".join(
                f"{key} {quoted(found[key])} instead of {value!r}"
                for key, value in wanted.items()
                if found[key] != value
            )
            raise ValueError(f"the table {path} is for something else: {differences}")
        return cls(game, words)

    def planes(self) -> np.ndarray:
        """The table by bytes, uint8[3, N], for programs that store it in little room.

        Of each colouring the best and the second best value, plus 128, and the best pair; no pair
        where both are the same, so that it does not matter.
        """
        best, second = self._words >> 16, self._words >> 8 & 0xFF
        pairs = np.where(best == second, NO_PAIR, self._words & 0xFF)
        return np.stack([best, second, pairs]).astype(np.uint8)

    @cached_property
    def totals(self) -> Totals:
        """How many positions are won, lost and drawn."""
        counts, counts_all = np.zeros((2, 256), np.int64)
        self._kernels.tally(self._board, all_colourings(), self._words, counts, counts_all)
        return Totals(
            *_won_lost_drawn(counts),
            *_won_lost_drawn(counts_all),
            longest_win=_longest_win(counts_all),
            longest_win_unforbidden=_longest_win(counts),
        )

    def values(self, states: np.ndarray) -> np.ndarray:
        """Values of positions; see `TableSolution.values`."""
        values = np.empty(len(states), np.int8)
        self._kernels.look_up(self._board, self._words, states, values)
        return values

    def action_values(self, states: np.ndarray) -> np.ndarray:
        """Values of all actions in positions; see `TableSolution.action_values`."""
        values = np.empty((len(states), self.game.num_actions), np.int8)
        self._kernels.look_up_actions(self._board, self._words, states, values)
        return values

    def decode(self, value: int) -> Value:
        """The `Value` of a number: ``WIN`` minus the plies for a win, the negative for a loss."""
        return Value((value > 0) - (value < 0), plies=WIN - abs(value) if value else None)


def _won_lost_drawn(counts: np.ndarray) -> tuple[int, int, int]:
    """Sums over the wins, losses and draws among counts at ``value + 128``."""
    draw = 128
    return int(counts[draw + 1 :].sum()), int(counts[:draw].sum()), int(counts[draw])


def _longest_win(counts: np.ndarray) -> int:
    """The most plies of a win, 0 if there is none."""
    wins = np.flatnonzero(counts[128 + 1 :]) + 1
    return WIN - int(wins[0]) if len(wins) else 0
