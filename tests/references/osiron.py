"""Osiron told as plainly as possible: triangles known by their vertices, circles by their centres.

A vertex is a point ``(x, y)`` of the triangular lattice, ``x`` in half sides of a triangle and
``y`` in heights of a row, the centre of the board being ``(0, 0)``::

    y =  2        *---*---*            row d    x + y is even at every vertex
    y =  1      *---o---o---*          row c    * on the rim
    y =  0    *---o---o---o---*        row b    o the centre of a circle
    y = -1      *---o---o---*          row a
    y = -2        *---*---*

A space is the set of the three vertices of its triangle. Two spaces border when they share two
vertices. Two spaces point at each other when the middle between them is the one vertex that they
share. A circle is the six spaces that share its centre.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Literal

Vertex = tuple[int, int]
Space = frozenset[Vertex]
Pair = frozenset[Space]
Result = Literal["player 0", "player 1", "draw", "truncated"]
PositionKey = tuple[frozenset[Space], int, str, Pair | None]

VERTICES = {
    (x, y) for y in range(-2, 3) for x in range(-4, 5) if (x + y) % 2 == 0 and abs(x) + abs(y) <= 4
}


def triangle(x: int, y: int, base_y: int) -> Space:
    """Return the triangle with its tip at ``(x, y)`` and its horizontal side at ``base_y``."""
    return frozenset({(x, y), (x - 1, base_y), (x + 1, base_y)})


def row(space: Space) -> int:
    """Return the row of a space: 0 for ``a`` at the bottom, to 3 for ``d``."""
    return 2 + min(y for _, y in space)


def left_to_right(space: Space) -> int:
    """Return a number that rises from left to right: three times the middle of the triangle."""
    return sum(x for x, _ in space)


POINTING_UP = {triangle(x, y, y - 1) for x, y in VERTICES}
POINTING_DOWN = {triangle(x, y, y + 1) for x, y in VERTICES}

# By space index.
SPACES = sorted(
    (space for space in POINTING_UP | POINTING_DOWN if space <= VERTICES),
    key=lambda space: (row(space), left_to_right(space)),
)
INDEX = {space: index for index, space in enumerate(SPACES)}

# Bordering pairs, the lower index first, in the order of their actions.
PAIRS = [(one, other) for one, other in combinations(SPACES, 2) if len(one & other) == 2]


def opposite(space: Space, corner: Vertex) -> Space:
    """Return the triangle on the other side of a corner: where each vertex goes through it."""
    return frozenset((corner[0] - (x - corner[0]), corner[1] - (y - corner[1])) for x, y in space)


# Pairs that point at each other, the lower index first, in the order of their actions.
POINTING_PAIRS = [
    (one, other)
    for one, other in combinations(SPACES, 2)
    if other in [opposite(one, corner) for corner in one]
]

# The action of each pair.
NUMBER = {pair: number for number, pair in enumerate(PAIRS + POINTING_PAIRS)}

# The pairs of each kind of exchange, by the set of their two spaces.
PAIRS_OF_KIND = {
    "border": {frozenset(pair): pair for pair in PAIRS},
    "point": {frozenset(pair): pair for pair in POINTING_PAIRS},
}

# The spaces around each vertex that has six of them.
CIRCLES = {
    centre: around
    for centre in sorted(VERTICES)
    if len(around := [space for space in SPACES if centre in space]) == 6
}


def space_name(space: Space) -> str:
    """Return the name of a space, such as ``b4``."""
    first_of_row = next(other for other in SPACES if row(other) == row(space))
    return f"{'abcd'[row(space)]}{INDEX[space] - INDEX[first_of_row] + 1}"


class ReferenceOsiron:
    """One game of Osiron; player 0 has the light pieces and begins.

    ``spaces`` is the start of ``setup="random"``, and only given for it: the spaces in index
    order, ``L`` for light and ``D`` for dark. ``repetition`` of 0 turns repetition draws off.
    ``snapshot`` returns

    - ``"spaces"``: the pieces on the spaces, written like that, ``.`` where there is none;
    - ``"forbidden"``: the indices of the two spaces that may not be exchanged now, though they
      are of the kind that is to be played (also when the game is over); None without;
    - ``"kind"``: of the next exchange, ``"border"`` or ``"point"``; None while pieces are placed;
    - ``"excluded"``: for each player, how many circles do not count.
    """

    def __init__(
        self,
        setup: str = "beginner",
        movement: str = "basic",
        repetition: int = 3,
        max_plies: int = 200,
        spaces: str | None = None,
    ) -> None:
        """Set up the 24 pieces, or none."""
        self.movement = movement
        self.repetition = repetition
        self.max_plies = max_plies
        self.owner: dict[Space, int]
        if setup == "beginner":
            self.owner = {space: 0 if row(space) < 2 else 1 for space in SPACES}
        elif setup == "alternating":
            self.owner = {space: 0 if space in POINTING_UP else 1 for space in SPACES}
        elif setup == "empty":
            self.owner = {}
        else:
            letters = spaces if spaces is not None else setup
            self.owner = {
                space: "LD".index(letter) for space, letter in zip(SPACES, letters, strict=True)
            }
        # Circles that are full when the pieces are set up never count for who fills them.
        self.excluded = (self._full_circles(0), self._full_circles(1))
        self.plies = 0
        self.exchanges = 0
        self.mover = 0
        self.last_exchange: Pair | None = None
        self.result: Result | None = None
        self.history = Counter([self.position()])

    @property
    def is_over(self) -> bool:
        """Whether a player has won, or the game is drawn or cut off."""
        return self.result is not None

    @property
    def is_truncated(self) -> bool:
        """Whether the game was ended by the ply cap."""
        return self.result == "truncated"

    @property
    def is_placing(self) -> bool:
        """Whether there are pieces to be placed."""
        return len(self.owner) < len(SPACES)

    @property
    def kind(self) -> str:
        """The kind of exchange that is to be played: with pieces that "border" or "point"."""
        finished_rounds = self.exchanges // 2
        is_even_round = finished_rounds % 2 == 1  # rounds are counted from 1
        return "point" if self.movement == "advanced" and is_even_round else "border"

    @property
    def all_pairs(self) -> list[tuple[Space, Space]]:
        """The pairs by action, also those that cannot be exchanged now."""
        return PAIRS + POINTING_PAIRS if self.movement == "advanced" else PAIRS

    @property
    def forbidden(self) -> Pair | None:
        """The pair that was exchanged last, if it is of the kind that is to be played."""
        is_of_kind = self.last_exchange in PAIRS_OF_KIND[self.kind]
        return self.last_exchange if is_of_kind else None

    def legal_actions(self) -> list[int]:
        """Return the mover's legal actions in rising order; none once the game is over."""
        if self.is_over:
            return []
        if self.is_placing:
            first = len(self.all_pairs)
            return [first + INDEX[space] for space in SPACES if space not in self.owner]
        return self._legal_exchanges()

    def play(self, action: int) -> list[str]:
        """Play a legal action and return the names of what happened that is worth counting.

        - "circle completed while placing";
        - "circle completed by the mover": one that counts, and none for the opponent;
        - "circle completed for the opponent": one that counts, and none for the mover;
        - "both complete a circle" that counts;
        - "win on the opponent's excluded circle";
        - "excluded circle completed again without a win": by its own player, whoever moved;
        - "undo forbidden": only the rule against undoing keeps the next mover from exchanging the
          same two pieces;
        - "no legal exchange"; "repetition draw"; "truncated".
        """
        self.plies += 1
        if self.is_placing:
            events = self._place(SPACES[action - len(self.all_pairs)])
        else:
            events = self._exchange(*self.all_pairs[action])
        if self.result is None and self.plies >= self.max_plies:
            self.result = "truncated"
            events.append("truncated")
        return events

    def rewards(self) -> tuple[int, int]:
        """Return the final rewards of players 0 and 1; ``(0, 0)`` for a draw or before the end."""
        if self.result == "player 0":
            return 1, -1
        if self.result == "player 1":
            return -1, 1
        return 0, 0

    def snapshot(self) -> dict:
        """Return the pieces and what may be exchanged; see the class."""
        return {
            "spaces": "".join("LD."[self.owner.get(space, 2)] for space in SPACES),
            "forbidden": self.forbidden and tuple(sorted(INDEX[space] for space in self.forbidden)),
            "kind": None if self.is_placing else self.kind,
            "excluded": tuple(len(circles) for circles in self.excluded),
        }

    def action_text(self, action: int) -> str:
        """Write a legal action: the mover's own space, then the opponent's, as in ``b3-c3``.

        A placement is the space alone.
        """
        if self.is_placing:
            return space_name(SPACES[action - len(self.all_pairs)])
        pair = self.all_pairs[action]
        own, theirs = sorted(pair, key=lambda space: self.owner[space] != self.mover)
        return f"{space_name(own)}-{space_name(theirs)}"

    def _place(self, space: Space) -> list[str]:
        player = self.mover
        before = self._full_circles(player)
        self.owner[space] = player
        events = []
        if self._full_circles(player) - before:
            events.append("circle completed while placing")
        # Dark, who has placed last, makes the first exchange.
        self.mover = 1 - player if self.is_placing else 1
        self.excluded = (self._full_circles(0), self._full_circles(1))
        self.history = Counter([self.position()])
        return events

    def _exchange(self, one: Space, other: Space) -> list[str]:
        mover, opponent = self.mover, 1 - self.mover
        full_before = self._full_circles(0), self._full_circles(1)
        self.owner[one], self.owner[other] = self.owner[other], self.owner[one]
        self.exchanges += 1
        self.last_exchange = frozenset((one, other))
        self.mover = opponent
        self.history[self.position()] += 1

        full = self._full_circles(0), self._full_circles(1)
        counting = full[0] - self.excluded[0], full[1] - self.excluded[1]
        if counting[mover] and counting[opponent]:
            self.result = "draw"
            return ["both complete a circle"]
        if counting[mover] or counting[opponent]:
            winner = mover if counting[mover] else opponent
            self.result = "player 0" if winner == 0 else "player 1"
            whose = "by the mover" if winner == mover else "for the opponent"
            events = [f"circle completed {whose}"]
            if counting[winner] & self.excluded[1 - winner]:
                events.append("win on the opponent's excluded circle")
            return events
        events = []
        if any(full[player] - full_before[player] for player in (0, 1)):
            events.append("excluded circle completed again without a win")
        if not self._legal_exchanges():
            self.result = "draw"
            events.append("no legal exchange")
        elif self.repetition and self.history[self.position()] >= self.repetition:
            self.result = "draw"
            events.append("repetition draw")
        elif self.forbidden:
            events.append("undo forbidden")
        return events

    def _legal_exchanges(self) -> list[int]:
        forbidden = self.forbidden
        return [
            NUMBER[pair]
            for pair in PAIRS_OF_KIND[self.kind].values()
            if self.owner[pair[0]] != self.owner[pair[1]] and frozenset(pair) != forbidden
        ]

    def _full_circles(self, player: int) -> set[Vertex]:
        """Return the centres of the circles whose six pieces are the player's."""
        return {
            centre
            for centre, around in CIRCLES.items()
            if all(self.owner.get(space) == player for space in around)
        }

    def position(self) -> PositionKey:
        """Return all that makes two positions the same for the repetition rule."""
        light = frozenset(space for space in SPACES if self.owner.get(space) == 0)
        return light, self.mover, self.kind, self.forbidden
