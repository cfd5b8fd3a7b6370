"""`Value`, the exact value of a position, and `Answer`, what a solver or table knows of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import total_ordering
from typing import Any


@total_ordering
@dataclass(frozen=True)
class Value:
    """The value of a position or an action for the player to move, with best play.

    Values are ordered: a greater one is better for the player to move. A win is better than a
    draw, and a draw than a loss; among wins, or losses, the greater lead is better; and a win is
    better the sooner it comes, a loss the later.

    Attributes:
        outcome: +1 a win, 0 a draw, -1 a loss.
        lead: final points of the player to move minus those of the opponent; 0 for a draw; None
            if leads were not asked for, or the game has none.
        plies: plies to the end if the winner wins as fast as possible and the loser delays it;
            None for a draw, or if plies are not counted.
    """

    outcome: int
    lead: int | None = None
    plies: int | None = None

    @property
    def result(self) -> str:
        """``win``, ``draw`` or ``loss``."""
        return ("loss", "draw", "win")[self.outcome + 1]

    def _rank(self) -> tuple[int, int, int]:
        return self.outcome, self.lead or 0, -self.outcome * (self.plies or 0)

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Value):
            return NotImplemented
        return self._rank() < other._rank()

    def __neg__(self) -> Value:
        """The value for the opponent."""
        return Value(-self.outcome, None if self.lead is None else -self.lead, self.plies)

    def __str__(self) -> str:
        if self.plies is not None:
            return f"{self.result} in {self.plies}"
        if self.lead is None or self.outcome == 0:
            return self.result
        return f"{self.result} by {self._margin}"

    @property
    def _margin(self) -> int:
        """The winner's lead, which is negative if the winner has fewer points."""
        return self.outcome * (self.lead or 0)


@dataclass(frozen=True)
class Answer:
    """What is known about the value of a position, for the player to move.

    Attributes:
        low: lower bound of the value.
        high: upper bound of the value.
        nodes: positions searched; 0 if the answer comes from a table.
        seconds: wall time.
    """

    low: Value
    high: Value
    nodes: int = 0
    seconds: float = 0.0

    @staticmethod
    def exact(value: Value) -> Answer:
        """An answer that is exactly known without a search."""
        return Answer(value, value)

    @property
    def is_decided(self) -> bool:
        """Whether the value is known exactly."""
        return self.low == self.high

    @property
    def outcome(self) -> int | None:
        """+1 a win, 0 a draw, -1 a loss, None if it is not known."""
        return self.low.outcome if self.low.outcome == self.high.outcome else None

    @property
    def result(self) -> str | None:
        """``win``, ``draw`` or ``loss``, None if it is not known."""
        return None if self.outcome is None else self.low.result

    @property
    def lead(self) -> int | None:
        """The lead at the end, if it is known exactly."""
        return self.low.lead if self.is_decided else None

    def without_lead(self) -> Answer:
        """The answer reduced to who wins."""
        low, high = Value(self.low.outcome), Value(self.high.outcome)
        return Answer(low, high, self.nodes, self.seconds)

    def reversed(self) -> Answer:
        """The answer for the opponent of the player to move."""
        return Answer(-self.high, -self.low, self.nodes, self.seconds)

    @staticmethod
    def best(answers: Iterable[Answer]) -> Answer:
        """The answer for a position from the answers for all its actions (at least one)."""
        answers = list(answers)
        return Answer(
            max(answer.low for answer in answers),
            max(answer.high for answer in answers),
            sum(answer.nodes for answer in answers),
            sum(answer.seconds for answer in answers),
        )

    @staticmethod
    def best_first(answers: dict[int, Answer]) -> dict[int, Answer]:
        """Actions with their answers, the best first; equally good ones keep their order."""
        by_bounds = sorted(
            answers.items(), key=lambda item: (item[1].low, item[1].high), reverse=True
        )
        return dict(by_bounds)

    def as_json(self) -> dict[str, Any]:
        """As JSON values: ``value``, the `result` or null, the bounds, and the effort.

        Bounds have an ``outcome``, and a ``lead`` or ``plies`` if these are known.
        """
        return {
            "value": self.result,
            "low": _present(self.low),
            "high": _present(self.high),
            "nodes": self.nodes,
            "seconds": round(self.seconds, 3),
        }

    def __str__(self) -> str:
        if self.is_decided:
            return str(self.low)
        if self.outcome is None:
            if self.low.outcome == 0:
                return "draw or win"
            return "draw or loss" if self.high.outcome == 0 else "not decided"
        least, most = sorted((self.low._margin, self.high._margin))
        return f"{self.result} by {least} to {most}"


def _present(value: Value) -> dict[str, int]:
    return {name: number for name, number in asdict(value).items() if number is not None}
