"""Osiron told as plainly as possible: triangles known by their vertices, circles by their centres.

A vertex is a point ``(x, y)`` of the triangular lattice, ``x`` in half sides of a triangle and
``y`` in heights of a row, the centre of the board being ``(0, 0)``::

    y =  2        *---*---*            row d    x + y is even at every vertex
    y =  1      *---o---o---*          row c    * on the rim
    y =  0    *---o---o---o---*        row b    o the centre of a circle
    y = -1      *---o---o---*          row a
    y = -2        *---*---*

A space is the set of the three vertices of its triangle. Two spaces border when they share two
vertices, and a circle is the six spaces that share its centre.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Literal

Vertex = tuple[int, int]
Space = frozenset[Vertex]
Pair = frozenset[Space]
Result = Literal["player 0", "player 1", "draw", "truncated"]
Occurrence = tuple[frozenset[Space], int, Pair | None]

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

# By action: bordering pairs, the lower index first.
PAIRS = [(one, other) for one, other in combinations(SPACES, 2) if len(one & other) == 2]

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
    """One game of Osiron; player 0 has the light pieces and moves first.

    ``spaces`` is the start of ``setup="random"``, and only given for it: the spaces in index
    order, ``L`` for light and ``D`` for dark. ``repetition`` of 0 turns repetition draws off.
    ``snapshot`` returns

    - ``"spaces"``: the pieces on the spaces, written like that;
    - ``"forbidden"``: the indices of the two spaces exchanged last, the lower first, which the
      mover may not exchange back (also when the game is over); None at the start.
    """

    def __init__(
        self,
        setup: str = "beginner",
        repetition: int = 3,
        max_plies: int = 200,
        spaces: str | None = None,
    ) -> None:
        """Set up the 24 pieces."""
        if setup not in ("beginner", "alternating", "random"):
            raise ValueError(f"setup {setup!r} is not 'beginner', 'alternating' or 'random'")
        if (setup == "random") != (spaces is not None):
            raise ValueError(f"spaces {spaces!r} must be given for setup 'random' and only then")
        if repetition < 0 or repetition == 1:
            raise ValueError(f"repetition {repetition!r} is neither 0 (off) nor at least 2")
        self.setup = setup
        self.repetition = repetition
        self.max_plies = max_plies
        self.start = spaces
        self.owner: dict[Space, int]
        if setup == "beginner":
            self.owner = {space: 0 if row(space) < 2 else 1 for space in SPACES}
        elif setup == "alternating":
            self.owner = {space: 0 if space in POINTING_UP else 1 for space in SPACES}
        else:
            if len(str(spaces)) != 24 or any(str(spaces).count(letter) != 12 for letter in "LD"):
                raise ValueError(f"spaces {spaces!r} are not twelve L and twelve D")
            self.owner = {
                space: "LD".index(letter) for space, letter in zip(SPACES, str(spaces), strict=True)
            }
        # Circles that are full from the start never count for the player who fills them.
        self.excluded = (self._full_circles(0), self._full_circles(1))
        if setup == "random" and self.excluded != (set(), set()):
            raise ValueError(f"spaces {spaces!r} have a full circle")
        self.plies = 0
        self.mover = 0
        self.forbidden: Pair | None = None
        self.result: Result | None = None
        self.history = Counter([self._occurrence()])

    def copy(self) -> ReferenceOsiron:
        """Return an independent game in the same position, with the same history."""
        twin = ReferenceOsiron(self.setup, self.repetition, self.max_plies, self.start)
        twin.owner = dict(self.owner)
        twin.plies = self.plies
        twin.mover = self.mover
        twin.forbidden = self.forbidden
        twin.result = self.result
        twin.history = Counter(self.history)
        return twin

    @property
    def is_over(self) -> bool:
        """Whether a player has won, or the game is drawn or cut off."""
        return self.result is not None

    @property
    def is_truncated(self) -> bool:
        """Whether the game was ended by the ply cap."""
        return self.result == "truncated"

    def legal_actions(self) -> list[int]:
        """Return the mover's legal actions in rising order; none once the game is over."""
        if self.is_over:
            return []
        return [
            action
            for action, pair in enumerate(PAIRS)
            if self._are_opposed(*pair) and frozenset(pair) != self.forbidden
        ]

    def play(self, action: int) -> list[str]:
        """Play a legal action and return the names of what happened that is worth counting.

        - "circle completed by the mover": one that counts, and none for the opponent;
        - "circle completed for the opponent": one that counts, and none for the mover;
        - "both complete a circle" that counts;
        - "win on the opponent's excluded circle";
        - "excluded circle completed again without a win": by its own player, whoever moved;
        - "undo forbidden": only the rule against undoing keeps the next mover from exchanging the
          same two pieces (so it is after each ply that does not end the game);
        - "repetition draw"; "truncated".

        Raises ValueError if the action is not legal; the game is then unchanged.
        """
        legal = self.legal_actions()
        if action not in legal:
            raise ValueError(f"action {action!r} is not legal now; legal actions are {legal}")
        one, other = PAIRS[action]
        mover, opponent = self.mover, 1 - self.mover
        full_before = self._full_circles(0), self._full_circles(1)
        self.owner[one], self.owner[other] = self.owner[other], self.owner[one]
        self.forbidden = frozenset((one, other))
        self.plies += 1
        self.mover = opponent
        self.history[self._occurrence()] += 1

        events = []
        full = self._full_circles(0), self._full_circles(1)
        counting = full[0] - self.excluded[0], full[1] - self.excluded[1]
        if counting[mover] and counting[opponent]:
            events.append("both complete a circle")
        elif counting[mover]:
            events.append("circle completed by the mover")
        elif counting[opponent]:
            events.append("circle completed for the opponent")

        if counting[mover] or counting[opponent]:
            winner = mover if counting[mover] else opponent
            self.result = "player 0" if winner == 0 else "player 1"
            if counting[winner] & self.excluded[1 - winner]:
                events.append("win on the opponent's excluded circle")
        else:
            if any(full[player] - full_before[player] for player in (0, 1)):
                events.append("excluded circle completed again without a win")
            if self.repetition and self.history[self._occurrence()] >= self.repetition:
                self.result = "draw"
                events.append("repetition draw")
            elif self.plies >= self.max_plies:
                self.result = "truncated"
                events.append("truncated")
            elif self._are_opposed(one, other):
                events.append("undo forbidden")
        return events

    def rewards(self) -> tuple[int, int]:
        """Return the final rewards of players 0 and 1; ``(0, 0)`` for a draw or before the end."""
        if self.result == "player 0":
            return 1, -1
        if self.result == "player 1":
            return -1, 1
        return 0, 0

    def snapshot(self) -> dict:
        """Return the pieces and the forbidden exchange; see the class."""
        return {
            "spaces": "".join("LD"[self.owner[space]] for space in SPACES),
            "forbidden": self.forbidden and tuple(sorted(INDEX[space] for space in self.forbidden)),
        }

    def action_text(self, action: int) -> str:
        """Write a legal action: the mover's own space, then the opponent's, as in ``b3-c3``.

        Raises ValueError if the action is not legal.
        """
        legal = self.legal_actions()
        if action not in legal:
            raise ValueError(f"action {action!r} is not legal now; legal actions are {legal}")
        own, theirs = sorted(PAIRS[action], key=lambda space: self.owner[space] != self.mover)
        return f"{space_name(own)}-{space_name(theirs)}"

    def _are_opposed(self, one: Space, other: Space) -> bool:
        """Whether the pieces on the two spaces belong to different players."""
        return self.owner[one] != self.owner[other]

    def _full_circles(self, player: int) -> set[Vertex]:
        """Return the centres of the circles whose six pieces are the player's."""
        return {
            centre
            for centre, around in CIRCLES.items()
            if all(self.owner[space] == player for space in around)
        }

    def _occurrence(self) -> Occurrence:
        """Return all that makes two positions the same for the repetition rule."""
        light = frozenset(space for space in SPACES if self.owner[space] == 0)
        return light, self.mover, self.forbidden
