"""The rules of Osiron, over one position.

Spaces, the triangles of a hexagon (their index runs along the rows from ``a1``):

    d |      19 20 21 22 23
    c |   12 13 14 15 16 17 18
    b |    5  6  7  8  9 10 11
    a |       0  1  2  3  4

Spaces border along the rows, and up and down where triangles share a side; they point at each
other if they lie opposite across a corner. There are 51 pairs: 30 that border, then 21
that point at each other, both sorted by lower and higher space. The actions are the pairs that
the option ``movement`` allows (basic: the 30, advanced: all), then, if the setup is empty, the 24
spaces to place on. Player 0 is light. The canonical turn is half a turn, ``space -> 23 - space``.

A game begins with 24 placements if its setup is empty. All further plies are exchanges; two of
them, one by each player, make a round.

Many values here are integers that stand for several things at once:

- a set of spaces has bit ``space`` set for each of them, a set of pairs likewise;
- counts are one hexadecimal digit for each of the seven circles, so that they can be added;
- a set of circles has the highest bit of each one's digit set.

Tables:

- ``ends`` [51, 2]: the lower and the higher space of each pair;
- ``exchange`` [52]: the set of these two, empty for `NO_PAIR`;
- ``beside`` [51]: the set of the other pairs that have a space in common with each pair;
- ``kinds`` [2]: the set of the pairs that border, and of those that point at each other;
- ``ones_around`` [24]: counts, one for each circle that a space lies in;
- ``gained`` [51]: counts that light gains by going from the lower to the higher space;
- ``start``: the light spaces at the start; ``upwards``: the spaces whose tip is above;
  ``is_random``: draw the start instead; ``placements``: plies
  with which the players place their pieces instead, 24 or 0;
- ``is_advanced``: whether every second round is played with pieces that point at each other;
- ``first_placement``: the action that places on the first space, and so the number of pairs among
  the actions; ``num_actions``;
- ``repetition``: occurrences of a position that end the game, or 0; ``max_plies``: the ply cap;
- ``space_at`` [28]: the set of the one space on each cell of the observation; empty for the cells
  beside the board;
- ``circles_at`` [28]: the set of circles around that space.
"""

import numpy as np

from ..engine import rule as engine
from ..engine.rule import rule

SPACES = 24
BORDERING_PAIRS = 30
PAIRS = 51
CIRCLES = 7
CELLS = 28  # cells of the observation: four rows of seven, 24 of them spaces

ALL_SPACES = (1 << SPACES) - 1
NO_PAIR = PAIRS

ONES = 0x1111111  # counts: one for each circle
CIRCLE_SIZE = 6
ALL_CIRCLES = 8 * ONES

# Kinds of exchange.
BORDERING, POINTING = range(2)

# Observation planes; "own" means the observing player's.
OWN_PIECES, OTHER_PIECES = range(2)
OWN_THREE, OWN_FOUR, OWN_FIVE, OTHER_THREE, OTHER_FOUR, OTHER_FIVE = range(2, 8)
FORBIDDEN, OWN_EXCLUDED, OTHER_EXCLUDED, BOARD, IS_LIGHT = range(8, 13)
IS_ADVANCED, IS_POINTING, IS_NEW_ROUND, IS_PLACING, EMPTY = range(13, 18)
NUM_PLANES = 18


def state_dtype(turns_kept: int) -> np.dtype:
    """The dtype of a position; with ``repetition`` it includes keys of the positions before it.

    ``light`` is the set of spaces with a light piece, ``empty`` of those without a piece.
    ``mixed`` is the set of pairs with one piece of each colour, once all pieces are placed.
    ``around`` counts each player's pieces in each circle, ``counting`` is the set of circles that
    count for each player. ``forbidden`` is the pair that may not be exchanged now, or `NO_PAIR`.
    ``history[mover, turn]`` is the `position_key` of the position before that turn of ``mover``,
    counted from the first exchange. It is zero beyond the present turn, at the present one if the
    last exchange filled a circle that counts or left no exchange, and everywhere without
    ``repetition``. In a position read from a text the keys that it names stand at the latest
    turns, in no order of play, with zeros before them, and the present one is there always.
    """
    return engine.state_dtype(
        ("forbidden", np.uint8),
        ("light", np.int32),
        ("empty", np.int32),
        ("mixed", np.int64),
        ("around", np.int32, (2,)),
        ("counting", np.int32, (2,)),
        ("history", np.int32, (2, turns_kept)),
    )


@rule
def init(tables, state, rng):
    """Write the start of the setup, or draw one."""
    light = _random_start(tables, rng) if tables.is_random else int(tables.start)
    set_up(tables, state, light)


@rule
def set_up(tables, state, light):
    """Write the start with these light spaces; the rest are dark, or empty in an empty setup."""
    state.ply = 0
    state.mover = 0
    state.outcome = engine.ONGOING
    state.forbidden = NO_PAIR
    state.light = light
    state.empty = ALL_SPACES if tables.placements else 0
    for player in range(2):
        around = pieces_around(tables, pieces(state, player))
        state.around[player] = around
        state.counting[player] = ALL_CIRCLES ^ at_least(around, CIRCLE_SIZE)
    for mover in range(2):
        for turn in range(state.history.shape[1]):
            state.history[mover, turn] = 0
    state.mixed = 0
    if state.empty == 0:
        _begin_exchanges(tables, state)


@rule
def is_legal(tables, state, action):
    """Whether the space is empty, or the pair may be exchanged now."""
    if action >= tables.first_placement:
        return int(state.empty) >> (action - int(tables.first_placement)) & 1
    return int(exchanges(tables, state)) >> action & 1


@rule
def step(tables, state, action):
    """Place a piece, or exchange two."""
    state.ply += 1
    if action >= tables.first_placement:
        _place(tables, state, action - int(tables.first_placement))
    else:
        _exchange(tables, state, action)
    if state.outcome == engine.ONGOING and state.ply >= tables.max_plies:
        state.outcome = engine.TRUNCATED


@rule
def observe(tables, state, player, planes):
    """Write eighteen planes over the cells (constants above).

    The planes ``OWN_THREE`` to ``OTHER_FIVE`` show the spaces of circles that count for a player
    and hold at least this many of their pieces.
    """
    own = pieces(state, player)
    other = pieces(state, 1 - player)
    own_count = int(state.around[player])
    own_counting = int(state.counting[player])
    own_three = at_least(own_count, 3) & own_counting
    own_four = at_least(own_count, 4) & own_counting
    own_five = at_least(own_count, 5) & own_counting
    other_count = int(state.around[1 - player])
    other_counting = int(state.counting[1 - player])
    other_three = at_least(other_count, 3) & other_counting
    other_four = at_least(other_count, 4) & other_counting
    other_five = at_least(other_count, 5) & other_counting
    forbidden = int(tables.exchange[state.forbidden])
    empty = int(state.empty)
    is_pointing = movement(tables, state) == POINTING
    is_new_round = is_round_new(tables, state)
    for cell in range(CELLS):
        space = int(tables.space_at[cell])
        around = int(tables.circles_at[cell])
        planes[OWN_PIECES, cell] = own & space != 0
        planes[OTHER_PIECES, cell] = other & space != 0
        planes[OWN_THREE, cell] = own_three & around != 0
        planes[OWN_FOUR, cell] = own_four & around != 0
        planes[OWN_FIVE, cell] = own_five & around != 0
        planes[OTHER_THREE, cell] = other_three & around != 0
        planes[OTHER_FOUR, cell] = other_four & around != 0
        planes[OTHER_FIVE, cell] = other_five & around != 0
        planes[FORBIDDEN, cell] = forbidden & space != 0
        planes[OWN_EXCLUDED, cell] = around & ~own_counting != 0
        planes[OTHER_EXCLUDED, cell] = around & ~other_counting != 0
        planes[BOARD, cell] = space != 0
        planes[IS_LIGHT, cell] = player == 0
        planes[IS_ADVANCED, cell] = tables.is_advanced != 0
        planes[IS_POINTING, cell] = is_pointing
        planes[IS_NEW_ROUND, cell] = is_new_round
        planes[IS_PLACING, cell] = empty != 0
        planes[EMPTY, cell] = empty & space != 0


@rule
def score(tables, state):
    """Estimate who is ahead: each further piece in a circle that counts doubles its weight."""
    lead = 0
    for player in range(2):
        around = int(state.around[player])
        for circle in range(CIRCLES):
            is_counting = int(state.counting[player]) >> 4 * circle + 3 & 1
            lead += (1 - 2 * player) * (is_counting << (around >> 4 * circle & 7))
    return lead


@rule
def is_turned(tables, state, player):
    """True for the dark player, who sees the board turned by half a turn, its own side below."""
    return player == 1


@rule
def movement(tables, state):
    """The kind of exchange of this round; `BORDERING` while pieces are placed."""
    if tables.is_advanced and state.empty == 0:
        return (state.ply - int(tables.placements)) >> 1 & 1
    return BORDERING


@rule
def is_round_new(tables, state):
    """Whether a round of exchanges begins; False in basic movement, where rounds do not matter."""
    return tables.is_advanced != 0 and state.empty == 0 and state.ply & 1 == 0


@rule
def pieces(state, player):
    """The set of spaces with a piece of ``player``."""
    light = int(state.light)
    return light ^ (ALL_SPACES ^ int(state.empty)) if player else light


@rule
def at_least(around, number):
    """The set of circles in which the counts ``around`` are at least ``number``, from 1 to 8."""
    return around + (8 - number) * ONES & ALL_CIRCLES


@rule
def has_circle(state, player):
    """Whether ``player`` fully occupies a circle that counts for them."""
    occupied = at_least(int(state.around[player]), CIRCLE_SIZE)
    return occupied & int(state.counting[player]) != 0


@rule
def position_key(tables, state):
    """Colouring, forbidden pair and kind of movement in 31 bits.

    Together with the player to move, this is what repetition compares.
    """
    kind = movement(tables, state)
    return int(state.light) | int(state.forbidden) << SPACES | kind << SPACES + 6


@rule
def exchanges(tables, state):
    """The set of pairs that may be exchanged."""
    allowed = int(state.mixed) & int(tables.kinds[movement(tables, state)])
    return allowed & ~(1 << int(state.forbidden))


@rule
def _place(tables, state, space):
    """Place a piece of the mover. Circles that the mover then holds never count for them."""
    mover = int(state.mover)
    state.empty ^= 1 << space
    if mover == 0:
        state.light |= 1 << space
    state.around[mover] += tables.ones_around[space]
    state.counting[mover] &= ~at_least(int(state.around[mover]), CIRCLE_SIZE)
    if state.empty:
        state.mover = 1 - mover
    else:  # the player who placed last exchanges first
        _begin_exchanges(tables, state)


@rule
def _begin_exchanges(tables, state):
    state.mixed = mixed_pairs(tables, int(state.light))
    is_repetition(tables, state)


@rule
def _exchange(tables, state, pair):
    """Exchange two pieces: each pair with one of the two spaces becomes mixed or stops being so."""
    mover = int(state.mover)
    gained = int(tables.gained[pair])
    if not state.light >> int(tables.ends[pair, 0]) & 1:
        gained = -gained
    state.around[0] += gained
    state.around[1] -= gained
    state.light ^= tables.exchange[pair]
    state.mixed ^= tables.beside[pair]
    state.mover = 1 - mover
    is_of_next_kind = int(tables.kinds[movement(tables, state)]) >> pair & 1
    state.forbidden = pair if is_of_next_kind else NO_PAIR
    mover_wins = has_circle(state, mover)
    other_wins = has_circle(state, 1 - mover)
    if mover_wins and other_wins:
        state.outcome = engine.DRAW
    elif mover_wins:
        state.outcome = engine.PLAYER_0_WINS + mover
    elif other_wins:
        state.outcome = engine.PLAYER_0_WINS + 1 - mover
    elif exchanges(tables, state) == 0 or is_repetition(tables, state):
        state.outcome = engine.DRAW


@rule
def is_repetition(tables, state):
    """Write the position into the history; return whether its repetition ends the game.

    Without the option ``repetition`` nothing is written, and no repetition ends the game.
    """
    return tables.repetition > 0 and _note_position(tables, state) >= tables.repetition


@rule
def _note_position(tables, state):
    """Write the position into the history; return how often it has occurred, this time included."""
    key = np.int32(position_key(tables, state))
    mover = int(state.mover)
    turn = (state.ply - int(tables.placements)) >> 1
    count = 1
    for earlier in range(turn):
        count += state.history[mover, earlier] == key
    state.history[mover, turn] = key
    return count


@rule
def mixed_pairs(tables, light):
    """The set of pairs with one piece of each colour, with light pieces on these spaces."""
    mixed = 0
    for pair in range(PAIRS):
        lower = light >> int(tables.ends[pair, 0])
        higher = light >> int(tables.ends[pair, 1])
        mixed |= ((lower ^ higher) & 1) << pair
    return mixed


@rule
def pieces_around(tables, spaces):
    """Counts of the pieces in each circle, if there is one on each of these spaces."""
    around = 0
    for space in range(SPACES):
        around += (spaces >> space & 1) * int(tables.ones_around[space])
    return around


@rule
def _random_start(tables, rng):
    """A random half of the spaces; all halves without a complete circle are equally likely."""
    light = _random_half(rng)
    while has_complete_circle(tables, light):
        light = _random_half(rng)
    return light


@rule
def has_complete_circle(tables, light):
    """Whether a circle is all light or all dark."""
    around = pieces_around(tables, light)
    return at_least(around, CIRCLE_SIZE) != 0 or at_least(around, 1) != ALL_CIRCLES


@rule
def _random_half(rng):
    light = 0
    wanted = SPACES // 2
    for space in range(SPACES):
        is_taken = engine.random_below(rng, SPACES - space) < wanted
        light |= is_taken << space
        wanted -= is_taken
    return light
