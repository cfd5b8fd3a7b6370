"""The rules of Corso, over one position.

Cells of a 5 x 5 board (rank 1 at the bottom; the index is rank * size + file):

    5 | 20 21 22 23 24
    4 | 15 16 17 18 19
    3 | 10 11 12 13 14
    2 |  5  6  7  8  9
    1 |  0  1  2  3  4
        a  b  c  d  e

Tables: ``neighbours`` [cells, 4] holds the orthogonal neighbours of each cell, filled up with
the cell itself at the edges; ``owner`` [5] the sign (+1 player 0, -1 player 1, 0 nobody) of
what a cell holds.
"""

import numpy as np

from ..engine import rule as engine
from ..engine.rule import rule

# What a cell holds. Add the player's index to MARBLE and DYE.
OPEN = 0
MARBLE = 1
DYE = 3

# Observation planes; "own" means the observing player's.
OWN_MARBLES, OTHER_MARBLES, OWN_DYE, OTHER_DYE, OPEN_CELLS = range(5)
NUM_PLANES = 5


def state_dtype(cells: int) -> np.dtype:
    """The dtype of a position: what each cell holds, and how many cells are open.

    ``wave`` is scratch space for a chain reaction.
    """
    return engine.state_dtype(
        ("open_cells", np.int8),
        ("cells", np.int8, (cells,)),
        ("wave", np.uint8, (cells + 1,)),
        scratch=("wave",),
    )


@rule
def init(tables, state, rng):
    """Write the empty board."""
    state.ply = 0
    state.mover = 0
    state.outcome = engine.ONGOING
    state.open_cells = len(state.cells)
    for cell in range(len(state.cells)):
        state.cells[cell] = OPEN
    for place in range(len(state.wave)):
        state.wave[place] = 0


@rule
def is_legal(tables, state, action):
    """Whether the cell is open, or holds the mover's own marble."""
    content = state.cells[action]
    return (content == OPEN) | (content == MARBLE + state.mover)


@rule
def step(tables, state, action):
    """Place a marble, or expand the one on the cell."""
    mover = int(state.mover)
    if state.cells[action] == OPEN:
        state.cells[action] = MARBLE + mover
        state.open_cells -= 1
    else:
        state.open_cells -= _expand(tables, state, action, DYE + mover)
    state.ply += 1
    state.mover = 1 - mover
    if state.open_cells == 0:
        first, second = points(tables, state)
        state.outcome = result(first - second)


@rule
def observe(tables, state, player, planes):
    """Write five planes over the cells (constants above); each cell is 1 in one of them."""
    for cell in range(len(state.cells)):
        content = state.cells[cell]
        planes[OWN_MARBLES, cell] = content == MARBLE + player
        planes[OTHER_MARBLES, cell] = content == MARBLE + 1 - player
        planes[OWN_DYE, cell] = content == DYE + player
        planes[OTHER_DYE, cell] = content == DYE + 1 - player
        planes[OPEN_CELLS, cell] = content == OPEN


@rule
def points(tables, state):
    """The cells that each player controls, by dye or marble."""
    first, second = 0, 0
    for cell in range(len(state.cells)):
        owner = tables.owner[state.cells[cell]]
        first += owner > 0
        second += owner < 0
    return first, second


@rule
def _expand(tables, state, origin, dye):
    """Dye every marble of the group of ``origin``, and all cells around it: the chain reaction.

    A marble is dyed when it joins the wave, so it joins only once. It joins without a
    branch: each neighbour is written at the end of the wave, which grows if it was a marble.

    Returns how many open cells were dyed.
    """
    opened = 0
    state.cells[origin] = dye
    state.wave[0] = origin
    waiting = 1
    while waiting > 0:
        waiting -= 1
        cell = state.wave[waiting]
        for k in range(4):
            neighbour = tables.neighbours[cell, k]
            content = state.cells[neighbour]
            state.cells[neighbour] = dye
            state.wave[waiting] = neighbour
            waiting += (content == MARBLE) | (content == MARBLE + 1)
            opened += content == OPEN
    for place in range(len(state.wave)):
        state.wave[place] = 0
    return opened


@rule
def result(lead):
    """The outcome at the end, by player 0's lead."""
    if lead > 0:
        return engine.PLAYER_0_WINS
    if lead < 0:
        return engine.PLAYER_1_WINS
    return engine.DRAW
