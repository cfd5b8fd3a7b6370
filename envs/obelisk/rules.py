"""The rules of Obelisk, over one position.

Columns of a tower, seen from above (position 3 * y + x):

    3 | 6 7 8
    2 | 3 4 5
    1 | 0 1 2
        a b c

A block that slides down the rods rests on the first column that stops it, so only the heights
of a tower's columns matter.

T types of blocks are numbered in the catalogue's order; the black block is number T. Actions:

    0 .. T-1        choose a type of block from the pile
    T, T+1          pick the first or the second block of the building zone
    T+2 .. T+73     place the block in hand: 9 * orientation + position
    T+74 .. T+82    put a black block on a column of the other tower
    T+83, T+84      decline, timeout

Tables: for each block, the black one included, and each of its placements
``underside`` [T+1, 72, 9] is the height of its lowest cube over each column,
``top`` [T+1, 72, 9] the height above its highest one (100 and -100, without effect, on columns
that it does not cover), and ``above`` [T+1, 2, 10] how many of its cubes stand above height 9,
by whether it is flipped and the height at which it rests; ``value`` [T+1]; ``tallest`` is the
height of the tallest block. ``stock`` [T] are the blocks of a new pile, ``blocks`` their sum;
``black_level`` [black blocks] counts from 0. ``first_slot`` [T] is where each type begins in
``slots`` of the position. ``open`` [T+4, actions] are masks, see `_open_actions`.
``lead_offset`` is added to a player's lead to make it at least 0; ``topple`` is 1 for that scoring;
``max_plies`` is the ply cap; ``hourglass`` is 1 with that option; ``cubes`` [T+1] of each block.
"""

import numpy as np

from ..engine import rule as engine
from ..engine.rule import rule
from .geometry import COLUMNS, HEIGHT, PLACEMENTS

HALF_OF_PLACEMENTS = PLACEMENTS // 2  # the placements from here on are flipped

# The phases of a turn, in their order. The active player begins the turn.
CHOOSE_FIRST, CHOOSE_SECOND, PICK, PLACE_ACTIVE, PLACE_PASSIVE, BLACK_ACTIVE, BLACK_PASSIVE = range(
    7
)
NUM_PHASES = 7

# Actions after those that choose a type, counted from T.
PICK_FIRST = 0
PLACE = 2
BLACK = PLACE + PLACEMENTS
DECLINE = BLACK + COLUMNS
TIMEOUT = DECLINE + 1
ACTIONS_AFTER_TYPES = TIMEOUT + 1

# Rows of the table ``open`` after the T rows for placing a block of each type.
OPEN_CHOOSE = 0
OPEN_PICK = 1
OPEN_PICK_IDENTICAL = 2
OPEN_BLACK = 3
OPEN_ROWS_AFTER_TYPES = 4

NO_BLOCK = -1  # marks an empty place of the building zone, and an empty hand

# First index of each part of the observation. The parts of fixed size come first; "own" is the
# observing player's. A level of a tower is "the column is higher than k", for k = 0..9.
LEVELS = HEIGHT + 1
OWN_TOWER = 0
OTHER_TOWER = OWN_TOWER + LEVELS * COLUMNS
OWN_IS_FLAT = OTHER_TOWER + LEVELS * COLUMNS
OTHER_IS_FLAT = OWN_IS_FLAT + 1
OWN_IS_OVER = OTHER_IS_FLAT + 1
OTHER_IS_OVER = OWN_IS_OVER + 1
IS_ACTIVE = OTHER_IS_OVER + 1
PHASE = IS_ACTIVE + 1
LEAD = PHASE + NUM_PHASES  # "one's lead is more than k points", for k = -20..19
LEAD_SHOWN = 20
PARTS_OF_CATALOGUE = LEAD + 2 * LEAD_SHOWN


def state_dtype(types: int, blocks: int, placed: int) -> np.dtype:
    """The dtype of a position, for the pile's types and blocks and the most blocks ``placed``.

    ``heights`` holds the heights of the columns of the two towers, and ``points`` the value of
    their blocks, minus the cost of blocks over the top; ``over`` is 1 for a tower with such a
    block. ``zone`` holds the two chosen types, ``hand`` the type that each player has to place, and
    ``pile`` how many of each type are left, ``pile_blocks`` in all. ``open`` is the mover's mask.

    ``levels`` and ``slots`` repeat ``heights`` and ``pile`` in the form of the observation,
    zeros and ones: whether a column is higher than each level, at
    ``9 * level + column``; and for each type, from the table's ``first_slot`` on, whether more
    than 0, 1, ... are left.

    Only the picture reads ``log``: the blocks that were put on the towers, in order, as
    ``(72 * type + placement) * 2 + owner of the tower``; ``logged`` is how many.
    """
    return engine.state_dtype(
        ("points", np.int16, (2,)),
        ("pile_blocks", np.int16),
        ("phase", np.int8),
        ("active", np.int8),
        ("black_left", np.int8),
        ("zone", np.int8, (2,)),
        ("hand", np.int8, (2,)),
        ("over", np.int8, (2,)),
        ("heights", np.int8, (2, COLUMNS)),
        ("pile", np.int8, (types,)),
        ("levels", np.int8, (2, LEVELS * COLUMNS)),
        ("slots", np.int8, (blocks,)),
        ("open", np.int8, (types + ACTIONS_AFTER_TYPES,)),
        ("logged", np.uint8),
        ("log", np.uint16, (placed,)),
        log=("logged", "log"),
    )


@rule
def init(tables, state, rng):
    """Write empty towers and the whole pile; player 0 is active."""
    state.ply = 0
    state.outcome = engine.ONGOING
    state.active = 0
    state.black_left = len(tables.black_level)
    state.pile_blocks = tables.blocks
    for block in range(len(state.pile)):
        state.pile[block] = tables.stock[block]
    for slot in range(len(state.slots)):
        state.slots[slot] = 1
    for player in range(2):
        state.points[player] = 0
        state.over[player] = 0
        state.zone[player] = NO_BLOCK
        state.hand[player] = NO_BLOCK
        for column in range(COLUMNS):
            state.heights[player, column] = 0
        for feature in range(LEVELS * COLUMNS):
            state.levels[player, feature] = 0
    state.logged = 0
    for entry in range(len(state.log)):
        state.log[entry] = 0
    enter(tables, state, CHOOSE_FIRST)


@rule
def is_legal(tables, state, action):
    """Look the action up in ``open``, which is computed once for each position."""
    return state.open[action] != 0


@rule
def step(tables, state, action):
    """Play one action of the turn; the last one ends the turn, and perhaps the game."""
    types = len(state.pile)
    phase = int(state.phase)
    active = int(state.active)
    state.ply += 1
    if phase <= CHOOSE_SECOND:
        if action == types + TIMEOUT:
            _put_back(tables, state)
            _next_turn(tables, state)
        else:
            state.pile[action] -= 1
            state.pile_blocks -= 1
            state.slots[tables.first_slot[action] + state.pile[action]] = 0
            state.zone[phase] = action  # the zone's places have the numbers of the first two phases
            enter(tables, state, phase + 1)
    elif phase == PICK:
        picked = action - types - PICK_FIRST
        state.hand[1 - active] = state.zone[picked]
        state.hand[active] = state.zone[1 - picked]
        state.zone[0] = NO_BLOCK
        state.zone[1] = NO_BLOCK
        enter(tables, state, PLACE_ACTIVE)
    elif phase <= PLACE_PASSIVE:
        mover = int(state.mover)
        _put(tables, state, mover, int(state.hand[mover]), action - types - PLACE)
        state.hand[mover] = NO_BLOCK
        if phase == PLACE_ACTIVE:
            enter(tables, state, PLACE_PASSIVE)
        elif state.over[0] | state.over[1]:
            end_game(tables, state)
        elif (state.black_left > 0) & is_flat(state, active):
            enter(tables, state, BLACK_ACTIVE)
        elif (state.black_left > 0) & is_flat(state, 1 - active):
            enter(tables, state, BLACK_PASSIVE)
        else:
            _next_turn(tables, state)
    else:
        owner = 1 - int(state.mover)
        # Flatness is judged as the turn ended, before the active player's black block lies there.
        passive_is_flat = is_flat(state, 1 - active)
        if action != types + DECLINE:
            state.black_left -= 1
            _put(tables, state, owner, types, action - types - BLACK)
        if state.over[owner]:
            end_game(tables, state)
        elif (phase == BLACK_ACTIVE) & passive_is_flat & (state.black_left > 0):
            enter(tables, state, BLACK_PASSIVE)
        else:
            _next_turn(tables, state)
    if (state.outcome == engine.ONGOING) & (state.ply >= tables.max_plies):
        state.outcome = engine.TRUNCATED


@rule
def may_end(tables, state):
    """True from the second placement on if the game may end after this turn; or at the ply cap."""
    highest = 0
    for column in range(COLUMNS):
        highest = max(highest, int(state.heights[0, column]), int(state.heights[1, column]))
    is_over = (state.over[0] | state.over[1]) != 0
    last_turn = is_over | (highest + tables.tallest > HEIGHT) | (state.pile_blocks < 2)
    return (last_turn & (state.phase >= PLACE_PASSIVE)) | (state.ply + 1 >= tables.max_plies)


@rule
def observe(tables, state, player, planes):
    """Write one row of features (constants above, then by the sizes of the catalogue)."""
    other = 1 - player
    for feature in range(LEVELS * COLUMNS):
        planes[0, OWN_TOWER + feature] = state.levels[player, feature]
        planes[0, OTHER_TOWER + feature] = state.levels[other, feature]
    planes[0, OWN_IS_FLAT] = is_flat(state, player)
    planes[0, OTHER_IS_FLAT] = is_flat(state, other)
    planes[0, OWN_IS_OVER] = state.over[player]
    planes[0, OTHER_IS_OVER] = state.over[other]
    planes[0, IS_ACTIVE] = state.active == player
    for phase in range(NUM_PHASES):
        planes[0, PHASE + phase] = state.phase == phase
    lead = int(state.points[player]) - int(state.points[other])
    for shown in range(2 * LEAD_SHOWN):
        planes[0, LEAD + shown] = lead > shown - LEAD_SHOWN

    part = PARTS_OF_CATALOGUE
    for level in range(len(tables.black_level)):
        planes[0, part + level] = state.black_left > tables.black_level[level]
    part += len(tables.black_level)
    for slot in range(len(state.slots)):
        planes[0, part + slot] = state.slots[slot]
    part += len(state.slots)
    types = len(state.pile)
    for block in range(types):
        planes[0, part + block] = state.zone[0] == block
        planes[0, part + types + block] = state.zone[1] == block
        planes[0, part + 2 * types + block] = state.hand[player] == block
        planes[0, part + 3 * types + block] = state.hand[other] == block
    part += 4 * types
    for digit in range(planes.shape[1] - part):
        planes[0, part + digit] = lead + tables.lead_offset >> digit & 1


@rule
def points(tables, state):
    """The points of each player's tower; blocks over the top count as at the end."""
    return int(state.points[0]), int(state.points[1])


@rule
def is_flat(state, player):
    """Whether the player's nine columns are equally high, and not empty."""
    height = state.heights[player, 0]
    equal = 0
    for column in range(COLUMNS):
        equal += state.heights[player, column] == height
    return (equal == COLUMNS) & (height > 0)


@rule
def resting_height(tables, heights, block, placement):
    """The height at which a block rests that slides down on columns of these heights [9]."""
    rest = 0
    for column in range(COLUMNS):
        rest = max(rest, int(heights[column]) - int(tables.underside[block, placement, column]))
    return rest


@rule
def _put(tables, state, owner, block, placement):
    """Let a block slide down the rods of the owner's tower, and count it there."""
    rest = resting_height(tables, state.heights[owner], block, placement)
    for column in range(COLUMNS):
        before = int(state.heights[owner, column])
        after = max(before, rest + int(tables.top[block, placement, column]))
        state.heights[owner, column] = after
        for level in range(before, min(after, LEVELS)):
            state.levels[owner, level * COLUMNS + column] = 1
    flipped = placement >= HALF_OF_PLACEMENTS
    above = int(tables.above[block, int(flipped), rest])
    if above > 0:
        state.over[owner] = 1
        state.points[owner] -= above
    else:
        state.points[owner] += tables.value[block]
    state.log[state.logged] = 2 * (PLACEMENTS * block + placement) + owner
    state.logged += 1


@rule
def _put_back(tables, state):
    """Return the block in the building zone, if there is one, to the pile."""
    if state.zone[0] != NO_BLOCK:
        block = state.zone[0]
        state.slots[tables.first_slot[block] + state.pile[block]] = 1
        state.pile[block] += 1
        state.pile_blocks += 1
        state.zone[0] = NO_BLOCK


@rule
def _next_turn(tables, state):
    """Swap the roles, or end the game if the pile has fewer than two blocks."""
    if state.pile_blocks < 2:
        end_game(tables, state)
    else:
        state.active = 1 - state.active
        enter(tables, state, CHOOSE_FIRST)


@rule
def enter(tables, state, phase):
    """Begin a phase: who acts in it, and what is legal."""
    is_passive = (phase == PICK) | (phase == PLACE_PASSIVE) | (phase == BLACK_PASSIVE)
    state.phase = phase
    state.mover = int(state.active) ^ int(is_passive)
    _open_actions(tables, state)


@rule
def _open_actions(tables, state):
    """Write the mover's mask: a row of the table, and while choosing the types in the pile."""
    types = len(state.pile)
    phase = int(state.phase)
    if phase <= CHOOSE_SECOND:
        row = types + OPEN_CHOOSE
    elif phase == PICK:
        identical = state.zone[0] == state.zone[1]
        row = types + (OPEN_PICK_IDENTICAL if identical else OPEN_PICK)
    elif phase <= PLACE_PASSIVE:
        row = int(state.hand[state.mover])
    else:
        row = types + OPEN_BLACK
    for action in range(len(state.open)):
        state.open[action] = tables.open[row, action]
    if phase <= CHOOSE_SECOND:
        for block in range(types):
            state.open[block] = state.pile[block] > 0


@rule
def end_game(tables, state):
    """End the game: with ``topple`` a player alone over the top loses, else points decide."""
    first, second = points(tables, state)
    lead = first - second
    if tables.topple & (state.over[0] != state.over[1]):
        lead = int(state.over[1]) - int(state.over[0])
    if lead > 0:
        state.outcome = engine.PLAYER_0_WINS
    elif lead < 0:
        state.outcome = engine.PLAYER_1_WINS
    else:
        state.outcome = engine.DRAW
