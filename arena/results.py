"""`Crosstable`: the results of games between any number of agents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ludarium.training.evaluation import MatchResult

_TOLERATED = 0.05  # largest share of repeated games that brings no warning

#: One game. ``first`` and ``second`` are numbers of the agents of its pairing. ``number`` is the
#: game's in the pairing; in even ones ``first`` is player_0. ``reward`` is player_0's, ``plies``
#: its length with the opening; ``digest`` is equal for games with equal starts and moves.
ROW = np.dtype(
    [
        ("first", np.int32),
        ("second", np.int32),
        ("number", np.int64),
        ("reward", np.int8),
        ("plies", np.int64),
        ("digest", np.uint64),
    ]
)


@dataclass(frozen=True, eq=False)
class Crosstable:
    """The games between agents, from which results of any two of them are made.

    Methods raise ``ValueError`` if a name is not among the agents.

    Attributes:
        agents: the agents' names.
        rows: structured [G] of `ROW`, in any order.
    """

    agents: tuple[str, ...]
    rows: np.ndarray

    @classmethod
    def of(cls, agents: Sequence[str], parts: Iterable[np.ndarray]) -> Crosstable:
        """The table of any number of arrays of rows."""
        return cls(tuple(agents), np.concatenate([np.empty(0, ROW), *parts]))

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def counts(self) -> np.ndarray:
        """Wins, draws, losses of agent i as player_0 against agent j at [i, j], int64[A, A, 3]."""
        size = len(self.agents)
        counts = np.zeros((size, size, 3), np.int64)
        seats = self._seats
        np.add.at(counts, (seats[0], seats[1], 1 - self.rows["reward"].astype(np.int64)), 1)
        return counts

    @cached_property
    def pairings(self) -> list[tuple[str, str]]:
        """The pairs of agents that have met, by name."""
        found = np.unique(self.rows[["first", "second"]])
        return sorted((self.agents[one], self.agents[other]) for one, other in found)

    def as_player_0(self, one: str, other: str) -> MatchResult:
        """Results of ``one`` as player_0 against ``other``."""
        return MatchResult(*self.counts[self.agents.index(one), self.agents.index(other)].tolist())

    def between(self, one: str, other: str) -> MatchResult:
        """Results of ``one`` against ``other``, in both seats."""
        return self.as_player_0(one, other) + self.as_player_0(other, one).reversed

    def of_agent(self, name: str) -> MatchResult:
        """Results of an agent in all its games."""
        number = self.agents.index(name)
        as_player_1 = MatchResult(*self.counts[:, number].sum(axis=0).tolist())
        return MatchResult(*self.counts[number].sum(axis=0).tolist()) + as_player_1.reversed

    @property
    def first_player(self) -> MatchResult:
        """Results of player_0 in all games."""
        return MatchResult(*self.counts.sum(axis=(0, 1)).tolist())

    @property
    def mean_plies(self) -> float:
        """Mean length of a game, the opening included."""
        return float(self.rows["plies"].mean())

    @cached_property
    def distinct(self) -> int:
        """Number of different games; equal games with other players or seats count as different."""
        return len(
            np.unique(np.stack([*self._seats.astype(np.uint64), self.rows["digest"]]), axis=1).T
        )

    @property
    def caveat(self) -> str | None:
        """Why intervals are too narrow, in words; ``None`` if at most 5 % of games are repeats."""
        repeated = len(self) - self.distinct
        if repeated <= _TOLERATED * len(self):
            return None
        return (
            f"{repeated} of {len(self)} games repeat another one move for "
            "move, so intervals are narrower than they should be; longer openings "
            "(opening_plies=4) help"
        )

    def pairs(self, first: str, second: str) -> tuple[np.ndarray, np.ndarray]:
        """The pairs of games of a pairing, up to the first incomplete pair.

        Returns:
            Twice the points of ``first`` in each pair (0 to 4), int64[P]; and the digests
            of both games, uint64[P, 2].
        """
        of_pairing = (self.rows["first"] == self.agents.index(first)) & (
            self.rows["second"] == self.agents.index(second)
        )
        rows = np.sort(self.rows[of_pairing], order="number")
        whole = int((rows["number"] == np.arange(len(rows))).cumprod().sum()) // 2
        rewards = rows["reward"][: 2 * whole].astype(np.int64).reshape(-1, 2)
        return 2 + rewards[:, 0] - rewards[:, 1], rows["digest"][: 2 * whole].reshape(-1, 2)

    def pairs_between(self, one: str, other: str) -> np.ndarray:
        """How many pairs of games have each score of ``one``: 0, 1/4, 1/2, 3/4, 1, int64[5]."""
        if (one, other) in self.pairings:
            return np.bincount(self.pairs(one, other)[0], minlength=5)
        return np.bincount(self.pairs(other, one)[0], minlength=5)[::-1]

    @property
    def _seats(self) -> np.ndarray:
        """Numbers of player_0 and player_1 in each game, int64[2, G]."""
        pairing = np.stack([self.rows["first"], self.rows["second"]]).astype(np.int64)
        return np.where(self.rows["number"] % 2, pairing[::-1], pairing)
