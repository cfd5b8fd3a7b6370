"""Obelisk told as plainly as possible: cubes that fall down rods, one step at a time.

A cube is ``(x, y, z)``: column ``x`` (``a`` to ``c``) and row ``y`` (``1`` to ``3``) of a tower,
``z`` counted from 0 at its foot. The columns of a tower from above, by index ``3 * y + x``::

    3 | 6 7 8
    2 | 3 4 5
    1 | 0 1 2
        a b c

A block is a frozenset of cubes; a tower is a list of the blocks that were put on it, with the
cubes where they came to rest.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any, Literal, NamedTuple

Cube = tuple[int, int, int]
Block = frozenset[Cube]
Phase = Literal["choose", "pick", "active places", "passive places", "black", "turn over"]

SIDE = 3  # columns of a tower along x and along y
COLUMNS = SIDE * SIDE
TOP = 9  # a cube with z of 9 or more stands above the tower
QUARTERS = 4
ORIENTATIONS = 2 * QUARTERS
DEFAULT_CAP_WITH_HOURGLASS = 400


class Placed(NamedTuple):
    """A block at rest on a tower."""

    name: str
    value: int
    cubes: Block

    @property
    def cubes_above(self) -> int:
        """How many of its cubes stand above the tower."""
        return sum(z >= TOP for _, _, z in self.cubes)


def shifted_to_origin(cubes: Block) -> Block:
    """Shift a block so that its least x, y and z are 0."""
    left, front, low = (min(cube[axis] for cube in cubes) for axis in range(3))
    return frozenset((x - left, y - front, z - low) for x, y, z in cubes)


def oriented(cubes: Block, orientation: int) -> Block:
    """Flip (from orientation 4 on), then turn by quarters, then shift to the origin."""
    flip, quarter = divmod(orientation, QUARTERS)
    if flip:
        cubes = frozenset((x, -y, -z) for x, y, z in cubes)
    for _ in range(quarter):
        cubes = frozenset((-y, x, z) for x, y, z in cubes)
    return shifted_to_origin(cubes)


@cache
def placements(cubes: Block) -> dict[tuple[int, int], Block]:
    """Return the block over the tower for each (orientation, column index) at which it fits.

    Of orientations that give the same cubes there is only the first. The column index names the
    block's least x and y; no cube may stand outside the tower.
    """
    distinct: dict[Block, int] = {}
    for orientation in range(ORIENTATIONS):
        distinct.setdefault(oriented(cubes, orientation), orientation)
    return {
        (orientation, SIDE * front + left): frozenset((x + left, y + front, z) for x, y, z in block)
        for block, orientation in distinct.items()
        for front in range(SIDE)
        for left in range(SIDE)
        if all(x + left < SIDE and y + front < SIDE for x, y, _ in block)
    }


class Tower:
    """The blocks on one player's tower, in the order in which they were put there."""

    def __init__(self, blocks: list[Placed] | None = None) -> None:
        """Put up the rods, with ``blocks`` at rest on them."""
        self.blocks = list(blocks or [])
        self.cubes = {cube for block in self.blocks for cube in block.cubes}

    def drop(self, name: str, value: int, block: Block) -> Placed:
        """Let a block slide down from above everything, step by step, until it would collide."""
        height = max(self.heights())
        falling = frozenset((x, y, z + height) for x, y, z in block)
        while True:
            lower = frozenset((x, y, z - 1) for x, y, z in falling)
            if any(z < 0 for _, _, z in lower) or not self.cubes.isdisjoint(lower):
                break
            falling = lower
        placed = Placed(name, value, falling)
        self.blocks.append(placed)
        self.cubes |= falling
        return placed

    def heights(self) -> list[int]:
        """Return the height of each column's highest cube, gaps below it included."""
        heights = [0] * COLUMNS
        for x, y, z in self.cubes:
            heights[SIDE * y + x] = max(heights[SIDE * y + x], z + 1)
        return heights

    def is_flat(self) -> bool:
        """Whether all columns are equally high, and not empty."""
        heights = self.heights()
        return heights[0] > 0 and len(set(heights)) == 1

    def is_over_the_top(self) -> bool:
        """Whether a block stands above the tower."""
        return any(z >= TOP for _, _, z in self.cubes)

    def overhangs(self, placed: Placed) -> bool:
        """Whether the cell directly below some cube of the block is empty."""
        return any(z > 0 and (x, y, z - 1) not in self.cubes for x, y, z in placed.cubes)

    def points(self) -> int:
        """Return the values of the blocks; one above the top loses its cubes above instead."""
        return sum(
            -block.cubes_above if block.cubes_above > 0 else block.value for block in self.blocks
        )


class ReferenceObelisk:
    """One game of Obelisk with a catalogue of blocks; player 0 is active in the first turn.

    ``blocks`` is the catalogue as parsed from its JSON file. ``max_plies=None`` means 400 with
    ``hourglass`` and no cap without it.
    """

    def __init__(
        self,
        scoring: str = "points",
        hourglass: bool = False,
        *,
        blocks: dict[str, Any],
        max_plies: int | None = None,
    ) -> None:
        """Set up two bare towers, all blocks in the pile, the black ones aside."""
        self.scoring = scoring
        self.hourglass = hourglass
        self.blocks = blocks
        if max_plies is None and hourglass:
            max_plies = DEFAULT_CAP_WITH_HOURGLASS
        self.max_plies = max_plies

        self.names: list[str] = [block["id"] for block in blocks["blocks"]]
        self.values: dict[str, int] = {b["id"]: b["value"] for b in blocks["blocks"]}
        self.shapes: dict[str, Block] = {
            block["id"]: frozenset((x, y, z) for x, y, z in block["cubes"])
            for block in blocks["blocks"]
        }
        types = len(self.names)
        self.first_pick = types
        self.first_place = types + 2
        self.first_black = self.first_place + ORIENTATIONS * COLUMNS
        self.decline = self.first_black + COLUMNS
        self.timeout = self.decline + 1

        self.pile: Counter[str] = Counter({b["id"]: b["count"] for b in blocks["blocks"]})
        self.black_left: int = blocks["black"]["count"]
        self.towers = [Tower(), Tower()]
        self.zone: list[str] = []  # the building zone
        self.hands: dict[int, str] = {}  # what each player has to place
        self.offers: list[int] = []  # players who may still put a black block, the next one first
        self.active = 0
        self.phase: Phase = "choose"
        self.plies = 0
        self.is_over = False
        self.is_truncated = False
        self.winner: int | None = None  # None before the end and for a draw

    def copy(self) -> ReferenceObelisk:
        """Return an independent game in the same position."""
        twin = ReferenceObelisk(
            self.scoring, self.hourglass, blocks=self.blocks, max_plies=self.max_plies
        )
        twin.__dict__.update(
            self.__dict__,
            pile=self.pile.copy(),
            towers=[Tower(tower.blocks) for tower in self.towers],
            zone=list(self.zone),
            hands=dict(self.hands),
            offers=list(self.offers),
        )
        return twin

    @property
    def passive(self) -> int:
        """The player who is not the active one."""
        return 1 - self.active

    @property
    def mover(self) -> int:
        """The player to act."""
        if self.phase == "black":
            return self.offers[0]
        return self.active if self.phase in ("choose", "active places") else self.passive

    def legal_actions(self) -> list[int]:
        """Return the mover's legal actions in rising order; none once the game is over."""
        if self.is_over:
            return []
        if self.phase == "choose":
            choices = [t for t, name in enumerate(self.names) if self.pile[name] > 0]
            return choices + [self.timeout] if self.hourglass else choices
        if self.phase == "pick":
            first, second = self.zone
            return [self.first_pick] if first == second else [self.first_pick, self.first_pick + 1]
        if self.phase == "black":
            return [*range(self.first_black, self.first_black + COLUMNS), self.decline]
        return sorted(
            self.first_place + COLUMNS * orientation + column
            for orientation, column in placements(self.shapes[self.hands[self.mover]])
        )

    def play(self, action: int) -> list[str]:
        """Play a legal action; return the names of the rare events that it brought about.

        The events: ``identical blocks in the zone``; ``timeout``, and besides ``timeout with a
        block in the zone``; ``overhang`` (an empty cell directly below a cube just placed);
        ``overflow by one`` or ``by both`` at the end of a turn; ``flat of the active player`` or
        ``of the passive player`` (when the offer of a black block comes to that player) and
        ``both players flat`` (with a black block left); ``black block placed``, ``black block over
        the top``, ``black offer declined``; ``empty pile``, ``topple decided`` (one player's
        overflow alone, under that scoring), ``draw`` (not by the ply cap) and ``truncated``.
        """
        self.plies += 1
        if self.phase == "choose":
            events = self._time_out() if action == self.timeout else self._choose(action)
        elif self.phase == "pick":
            events = self._pick(action - self.first_pick)
        elif self.phase == "black":
            events = self._answer_offer(action)
        else:
            events = self._place(action)

        if self.is_over:
            return events
        if self.plies == self.max_plies:
            self.is_over = True
            self.is_truncated = True
            return events + ["truncated"]
        if self.phase == "turn over":
            self.active = self.passive
            self.phase = "choose"
        return events

    def rewards(self) -> tuple[int, int]:
        """Return the final rewards of players 0 and 1; ``(0, 0)`` for a draw or before the end."""
        if self.winner is None:
            return 0, 0
        return (1, -1) if self.winner == 0 else (-1, 1)

    def points(self) -> tuple[int, int]:
        """Return the points of players 0 and 1, counted as if the game ended now."""
        return self.towers[0].points(), self.towers[1].points()

    def snapshot(self) -> dict[str, object]:
        """Return the facts of the position.

        ``heights``: the nine column heights of each player's tower, by index ``3 * y + x``;
        ``pile``: how many of each block are left in the common pile, those with none left out;
        ``zone``: the blocks in the building zone in the order chosen, none from the pick on;
        ``points``: those of players 0 and 1, counted as if the game ended now; ``black_left``:
        the black blocks aside; ``active``: the active player, after the end that of the last turn.
        """
        return {
            "heights": [tower.heights() for tower in self.towers],
            "pile": {name: count for name, count in self.pile.items() if count > 0},
            "zone": list(self.zone),
            "points": self.points(),
            "black_left": self.black_left,
            "active": self.active,
        }

    def action_text(self, action: int) -> str:
        """Write a legal action: ``choose ID``, ``pick ID``, ``place a1 r0f``, ``black b2``, ..."""
        if action == self.timeout:
            return "timeout"
        if action == self.decline:
            return "decline"
        if action >= self.first_black:
            return f"black {self._column_name(action - self.first_black)}"
        if action >= self.first_place:
            orientation, column = divmod(action - self.first_place, COLUMNS)
            flip, quarter = divmod(orientation, QUARTERS)
            return f"place {self._column_name(column)} r{quarter}{'f' if flip else ''}"
        if action >= self.first_pick:
            return f"pick {self.zone[action - self.first_pick]}"
        return f"choose {self.names[action]}"

    # The steps of a turn.

    def _choose(self, type_number: int) -> list[str]:
        name = self.names[type_number]
        self.pile[name] -= 1
        self.zone.append(name)
        if len(self.zone) < 2:
            return []
        self.phase = "pick"
        return ["identical blocks in the zone"] if self.zone[0] == self.zone[1] else []

    def _time_out(self) -> list[str]:
        """Lose the turn; a block in the building zone goes back to the pile."""
        events = ["timeout"]
        if self.zone:
            events.append("timeout with a block in the zone")
        self.pile.update(self.zone)
        self.zone = []
        self.phase = "turn over"
        return events

    def _pick(self, number: int) -> list[str]:
        self.hands = {self.passive: self.zone[number], self.active: self.zone[1 - number]}
        self.zone = []
        self.phase = "active places"
        return []

    def _place(self, action: int) -> list[str]:
        orientation, column = divmod(action - self.first_place, COLUMNS)
        player = self.mover
        name = self.hands.pop(player)
        tower = self.towers[player]
        block = placements(self.shapes[name])[orientation, column]
        placed = tower.drop(name, self.values[name], block)
        events = ["overhang"] if tower.overhangs(placed) else []
        if self.phase == "active places":
            self.phase = "passive places"
            return events
        return events + self._judge_towers()

    def _judge_towers(self) -> list[str]:
        """After both placements: the game ends by an overflow, or flats bring offers of black."""
        overflows = [tower.is_over_the_top() for tower in self.towers].count(True)
        if overflows:
            event = "overflow by both" if overflows == 2 else "overflow by one"
            return [event, *self._end_game()]
        self.offers = [p for p in (self.active, self.passive) if self.towers[p].is_flat()]
        events = []
        if len(self.offers) == 2 and self.black_left > 0:
            events.append("both players flat")
        return events + self._make_next_offer()

    def _make_next_offer(self) -> list[str]:
        """Offer a black block to the next player with a flat tower, if there is still one."""
        if self.offers and self.black_left > 0:
            self.phase = "black"
            is_active = self.offers[0] == self.active
            return [f"flat of the {'active' if is_active else 'passive'} player"]
        self.offers = []
        self.phase = "turn over"
        if self.pile.total() < 2:
            return ["empty pile", *self._end_game()]
        return []

    def _answer_offer(self, action: int) -> list[str]:
        player = self.offers.pop(0)
        if action == self.decline:
            return ["black offer declined", *self._make_next_offer()]
        y, x = divmod(action - self.first_black, SIDE)
        tower = self.towers[1 - player]
        black = self.blocks["black"]
        tower.drop(black["id"], black["value"], frozenset({(x, y, 0)}))
        self.black_left -= 1
        if tower.is_over_the_top():
            self.phase = "turn over"
            return ["black block placed", "black block over the top", *self._end_game()]
        return ["black block placed", *self._make_next_offer()]

    def _end_game(self) -> list[str]:
        self.is_over = True
        toppled = [player for player in (0, 1) if self.towers[player].is_over_the_top()]
        if self.scoring == "topple" and len(toppled) == 1:
            self.winner = 1 - toppled[0]
            return ["topple decided"]
        first, second = self.points()
        if first == second:
            return ["draw"]
        self.winner = 0 if first > second else 1
        return []

    # Small things.

    @staticmethod
    def _column_name(column: int) -> str:
        y, x = divmod(column, SIDE)
        return f"{'abc'[x]}{y + 1}"
