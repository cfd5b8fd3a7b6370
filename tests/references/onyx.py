"""Onyx told as plainly as possible: stones at geometric points, straight lines between points.

A point is a pair ``(x, y)`` in half units, so that midpoints have whole numbers too: the corner on
file ``f`` and rank ``r`` (both counted from 0 at the bottom left) is ``(2f, 2r)``, the midpoint of
the square to its upper right is ``(2f + 1, 2r + 1)``. What lies on the board is a dictionary from
occupied points to ``"V"`` or ``"H"``.

The lower left of the board; ``o`` is the midpoint of a square::

    3 +---+---+---+
      | o | \\ | o |      midpoints (1, 3) and (5, 3)
    2 +---+---+---+
      | / | o | / |      midpoint (3, 1)
    1 +---+---+---+
      a   b   c   d
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import Literal, NamedTuple

Point = tuple[int, int]
Side = Literal["V", "H"]
Result = Literal["V", "H", "draw", "truncated"]

FILES = "abcdefghijklmnopqr"


class Board(NamedTuple):
    """What never changes on a board: its points, and what is next to what."""

    points: tuple[Point, ...]  # in the order of the actions: corners, then midpoints
    lines: dict[Point, set[Point]]  # the points that a line joins to each point
    squares: dict[Point, tuple[Point, ...]]  # midpoint -> its four corners, going round
    midpoints_at: dict[Point, list[Point]]  # corner -> midpoints of the squares it belongs to


@cache
def board_of_size(size: int) -> Board:
    """Draw the points and lines of the board with ``size`` x ``size`` corners."""
    corners = [(2 * file, 2 * rank) for rank in range(size) for file in range(size)]
    lines: dict[Point, set[Point]] = {corner: set() for corner in corners}
    squares: dict[Point, tuple[Point, ...]] = {}
    midpoints_at: dict[Point, list[Point]] = defaultdict(list)

    def join(one: Point, other: Point) -> None:
        lines[one].add(other)
        lines[other].add(one)

    for x, y in corners:
        for neighbour in ((x + 2, y), (x, y + 2)):
            if neighbour in lines:
                join((x, y), neighbour)

    for rank in range(size - 1):
        for file in range(size - 1):
            x, y = 2 * file, 2 * rank
            lower_left, lower_right = (x, y), (x + 2, y)
            upper_left, upper_right = (x, y + 2), (x + 2, y + 2)
            if (file + rank) % 2 == 1:
                midpoint = (x + 1, y + 1)
                squares[midpoint] = (lower_left, lower_right, upper_right, upper_left)
                lines[midpoint] = set()
                for corner in squares[midpoint]:
                    join(midpoint, corner)
                    midpoints_at[corner].append(midpoint)
            elif rank % 2 == 0:
                join(lower_left, upper_right)
            else:
                join(upper_left, lower_right)

    return Board((*corners, *squares), lines, squares, dict(midpoints_at))


class ReferenceOnyx:
    """One game of Onyx; V moves first and is player 0, until a swap exchanges the two sides.

    ``max_plies`` of None stands for four times the number of points. ``snapshot`` returns

    - ``"corners"``: for each corner by cell index, None when empty, 0 for V's stone, 1 for H's;
    - ``"midpoints"``: the same for the midpoints, by rank and then file of their squares;
    - ``"v_player"``: the index of the player who has the side V.
    """

    def __init__(
        self,
        size: int = 12,
        start: str = "standard",
        swap_rule: bool = False,
        max_plies: int | None = None,
    ) -> None:
        """Set up the board: empty, or with the eight stones of the standard start."""
        self.size = size
        self.swap_rule = swap_rule
        self.board = board_of_size(size)
        self.max_plies = 4 * len(self.board.points) if max_plies is None else max_plies
        self.stones: dict[Point, Side] = {}
        self.plies = 0
        self.mover = 0
        self.v_player = 0
        self.result: Result | None = None
        if start == "standard":
            far = 2 * (size - 1)
            for middle in (size - 2, size):  # lines m and m + 1, counted from 1, in half units
                for edge in (0, far):
                    self.stones[middle, edge] = "H"
                    self.stones[edge, middle] = "V"

    @property
    def is_over(self) -> bool:
        """Whether a side has won, or the game is drawn or cut off."""
        return self.result is not None

    @property
    def is_truncated(self) -> bool:
        """Whether the game was ended by the ply cap."""
        return self.result == "truncated"

    @property
    def swap_action(self) -> int:
        """The number of the action that swaps sides: the last one."""
        return len(self.board.points)

    def legal_actions(self) -> list[int]:
        """Return the mover's legal actions in rising order; none once the game is over."""
        if self.is_over:
            return []
        actions = [
            action for action, point in enumerate(self.board.points) if self._may_take(point)
        ]
        if self._may_swap():
            actions.append(self.swap_action)
        return actions

    def play(self, action: int) -> list[str]:
        """Play a legal action and return the names of what happened that is worth counting.

        - "midpoint placed";
        - "capture", "double capture": one pair or two pairs of stones were removed;
        - "capture blocked by an occupied midpoint": the placement would have captured, were the
          midpoint of that square empty;
        - "midpoint reopened": a capture emptied the last corner of a square, so that its midpoint
          may be taken again;
        - "win by V" or "win by H", and besides "win through a midpoint" if the winning group has
          a stone on a midpoint;
        - "swap"; "truncated".
        """
        if action == self.swap_action:
            self.v_player = self.mover
            events = ["swap"]
        else:
            events = self._place(self.board.points[action], self._side(self.mover))
        self.plies += 1
        self.mover = 1 - self.mover
        if self.result is None and not any(map(self._may_take, self.board.points)):
            self.result = "draw"
        if self.result is None and self.plies >= self.max_plies:
            self.result = "truncated"
            events.append("truncated")
        return events

    def rewards(self) -> tuple[int, int]:
        """Return the final rewards of players 0 and 1; ``(0, 0)`` for a draw or before the end."""
        if self.result not in ("V", "H"):
            return 0, 0
        return (1, -1) if self._side(0) == self.result else (-1, 1)

    def snapshot(self) -> dict:
        """Return the stones and who has which side; see the class."""
        codes: dict[Side | None, int | None] = {None: None, "V": 0, "H": 1}
        contents = [codes[self.stones.get(point)] for point in self.board.points]
        corners = self.size**2
        return {
            "corners": contents[:corners],
            "midpoints": contents[corners:],
            "v_player": self.v_player,
        }

    def action_text(self, action: int) -> str:
        """Write a legal action: corner ``d10``, midpoint ``de910``, or ``swap``."""
        if action == self.swap_action:
            return "swap"
        point = self.board.points[action]
        # A midpoint lies between two files and two ranks; a corner lies on one of each.
        around = self.board.squares.get(point, (point,))
        files = sorted({x // 2 for x, _ in around})
        ranks = sorted({y // 2 for _, y in around})
        return "".join(FILES[file] for file in files) + "".join(str(rank + 1) for rank in ranks)

    def _side(self, player: int) -> Side:
        return "V" if player == self.v_player else "H"

    def _may_swap(self) -> bool:
        """Whether the swap is offered: to H, just after the first move of V."""
        return self.swap_rule and self.plies == 1

    def _may_take(self, point: Point) -> bool:
        """Whether the point is empty and, if a midpoint, the corners around it are empty too."""
        if point in self.stones:
            return False
        return self.stones.keys().isdisjoint(self.board.squares.get(point, ()))

    def _place(self, point: Point, side: Side) -> list[str]:
        """Put a stone on the point, take what it captures and see whether it wins."""
        self.stones[point] = side
        events = ["midpoint placed"] if point in self.board.squares else self._capture(point, side)
        group = self._group(point)
        if self._joins_its_sides(group, side):
            self.result = side
            events.append(f"win by {side}")
            if any(member in self.board.squares for member in group):
                events.append("win through a midpoint")
        return events

    def _capture(self, placed: Point, side: Side) -> list[str]:
        """Remove the opponent's pairs that the corner stone just placed captures."""
        opponent: Side = "H" if side == "V" else "V"
        pairs = []
        blocked = False
        for midpoint in self.board.midpoints_at.get(placed, ()):
            corners = self.board.squares[midpoint]
            at = corners.index(placed)
            opposite = corners[(at + 2) % 4]
            pair = {corners[(at + 1) % 4], corners[(at + 3) % 4]}
            two_against_two = self.stones.get(opposite) == side and all(
                self.stones.get(corner) == opponent for corner in pair
            )
            if two_against_two and midpoint in self.stones:
                blocked = True
            elif two_against_two:
                pairs.append(pair)

        removed = set().union(*pairs)
        for corner in removed:
            del self.stones[corner]

        events = []
        if pairs:
            events.append("capture" if len(pairs) == 1 else "double capture")
        if blocked:
            events.append("capture blocked by an occupied midpoint")
        beside_removed = {m for corner in removed for m in self.board.midpoints_at[corner]}
        if any(self._may_take(midpoint) for midpoint in beside_removed):
            events.append("midpoint reopened")
        return events

    def _group(self, start: Point) -> set[Point]:
        """Return the stones connected with the one at ``start``, itself included."""
        side = self.stones[start]
        group = {start}
        waiting = [start]
        while waiting:
            for near in self.board.lines[waiting.pop()]:
                if near not in group and self.stones.get(near) == side:
                    group.add(near)
                    waiting.append(near)
        return group

    def _joins_its_sides(self, group: set[Point], side: Side) -> bool:
        """Whether the group reaches both edges of its side: V's bottom and top, H's left, right."""
        axis = 1 if side == "V" else 0
        reached = {point[axis] for point in group}
        return 0 in reached and 2 * (self.size - 1) in reached
