"""`Value`, an exact value, and `ValueBounds`, what is proven of one; where such values come from.

`ludarium.analysis` offers the functions for exact values, and entry points find them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import total_ordering
from importlib.metadata import entry_points
from typing import Any

#: The entry-point group of the functions for exact values. ``prober_of(game, memory)`` returns
#: a source of exact values, whose search has a table of at most ``memory`` bytes;
#: ``find_exact_test(name, game)`` returns an exact test.
EXACT_VALUES_ENTRY_POINTS = "ludarium.exact_values"


def installed_source(function: str, key: str) -> Any:
    """The installed function with this name.

    Args:
        function: its name.
        key: the configuration key that needs it, for the message.

    Raises:
        ImportError: no installed package has it.
    """
    installed = entry_points(group=EXACT_VALUES_ENTRY_POINTS, name=function)
    try:
        return next(iter(installed)).load()
    except (StopIteration, ImportError) as error:
        raise ImportError(
            f"{key} needs exact values, and no installed package has them: reinstall "
            f"ludarium, or leave {key} out"
        ) from error


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
class ValueBounds:
    """Proven bounds of the value of a position, for the player to move.

    Attributes:
        low: lower bound of the value.
        high: upper bound of the value.
        nodes: positions searched; 0 if the bounds come from a table.
        seconds: wall time.
    """

    low: Value
    high: Value
    nodes: int = 0
    seconds: float = 0.0

    @staticmethod
    def exact(value: Value) -> ValueBounds:
        """The bounds of a value that is known without a search."""
        return ValueBounds(value, value)

    @property
    def is_decided(self) -> bool:
        """Whether the value is known exactly."""
        return self.low == self.high

    @property
    def outcome(self) -> int | None:
        """+1 a win, 0 a draw, -1 a loss, None if it is not known."""
        return self.low.outcome if self.low.outcome == self.high.outcome else None

    @staticmethod
    def outcomes(answers: Mapping[int, ValueBounds]) -> dict[int, int] | None:
        """The outcome of each action, +1, 0 or -1; None if one of them is not known."""
        found = {action: answer.outcome for action, answer in answers.items()}
        known = {action: outcome for action, outcome in found.items() if outcome is not None}
        return known if len(known) == len(found) else None

    @property
    def result(self) -> str | None:
        """``win``, ``draw`` or ``loss``, None if it is not known."""
        return None if self.outcome is None else self.low.result

    @property
    def lead(self) -> int | None:
        """The lead at the end, if it is known exactly."""
        return self.low.lead if self.is_decided else None

    def without_lead(self) -> ValueBounds:
        """The bounds reduced to who wins."""
        low, high = Value(self.low.outcome), Value(self.high.outcome)
        return ValueBounds(low, high, self.nodes, self.seconds)

    def reversed(self) -> ValueBounds:
        """The bounds for the opponent of the player to move."""
        return ValueBounds(-self.high, -self.low, self.nodes, self.seconds)

    @staticmethod
    def best(bounds: Iterable[ValueBounds]) -> ValueBounds:
        """The bounds for a position from those of all its actions (at least one)."""
        bounds = list(bounds)
        return ValueBounds(
            max(each.low for each in bounds),
            max(each.high for each in bounds),
            sum(each.nodes for each in bounds),
            sum(each.seconds for each in bounds),
        )

    @staticmethod
    def best_first(bounds: dict[int, ValueBounds]) -> dict[int, ValueBounds]:
        """Actions with their bounds, the best first; equally good ones keep their order."""
        by_bounds = sorted(
            bounds.items(), key=lambda item: (item[1].low, item[1].high), reverse=True
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
