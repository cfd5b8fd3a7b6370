"""The rules of Othello, over one position.

Black is player 0. An action is a cell, or the pass, which is the last and legal only if there is
nothing else. Discs are bits, numbered as the cells.
Tables: ``cells``, how many there are; ``longest``, most discs of a line that can be enclosed, less
one; ``steps`` [8], from a cell to the next one in each direction; ``inside`` [8], the cells that
such a step can lead to; ``board``, all cells; ``start`` [2], the discs of each player at the start.
"""

import numpy as np

from ludarium.envs.engine import rule as engine
from ludarium.envs.engine.bits import ONE, ZERO, bit, bit_count, shifted
from ludarium.envs.engine.rule import rule

PLANES = ("own discs", "other discs", "own moves")
OWN_DISCS, OTHER_DISCS, OWN_MOVES = range(3)


def state_dtype() -> np.dtype:
    """The position: the discs of each player, and the cells that the mover can play on."""
    return engine.state_dtype(("discs", np.uint64, (2,)), ("moves", np.uint64, ()))


@rule
def init(tables, state, rng):
    """Write the four discs of the start."""
    state.ply = 0
    state.mover = 0
    state.outcome = engine.ONGOING
    state.discs[0] = tables.start[0]
    state.discs[1] = tables.start[1]
    state.moves = moves_of(tables, state.discs[0], state.discs[1])


@rule
def is_legal(tables, state, action):
    """Whether the mover encloses discs there, or can only pass."""
    if action == tables.cells:
        return state.moves == ZERO
    return (state.moves >> np.uint64(action)) & ONE != ZERO


@rule
def step(tables, state, action):
    """Turn the discs that are enclosed, or pass; the game ends when neither player can move."""
    mover = int(state.mover)
    own = state.discs[mover]
    other = state.discs[1 - mover]
    if action < tables.cells:
        turned = _enclosed(tables, own, other, bit(action))
        own = own | turned | bit(action)
        other = other & ~turned
    state.discs[mover] = own
    state.discs[1 - mover] = other
    state.ply += 1
    state.mover = 1 - mover
    state.moves = moves_of(tables, other, own)
    if state.moves == ZERO and moves_of(tables, own, other) == ZERO:
        first, second = points(tables, state)
        state.outcome = result(first - second)


@rule
def observe(tables, state, player, planes):
    """Three planes over the cells; the moves only of the player to move (constants above)."""
    moves = ZERO
    if state.mover == player and state.outcome == engine.ONGOING:
        moves = state.moves
    for cell in range(planes.shape[1]):
        place = np.uint64(cell)
        planes[OWN_DISCS, cell] = int((state.discs[player] >> place) & ONE)
        planes[OTHER_DISCS, cell] = int((state.discs[1 - player] >> place) & ONE)
        planes[OWN_MOVES, cell] = int((moves >> place) & ONE)


@rule
def points(tables, state):
    """Black's discs and white's."""
    return bit_count(state.discs[0]), bit_count(state.discs[1])


@rule
def result(difference):
    """How a game has ended with this lead of player 0."""
    if difference == 0:
        return engine.DRAW
    return engine.PLAYER_0_WINS if difference > 0 else engine.PLAYER_1_WINS


@rule
def moves_of(tables, own, other):
    """The cells on which the owner of ``own`` encloses discs."""
    found = ZERO
    for direction in range(8):
        step = int(tables.steps[direction])
        between = other & tables.inside[direction]
        line = shifted(own, step) & between
        for _ in range(tables.longest):
            line |= shifted(line, step) & between
        found |= shifted(line, step) & tables.inside[direction]
    return found & tables.board & ~(own | other)


@rule
def _enclosed(tables, own, other, placed):
    """The discs of the other player that a new disc encloses with those of its owner."""
    found = ZERO
    for direction in range(8):
        step = int(tables.steps[direction])
        inside = tables.inside[direction]
        line = ZERO
        next_cell = shifted(placed, step) & inside
        while (next_cell & other) != ZERO:
            line |= next_cell
            next_cell = shifted(next_cell, step) & inside
        if (next_cell & own) != ZERO:
            found |= line
    return found
