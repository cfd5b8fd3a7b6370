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
what a cell holds; ``plane`` [2, 5] the observation plane in which each player sees it.
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
    """The position: cell contents, open cells left, player 0's lead in cells.

    ``wave`` is working room for a chain reaction, all zero between plies.
    """
    return engine.state_dtype(
        ("open_cells", np.int8),
        ("lead", np.int8),
        ("cells", np.int8, (cells,)),
        ("wave", np.int8, (cells,)),
    )


@rule
def init(tables, state, rng):
    """Write the empty board."""
    state.ply = 0
    state.mover = 0
    state.outcome = engine.ONGOING
    state.open_cells = len(state.cells)
    state.lead = 0
    for cell in range(len(state.cells)):
        state.cells[cell] = OPEN
        state.wave[cell] = 0


@rule
def is_legal(tables, state, action):
    """Place on an open cell, or expand one's own marble."""
    content = state.cells[action]
    return (content == OPEN) | (content == MARBLE + state.mover)


@rule
def step(tables, state, action):
    """Place a marble, or expand the one that stands there."""
    mover = int(state.mover)
    if state.cells[action] == OPEN:
        _take(tables, state, action, MARBLE + mover)
    else:
        _expand(tables, state, action, DYE + mover)
    state.ply += 1
    state.mover = 1 - mover
    if state.open_cells == 0:
        state.outcome = _result(int(state.lead))


@rule
def observe(tables, state, player, planes):
    """Five planes over the cells (constants above): each cell is 1 in one of them."""
    for cell in range(len(state.cells)):
        planes[tables.plane[player, state.cells[cell]], cell] = 1


@rule
def score(tables, state):
    """Cells that player 0 controls, by dye or marble, less those of player 1."""
    return int(state.lead)


@rule
def _take(tables, state, cell, content):
    """Put ``content`` on a cell and keep the counts."""
    before = state.cells[cell]
    state.cells[cell] = content
    state.open_cells -= before == OPEN
    state.lead += tables.owner[content] - tables.owner[before]


@rule
def _expand(tables, state, origin, dye):
    """The chain reaction: dye every marble of the group of ``origin``, and all around it.

    A marble is dyed when it joins the wave, so that it joins only once.
    """
    state.wave[0] = origin
    waiting = 1
    _take(tables, state, origin, dye)
    while waiting > 0:
        waiting -= 1
        cell = state.wave[waiting]
        state.wave[waiting] = 0
        for k in range(4):
            neighbour = tables.neighbours[cell, k]
            content = state.cells[neighbour]
            if content == MARBLE or content == MARBLE + 1:
                state.wave[waiting] = neighbour
                waiting += 1
            if content != dye:
                _take(tables, state, neighbour, dye)


@rule
def _result(lead):
    if lead > 0:
        return engine.PLAYER_0_WINS
    if lead < 0:
        return engine.PLAYER_1_WINS
    return engine.DRAW
