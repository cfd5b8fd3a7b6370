"""The rules of Obsidio, over one position.

Cells of a 7 x 7 board (rank 1 at the bottom; the index is rank * size + file), ``o`` a target,
``:`` a dark and ``.`` a light cell:

    7 | : . : . : . :
    6 | . o . o . o .
    5 | : . : . : . :
    4 | . o . o . o .
    3 | : . : . : . :
    2 | . o . o . o .
    1 | : . : . : . :
        a b c d e f g

Tokens belong to colours, black (0) and teal (1); the player ``colour ^ black`` owns a colour,
where ``black`` is the player who owns black. Actions: the cells, then DONE, then SWAP.

A turn is a sequence of plies by the same player; ``stage`` tells how far it is.

Tables, for ``cells`` cells and ``targets`` targets:
    ``kind`` [cells]: DARK, LIGHT or TARGET;
    ``is_dark``, ``is_light`` [cells]: the same as 0 and 1;
    ``step`` [8]: the number to add to a cell for its neighbour in each direction;
    ``run`` [cells + 1, 8]: how many cells there are in each direction before a target or the
        edge, 0 for the cell number ``cells`` that stands for no cell;
    ``too_near`` [cells, 4]: cells where a second light token may not go, filled up with the cell
        itself;
    ``target_cell`` [targets]: the cell of each target;
    ``targets_beside`` [cells, 4], ``num_beside`` [cells]: the targets next to a cell, and how many
        of the four entries are used;
    ``swap_rule``: 1 if player 1 may swap colours.
"""

import numpy as np

from ..engine import rule as engine
from ..engine.rule import rule

# Kinds of cells.
DARK, LIGHT, TARGET = range(3)

# What a cell holds. Add the colour to INFLUENCE (on dark and light cells) and CONTROL (targets).
EMPTY = 0
INFLUENCE = 1
CONTROL = 3

# Stages of a turn: its start, the second light token, further claims.
START, SECOND, CLAIMING = range(3)

NEEDED = 4  # influence tokens around a target that allow a claim

# Bits of ``open``.
PLAYABLE = 1  # a legal action
IN_SIGHT = 2  # an empty cell in line of sight of the last token

# Observation planes; "own" means the observing player's.
OWN_INFLUENCE, OTHER_INFLUENCE, OWN_CONTROL, OTHER_CONTROL = range(4)
UNCLAIMED, DARK_CELLS, LIGHT_CELLS, LAST, VISIBLE = range(4, 9)
OWN_COUNT = 9  # unclaimed targets with at least 1, 2, 3, 4 influence tokens of one's own
OTHER_COUNT = 13
PLACING_SECOND, CLAIMING_ON, MAY_SWAP = range(17, 20)
NUM_PLANES = 20

_DIRECTIONS = 8


def state_dtype(cells: int) -> np.dtype:
    """The dtype of a position.

    ``stage``: stage of the turn, constants above. ``black``: the player who owns black. ``last``:
    the cell of the last token, ``cells`` before the first. ``empty``: dark and light cells without
    a token. ``claims``: by colour. ``influence``: by colour and cell, the influence tokens around
    each target; 0 where there is no target. ``cells``: what each holds. ``open``: the bits PLAYABLE
    of each action and, for cells, IN_SIGHT; nothing is PLAYABLE when the game is over.
    """
    return engine.state_dtype(
        ("stage", np.int8),
        ("black", np.int8),
        ("last", np.uint8),
        ("empty", np.uint8),
        ("claims", np.int8, (2,)),
        ("influence", np.int8, (2, cells)),
        ("cells", np.int8, (cells,)),
        ("open", np.int8, (cells + 2,)),
    )


@rule
def init(tables, state, rng):
    """Write the empty board: every dark or light cell may be taken."""
    cells = len(state.cells)
    targets = len(tables.target_cell)
    state.ply = 0
    state.mover = 0
    state.outcome = engine.ONGOING
    state.stage = START
    state.black = 0
    state.last = cells
    state.empty = cells - targets
    for colour in range(2):
        state.claims[colour] = 0
        for cell in range(cells):
            state.influence[colour, cell] = 0
    for cell in range(cells):
        state.cells[cell] = EMPTY
        state.open[cell] = tables.is_dark[cell] | tables.is_light[cell]
    state.open[cells] = 0
    state.open[cells + 1] = 0


@rule
def is_legal(tables, state, action):
    """Look the action up in ``open``, which the last ply has computed."""
    return (state.open[action] & PLAYABLE) != 0


@rule
def step(tables, state, action):
    """Place a token, end the turn, or swap; then compute the legal actions."""
    cells = len(state.cells)
    done, swap = cells, cells + 1
    colour = int(state.mover ^ state.black)
    starts_pair = False
    claims = False
    if action < cells:
        kind = tables.kind[action]
        claims = kind == TARGET
        starts_pair = (kind == LIGHT) & (state.stage == START)
        if claims:
            state.cells[action] = CONTROL + colour
            state.claims[colour] += 1
        else:
            put_influence(tables, state, action, colour)
        state.last = action
    elif action == swap:
        state.black = 1
    state.ply += 1

    dark_in_sight, light_in_sight = look(tables, state)
    if claims and decides(tables, state, colour):
        state.outcome = engine.PLAYER_0_WINS + state.mover
        state.stage = START
    elif starts_pair and open_second(tables, state, light_in_sight) > 0:
        state.stage = SECOND
    elif claims and open_claims(tables, state, colour) > 0:
        state.stage = CLAIMING
        state.open[done] = PLAYABLE
    else:
        # No later turn of player 0 ends by ply 2, because player 1 has acted in between.
        ends_first_turn = (state.mover == 0) & (state.ply <= 2)
        state.stage = START
        state.mover = 1 - state.mover
        open_turn(tables, state, dark_in_sight, light_in_sight)
        state.open[swap] = tables.swap_rule & ends_first_turn


@rule
def observe(tables, state, player, planes):
    """Write planes over the cells, constants above; all entries are zeros and ones."""
    own = player ^ int(state.black)
    other = 1 - own
    second = state.stage == SECOND
    claiming = state.stage == CLAIMING
    may_swap = (state.open[len(state.cells) + 1] & PLAYABLE) != 0
    for cell in range(len(state.cells)):
        content = state.cells[cell]
        is_free = content == EMPTY
        planes[OWN_INFLUENCE, cell] = content == INFLUENCE + own
        planes[OTHER_INFLUENCE, cell] = content == INFLUENCE + other
        planes[OWN_CONTROL, cell] = content == CONTROL + own
        planes[OTHER_CONTROL, cell] = content == CONTROL + other
        planes[UNCLAIMED, cell] = is_free & (tables.kind[cell] == TARGET)
        planes[DARK_CELLS, cell] = tables.is_dark[cell]
        planes[LIGHT_CELLS, cell] = tables.is_light[cell]
        planes[LAST, cell] = cell == state.last
        planes[VISIBLE, cell] = (state.open[cell] & IN_SIGHT) != 0
        for count in range(NEEDED):
            planes[OWN_COUNT + count, cell] = is_free & (state.influence[own, cell] > count)
            planes[OTHER_COUNT + count, cell] = is_free & (state.influence[other, cell] > count)
        planes[PLACING_SECOND, cell] = second
        planes[CLAIMING_ON, cell] = claiming
        planes[MAY_SWAP, cell] = may_swap


@rule
def points(tables, state):
    """The number of targets that each player has claimed."""
    black = int(state.black)
    return int(state.claims[black]), int(state.claims[1 - black])


@rule
def put_influence(tables, state, cell, colour):
    """Place an influence token, and count it for the targets beside it."""
    state.cells[cell] = INFLUENCE + colour
    state.empty -= 1
    for k in range(tables.num_beside[cell]):
        state.influence[colour, tables.targets_beside[cell, k]] += 1


@rule
def look(tables, state):
    """Rewrite ``open``: the empty cells in sight of the last token, and nothing playable.

    Returns how many of these cells are dark and how many are light.
    """
    for action in range(len(state.open)):
        state.open[action] = 0
    last = state.last
    dark = 0
    light = 0
    for direction in range(_DIRECTIONS):
        step_by = int(tables.step[direction])
        cell = int(last)
        for _ in range(tables.run[last, direction]):
            cell += step_by
            if state.cells[cell] != EMPTY:
                break
            state.open[cell] = IN_SIGHT
            dark += int(tables.is_dark[cell])
            light += int(tables.is_light[cell])
    return dark, light


@rule
def open_turn(tables, state, dark_in_sight, light_in_sight):
    """After `look`, make the actions playable with which a turn can begin, except the swap."""
    any_dark = dark_in_sight == 0
    any_light = light_in_sight == 0
    for cell in range(len(state.cells)):
        is_free = state.cells[cell] == EMPTY
        anywhere = (tables.is_dark[cell] & any_dark) | (tables.is_light[cell] & any_light)
        state.open[cell] |= (state.open[cell] >> 1) | (is_free & anywhere)
    claimable = open_claims(tables, state, int(state.mover ^ state.black))
    state.open[len(state.cells)] = (claimable == 0) & (state.empty == 0)


@rule
def open_second(tables, state, light_in_sight):
    """After `look`, make the cells for a second light token playable; return how many."""
    for cell in range(len(state.cells)):
        state.open[cell] |= (state.open[cell] >> 1) & tables.is_light[cell]
    count = light_in_sight
    for k in range(4):
        cell = tables.too_near[state.last, k]
        count -= int(state.open[cell]) & PLAYABLE
        state.open[cell] &= IN_SIGHT
    return count


@rule
def open_claims(tables, state, colour):
    """Make playable the targets that ``colour`` can claim; return how many."""
    count = 0
    for target in range(len(tables.target_cell)):
        cell = tables.target_cell[target]
        is_claimable = (state.cells[cell] == EMPTY) & (state.influence[colour, cell] >= NEEDED)
        state.open[cell] = is_claimable
        count += is_claimable
    return count


@rule
def decides(tables, state, colour):
    """Whether ``colour``, who has just claimed, has won by that claim.

    It wins with a majority, and with the last target of all: the other colour has no majority,
    and a tie goes to the last claimer. Every game ends in one of these ways: a full
    board leaves each unclaimed target to somebody, because one of the colours has four of its
    eight neighbours.
    """
    targets = len(tables.target_cell)
    own = int(state.claims[colour])
    return (2 * own > targets) | (own + int(state.claims[1 - colour]) == targets)
