"""Osiron's board for the analysis, its colourings by number, and the rule sets they can have.

A colouring is the set of the spaces of one player, an integer with a bit for each. Sets are
numbered in rising order. If they are cut into an upper and a lower half of twelve bits, the number
of a set is the number of the first set with the same upper half, plus the rank of its lower half
among all lower halves of the same size.

The value of a colouring depends on the movement and on the circles that do not count for each
player: `RuleSet`. Up to the symmetries of the hexagon and the exchange of colours there are eleven
ways in which a start can have complete circles.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from ludarium.envs.engine.rule import table_record
from ludarium.envs.osiron.board import CIRCLE_SPACES, HEXAGON, PAIR_ENDS, bits_of
from ludarium.envs.osiron.rules import ALL_SPACES, BORDERING_PAIRS, CIRCLES, NO_PAIR, PAIRS, SPACES

COLOURINGS = 2_704_156  # colourings of 24 spaces, half of which are player 0's

_HALF = SPACES // 2
_HALVES = np.arange(1 << _HALF)
_SIZES = np.bitwise_count(_HALVES)
#: The halves of each size, in rising order.
_OF_SIZE = [_HALVES[size == _SIZES] for size in range(_HALF + 1)]
#: Stands for the spaces of a circle that does not count.
UNREACHABLE = 1 << SPACES

#: The first pair of each kind, and the one after its last.
_BORDERING, _POINTING = (0, BORDERING_PAIRS), (BORDERING_PAIRS, PAIRS)
#: The kinds of the phases of each movement, see the kernels; players 0 and 1 move in turn.
_KINDS = {
    "basic": (_BORDERING, _BORDERING),
    "advanced": (_BORDERING, _BORDERING, _POINTING, _POINTING),
}
#: The two ways to move.
MOVEMENTS = tuple(_KINDS)

#: The image of each circle under each symmetry of the hexagon, int[12, 7].
_CIRCLE_IMAGES = [
    [CIRCLE_SPACES.index({int(image[space]) for space in spaces}) for spaces in CIRCLE_SPACES]
    for image in HEXAGON
]

#: For players 0 and 1 the circles, 0 to 6, that do not count for them.
Excluded = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, order=True)
class RuleSet:
    """The rules that decide the value of a colouring.

    Attributes:
        movement: ``"basic"`` or ``"advanced"``.
        excluded: for each player the circles that do not count. With advanced movement player 0
            is the player who begins the rounds; with basic movement either of the two.
    """

    movement: str
    excluded: Excluded

    @property
    def phases(self) -> int:
        """Number of phases, see the kernels."""
        return len(_KINDS[self.movement])

    @property
    def forbids(self) -> list[bool]:
        """For each phase, whether a pair of the kind to be exchanged may be forbidden."""
        kinds = _KINDS[self.movement]
        return [kinds[phase - 1] == kind for phase, kind in enumerate(kinds)]

    @property
    def circles(self) -> str:
        """The circles that do not count, player 0's first: ``12-67``; ``0-4``: none for player 0.

        They are numbered from 1 at the bottom left.
        """
        return "-".join(
            "".join(str(circle + 1) for circle in circles) or "0" for circles in self.excluded
        )

    def __str__(self) -> str:
        return f"{self.movement}-{self.circles}"


def all_rule_sets(movement: str) -> list[RuleSet]:
    """The rule sets of all starts, one of each class that is equal up to `view_of`.

    Basic movement has 11. Advanced movement has 18, because it matters who begins the rounds: 4 of
    the 11 are their own images with the colours exchanged.
    """
    light = all_colourings()
    full = np.zeros(len(light), np.int64)
    for player, circle in product((0, 1), range(CIRCLES)):
        own = light ^ (ALL_SPACES * player)
        spaces = bits_of(CIRCLE_SPACES[circle])
        full |= (own & spaces == spaces).astype(np.int64) << (CIRCLES * player + circle)
    found = {view_of(movement, _excluded_of(code), 0)[0] for code in np.unique(full).tolist()}
    return sorted(found)


def _excluded_of(code: int) -> Excluded:
    first, second = (
        tuple(c for c in range(CIRCLES) if code >> (CIRCLES * player + c) & 1) for player in (0, 1)
    )
    return first, second


def view_of(movement: str, excluded: Excluded, opener: int) -> tuple[RuleSet, np.ndarray]:
    """The rule set that is analysed for a game, and how the game's positions are mapped to it.

    A symmetry of the hexagon, and with basic movement the exchange of colours, map games to
    each other; of such equal rule sets the first one is analysed.

    Args:
        movement: the game's option ``movement``.
        excluded: the circles that do not count in the game.
        opener: the player who begins the rounds.

    Returns:
        The rule set, and a record for the kernels:

        - ``exchanged``: 1 if the game's player 0 is player 1 of the analysis;
        - ``image`` int32[2, 4096]: image of each lower and of each upper half of a set of spaces;
        - ``pair_image`` uint8[52]: image of each pair, and of `NO_PAIR`.
    """
    swaps = (opener,) if movement == "advanced" else (0, 1)

    def seen(symmetry: int, swap: int) -> Excluded:
        first, second = (
            tuple(sorted(_CIRCLE_IMAGES[symmetry][circle] for circle in excluded[player ^ swap]))
            for player in (0, 1)
        )
        return first, second

    least, swap, symmetry = min(
        (seen(symmetry, swap), swap, symmetry)
        for symmetry, swap in product(range(len(HEXAGON)), swaps)
    )
    return RuleSet(movement, least), view_record(HEXAGON[symmetry], swap)


def view_record(spaces: np.ndarray, exchanged: int) -> np.ndarray:
    """How positions are mapped to an analysis, a record as `view_of` returns it.

    Args:
        spaces: image of each space, int[24].
        exchanged: 1 if the players are exchanged.
    """
    bits = _HALVES[:, None] >> np.arange(_HALF) & 1
    return table_record(
        exchanged=exchanged,
        image=np.stack(
            [(bits << spaces[first : first + _HALF]).sum(axis=1) for first in (0, _HALF)]
        ).astype(np.int32),
        pair_image=np.array([*_pair_images(spaces), NO_PAIR], np.uint8),
    )


def _pair_images(spaces: np.ndarray) -> list[int]:
    pair_with = {ends: pair for pair, ends in enumerate(PAIR_ENDS)}
    images = [sorted((int(spaces[lower]), int(spaces[higher]))) for lower, higher in PAIR_ENDS]
    return [pair_with[lower, higher] for lower, higher in images]


def board_record(rules: RuleSet) -> np.ndarray:
    """The board with a rule set, a record for the kernels:

    - ``ends`` uint8[51, 2]: the spaces of each pair;
    - ``exchange`` int32[51]: the set of these two;
    - ``kind`` int64[P, 2]: the first pair that a phase can exchange, and the one after the last;
    - ``forbids`` uint8[P]: whether a pair of that kind may be forbidden;
    - ``goals`` int32[2, 7]: the spaces of each circle, `UNREACHABLE` if a player's does not count;
    - ``first`` int32[4096]: the number of the first colouring with each upper half;
    - ``rank`` int16[4096]: the rank of each lower half among those of its size.
    """
    followers = np.array([len(_OF_SIZE[_HALF - size]) for size in _SIZES])
    rank = np.empty(len(_HALVES), np.int16)
    for halves in _OF_SIZE:
        rank[halves] = np.arange(len(halves))
    return table_record(
        ends=np.array(PAIR_ENDS, np.uint8),
        exchange=np.array([1 << low | 1 << high for low, high in PAIR_ENDS], np.int32),
        kind=np.array(_KINDS[rules.movement], np.int64),
        forbids=np.array(rules.forbids, np.uint8),
        goals=np.array(
            [
                [
                    UNREACHABLE if c in excluded else bits_of(CIRCLE_SPACES[c])
                    for c in range(CIRCLES)
                ]
                for excluded in rules.excluded
            ],
            np.int32,
        ),
        first=(np.cumsum(followers) - followers).astype(np.int32),
        rank=rank,
    )


def all_colourings() -> np.ndarray:
    """All colourings in the order of their numbers, int32[2704156]."""
    colourings = np.concatenate(
        [
            upper << _HALF | _OF_SIZE[_HALF - size]
            for upper, size in zip(_HALVES, _SIZES, strict=True)
        ]
    ).astype(np.int32)
    assert len(colourings) == COLOURINGS
    return colourings
