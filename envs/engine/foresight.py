"""Threats in a position, the owners of its cells, and who may own them at the end.

Template functions (see `compile`): ``rules`` is one game's rule module with the functions of its
view, see `Game`. Programs without Python run the same from the game's WebAssembly module.
"""

from typing import Any, NamedTuple

import numpy as np

from .compile import kernel
from .kernels import random_playout
from .rule import ONGOING, reward

rules: Any = None  # one game's rule module and view, filled in by `specialise`

#: Marks an action among the `threats` that wins at once.
WINS = -1


class Threats(NamedTuple):
    """What each player could do at once in a position, if it were their turn.

    Attributes:
        actions: int32[2, num_actions], by player: -1 for an action that wins at once, else the
            number of cells on which it takes something (hook ``at_hand``): 0 if it takes nothing or
            is not legal.
        cells: int32[2, height * width], by player: how many actions take something on each cell.
        is_passed: whether the arrays cover the player who is not to move: if the game is not over
            and the hook ``pass_turn`` returns True. Otherwise that player's rows are 0.
    """

    actions: np.ndarray
    cells: np.ndarray
    is_passed: bool


@kernel
def owners(tables, states, found):
    """Write the owner of each cell in positions [N] into ``found`` int8[N, cells]."""
    for number in range(len(states)):
        for cell in range(found.shape[1]):
            found[number, cell] = rules.owner(tables[0], states[number], cell)


@kernel
def threats(tables, states, scratch, actions, cells):
    """Write what each player could do at once, if it were their turn.

    Args:
        tables: structured [1].
        states: structured [1], the position.
        scratch: structured [2], working space.
        actions: int32[2, A], written: by player, `WINS` for an action that wins at once, else
            the number of cells on which it takes something; 0 if it takes nothing or is not legal.
        cells: int32[2, cells], written: by player, how many actions take something on each cell.

    Returns:
        Whether the arrays cover the player who is not to move, see `Threats`.
    """
    table = tables[0]
    mover = int(states[0].mover)
    is_passed = False
    for player in range(2):
        for action in range(actions.shape[1]):
            actions[player, action] = 0
        for cell in range(cells.shape[1]):
            cells[player, cell] = 0
        scratch[0] = states[0]
        is_asked = states[0].outcome == ONGOING
        if is_asked and player != mover:
            is_passed = bool(rules.pass_turn(table, scratch[0]))
            is_asked = is_passed
        if is_asked:
            for action in range(actions.shape[1]):
                if rules.is_legal(table, scratch[0], action):
                    scratch[1] = scratch[0]
                    rules.step(table, scratch[1], action)
                    taken = 0
                    for cell in range(cells.shape[1]):
                        if rules.at_hand(table, scratch[0], scratch[1], cell):
                            taken += 1
                            cells[player, cell] += 1
                    wins = reward(scratch[1].outcome, player) > 0
                    actions[player, action] = WINS if wins else taken
    return is_passed


@kernel
def ownership(tables, states, scratch, rng, num_actions, playouts, sums):
    """Write into ``sums`` int32[cells] the sum of each cell's owners (1, -1, 0) at games' ends.

    The games go on at random from the position.

    ``states`` structured [1], ``scratch`` structured [1 or more]; ``rng`` int64[2].
    """
    for cell in range(len(sums)):
        sums[cell] = 0
    for _ in range(playouts):
        scratch[0] = states[0]
        random_playout(tables[0], scratch[0], rng, num_actions)
        for cell in range(len(sums)):
            sums[cell] += rules.owner(tables[0], scratch[0], cell)
