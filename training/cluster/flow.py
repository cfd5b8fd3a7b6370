"""Back-pressure: how many positions actors may play ahead of the learner.

The learner takes the positions of one iteration, learns from each ``replay_ratio`` times, and
publishes a version of the weights; so it learns as fast as positions come, at most. The other way
round, actors get orders only while the positions that are ordered or wait for the learner fit
into a limit. So memory is bounded, and so is the age of the weights that play.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_CHUNKS_AT_LEAST = 2  # of an actor in an iteration, so that it takes each version soon


@dataclass
class Flow:
    """Counts positions on their way to the learner.

    Attributes:
        iteration: positions that the learner takes at a time.
        staleness: see `ludarium.configs.schema.Cluster`.
        ordered: positions that actors are playing.
        arrived: positions that wait for the learner.
        collecting: whether the learner waits for positions.
    """

    iteration: int
    staleness: int
    ordered: int = 0
    arrived: int = 0
    collecting: bool = False

    @property
    def limit(self) -> int:
        """The most positions that may be ordered or wait.

        Positions that are ordered while the learner learns are for the next iteration, with the
        version after this one.
        """
        ahead = self.staleness if self.collecting else self.staleness - 1
        return ahead * self.iteration

    @property
    def room(self) -> int:
        """Positions that may be ordered now."""
        return max(0, self.limit - self.ordered - self.arrived)

    def chunk(self, actors: int, least: int) -> int:
        """Positions of the next order, 0 for none yet.

        Args:
            actors: how many there are.
            least: fewer are not worth an order, unless no more are needed.
        """
        size = max(least, self.iteration // (_CHUNKS_AT_LEAST * max(1, actors)))
        return min(size, self.room)

    def order(self, positions: int) -> None:
        """Positions have been ordered."""
        self.ordered += positions

    def lose(self, positions: int) -> None:
        """Positions that were ordered will not come."""
        self.ordered -= positions

    def arrive(self, ordered: int, played: int) -> None:
        """An order has been delivered, with so many positions."""
        self.ordered -= ordered
        self.arrived += played

    def take(self, positions: int) -> None:
        """The learner has taken positions that had arrived."""
        self.arrived -= positions

    def is_stale(self, played_with: int, version: int) -> bool:
        """Whether positions that were played with one version are too old for another."""
        return version - played_with > self.staleness


class Turns:
    """Whose turn it is, of several games that have shares of the positions.

    Args:
        shares: of each game; they add up to 1.
    """

    def __init__(self, shares: Sequence[float]) -> None:
        self._shares = shares
        self._ordered = [0] * len(shares)

    @property
    def games(self) -> int:
        """How many there are."""
        return len(self._shares)

    def take(self, positions: int) -> int:
        """The number of the game that is furthest behind its share, which gets the positions."""
        due = [
            share * (sum(self._ordered) + positions) - ordered
            for share, ordered in zip(self._shares, self._ordered, strict=True)
        ]
        chosen = due.index(max(due))
        self._ordered[chosen] += positions
        return chosen

    def give_back(self, game: int, positions: int) -> None:
        """Positions that a game got are not played after all."""
        self._ordered[game] -= positions
