"""Computes, counts and keeps the values of all positions of Osiron under one rule set."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from ludarium.base.console import say
from ludarium.base.progress import SILENT, Progress
from ludarium.base.threads import available_cores, parallel_for
from ludarium.envs.engine.compile import specialise
from ludarium.envs.osiron import Osiron

from ..table import default_path, read_table, write_table
from . import kernels as templates
from .colourings import COLOURINGS, RuleSet, all_colourings, board_record
from .kernels import ILLEGAL, WIN

_FORMAT = 2
_BLOCK = 1 << 16  # places that a thread takes at a time


@dataclass(frozen=True)
class Counts:
    """How many unfinished positions have each value, for the player to move.

    Attributes:
        wins: how many positions are won, by plies to the end.
        losses: how many positions are lost, by plies to the end.
        drawn: positions with a legal exchange that are neither won nor lost.
        without_exchange: positions without a legal exchange, in which the game is a draw.
    """

    wins: dict[int, int]
    losses: dict[int, int]
    drawn: int
    without_exchange: int

    @property
    def won(self) -> int:
        """Won positions."""
        return sum(self.wins.values())

    @property
    def lost(self) -> int:
        """Lost positions."""
        return sum(self.losses.values())

    @property
    def longest_win(self) -> int:
        """The most plies of a win, 0 if there is none."""
        return max(self.wins, default=0)

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            wins=dict(sorted((Counter(self.wins) + Counter(other.wins)).items())),
            losses=dict(sorted((Counter(self.losses) + Counter(other.losses)).items())),
            drawn=self.drawn + other.drawn,
            without_exchange=self.without_exchange + other.without_exchange,
        )

    @staticmethod
    def of(counts: np.ndarray) -> Counts:
        """Counts made of counts by value, int64[256], as `kernels.tally` writes them."""
        of_value = {value - 128: int(counts[value]) for value in np.flatnonzero(counts).tolist()}
        return Counts(
            wins={WIN - value: of_value[value] for value in sorted(of_value)[::-1] if value > 0},
            losses={WIN + value: of_value[value] for value in sorted(of_value) if -WIN < value < 0},
            drawn=of_value.get(0, 0),
            without_exchange=of_value.get(ILLEGAL, 0),
        )

    def as_json(self) -> dict[str, Any]:
        """The counts by name; those of wins and losses by plies."""
        counted = {"won": self.won, "lost": self.lost, "longest_win": self.longest_win}
        return {**counted, **vars(self)}


class SolvedTable:
    """The values of all positions under one rule set.

    Play without end is a draw; draws by repetition and the ply cap are left out. A player who wins
    by the table comes closer to the end with each ply and repeats nothing.

    Attributes:
        rules: the rule set.
        words: int32[P * 2704156], read-only; one word for each colouring in each of the P phases,
            see `kernels.packed`.
        board: `board_record` of the rules.
    """

    def __init__(self, rules: RuleSet, words: np.ndarray) -> None:
        self.rules = rules
        self.words = words
        self.words.flags.writeable = False
        self.board = board_record(rules)

    @classmethod
    def of(cls, rules: RuleSet) -> Self:
        """The stored table, or one that is computed now and stored.

        Raises:
            ValueError: the stored table is damaged.
            OverflowError: see `solve`.
        """
        with suppress(RuntimeError):  # the user has no home folder
            if (path := table_path(rules)).is_file():
                return cls.load(path, rules)
        say(f"ludarium: solving osiron ({rules}), once, some seconds")
        table = cls.solve(rules)
        try:
            table.save(table_path(rules))
        except (OSError, RuntimeError) as error:
            say(f"ludarium: the solution could not be kept: {error}")
        return table

    @classmethod
    def solve(cls, rules: RuleSet, progress: Progress = SILENT, threads: int | None = None) -> Self:
        """Solve from the end backwards.

        Args:
            rules: the rule set.
            progress: counts the layers.
            threads: how many threads; by default one per core. The result does not depend on it.

        Raises:
            ValueError: ``threads`` is below 1.
            OverflowError: a win takes 126 plies or more, so longer ones, for which a byte has no
                value, may follow. No rule set has such wins.
        """
        workers = available_cores() if threads is None else threads
        if workers < 1:
            raise ValueError(f"threads are 1 or more, not {workers}")
        progress.begin("plies to the end")
        kernels = specialise(templates, Osiron(movement=rules.movement))
        board, colourings = board_record(rules), all_colourings()
        places = rules.phases * COLOURINGS
        words = np.empty(places, np.int32)
        marks, next_marks = np.zeros((2, places), np.uint8)
        changed = np.zeros(workers, np.int64)

        def start(begin: int, end: int) -> None:
            kernels.start(board, colourings, words, marks, begin, end)

        parallel_for(start, places, workers)
        for layer in range(1, WIN):
            arguments = (board, colourings, words, marks, next_marks, layer)

            def decide(first: int, last: int, arguments: tuple = arguments) -> None:
                for worker in range(first, last):
                    blocks = range(worker * _BLOCK, places, workers * _BLOCK)
                    changed[worker] = sum(
                        kernels.decide(*arguments, begin, min(begin + _BLOCK, places))
                        for begin in blocks
                    )

            parallel_for(decide, workers, workers)
            progress.advance(1, f"values of {changed.sum():,} places changed at {layer} plies")
            if not changed.any():
                return cls(rules, words)
            marks, next_marks = next_marks, marks
        raise OverflowError(f"a win takes {WIN - 1} plies or more: a byte may not hold the longest")

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the table to a file; return the path.

        Raises:
            OSError: it cannot be written.
        """
        return write_table(path, _description(self.rules), self.words)

    @classmethod
    def load(cls, path: str | os.PathLike[str], rules: RuleSet) -> Self:
        """Read a table; its checksum is verified.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is not a table, or for other rules, or damaged.
        """
        shape = (rules.phases * COLOURINGS,)
        return cls(rules, read_table(path, np.int32, shape, _description(rules)))

    @cached_property
    def counts(self) -> list[list[Counts]]:
        """Counts for each phase, without a forbidden pair, and with each forbidden pair.

        A position is a colouring in which nobody holds a circle that counts, in a phase. The first
        entry counts positions without a forbidden pair. Only phases with `RuleSet.forbids` have the
        second: it counts a colouring once for each pair that may have been exchanged last, which
        is a pair whose ends differ in colour; that pair is forbidden.
        """
        counts = np.zeros((self.rules.phases, 2, 256), np.int64)
        kernels = specialise(templates, Osiron(movement=self.rules.movement))
        kernels.tally(self.board, all_colourings(), self.words, counts)
        return [
            [Counts.of(part) for part in both[: 1 + forbids]]
            for both, forbids in zip(counts, self.rules.forbids, strict=True)
        ]

    @property
    def totals(self) -> tuple[Counts, Counts]:
        """The counts of the positions without a forbidden pair, and of all positions.

        With advanced movement a pair is always forbidden in the second exchange of a round, so
        positions without one are counted only in the first.
        """
        phases = len(self.counts)
        always = [phases > 2 and forbids for forbids in self.rules.forbids]
        free = [both[0] for both, has_pair in zip(self.counts, always, strict=True) if not has_pair]
        forbidden = [both[1] for both in self.counts if len(both) > 1]
        return _sum(free), _sum([*free, *forbidden])


def _sum(counts: list[Counts]) -> Counts:
    first, *others = counts
    return sum(others, first)


def table_path(rules: RuleSet | str) -> Path:
    """Default path of the table of a rule set.

    Raises:
        RuntimeError: the user has no home folder.
    """
    return default_path(f"osiron-v{Osiron.version}-{rules}")


def _description(rules: RuleSet) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "game": Osiron.name,
        "version": Osiron.version,
        "rules": str(rules),
    }
