"""The rules of tic-tac-toe, over one position.

Cells are numbered from a1 at the bottom: 0 is a1, 1 is b1, 3 is a2, 8 is c3.
Tables: ``lines`` [8, 3] holds the cells of each line.

CHANGE marks what differs in another game. Functions with ``@rule`` are compiled. They may use
integers, loops and the fields of ``state`` and ``tables``, but no lists, texts or exceptions; the
guide's page "A new game" says more.
"""

import numpy as np

from ludarium.envs.engine import rule as engine
from ludarium.envs.engine.rule import rule

CELLS = 9

# CHANGE: what a cell holds: nothing, or a mark, which is MARK plus the index of its player.
EMPTY = 0
MARK = 1

# CHANGE: the planes of the observation; "own" means the observing player's. They show all that
# decides the game: networks see nothing else.
PLANES = ("own marks", "other marks", "empty cells")
OWN_MARKS, OTHER_MARKS, EMPTY_CELLS = range(3)


def state_dtype() -> np.dtype:
    """The position: what each cell holds."""
    # CHANGE: name, type and shape of each field. `ply`, `mover` and `outcome` are there already.
    return engine.state_dtype(("cells", np.int8, (CELLS,)))


@rule
def init(tables, state, rng):
    """Write the empty board."""
    # CHANGE: write every field: the record may still hold another game.
    state.ply = 0
    state.mover = 0
    state.outcome = engine.ONGOING
    for cell in range(CELLS):
        state.cells[cell] = EMPTY


@rule
def is_legal(tables, state, action):
    """Whether the cell is empty."""
    # CHANGE: `action` is any number from 0 to the number of actions - 1.
    return state.cells[action] == EMPTY


@rule
def step(tables, state, action):
    """Mark the cell; a line of three wins, a full board without one is a draw."""
    # CHANGE: the action is legal. Add 1 to `ply`, say who moves next, and end the game: set
    # `outcome` to PLAYER_0_WINS, PLAYER_1_WINS, DRAW, or TRUNCATED at the ply cap.
    mover = int(state.mover)
    state.cells[action] = MARK + mover
    state.ply += 1
    state.mover = 1 - mover
    if _has_line(tables, state, MARK + mover):
        state.outcome = engine.PLAYER_1_WINS if mover else engine.PLAYER_0_WINS
    elif state.ply == CELLS:
        state.outcome = engine.DRAW


@rule
def observe(tables, state, player, planes):
    """Three planes over the cells (constants above): each cell is 1 in one of them."""
    # CHANGE: write every entry, 0 or 1; fractions between them need `binary_observation=False` in
    # board.py. `engine.clear(planes)` writes zeros.
    for cell in range(CELLS):
        content = state.cells[cell]
        planes[OWN_MARKS, cell] = content == MARK + player
        planes[OTHER_MARKS, cell] = content == MARK + 1 - player
        planes[EMPTY_CELLS, cell] = content == EMPTY


@rule
def score(tables, state):
    """One for a win of player 0, minus one for a win of player 1."""
    # CHANGE: player 0's lead; if it is only a guess, leave `max_score` out of board.py. A game that
    # counts points has `points(tables, state)` instead, which returns both players'. Without either
    # function, leave out `max_score` too.
    return engine.reward(state.outcome, 0)


@rule
def _has_line(tables, state, mark):
    for line in range(tables.lines.shape[0]):
        length = 0
        for k in range(3):
            length += state.cells[tables.lines[line, k]] == mark
        if length == 3:
            return True
    return False
